// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What every engine of the benchmark does: hold the exact set within the radius for every observer,
// readable after the tick, and the exact pairs that entered and left in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interest/queries/covering.hpp"
#include "interest/windows/window_update.hpp"
#include "purview/interest.hpp"
#include "spatial/move.hpp"
#include "workload.hpp"

namespace purview::bench {

/// Order does not matter: the sum over pairs of a mixed word each.
inline std::uint64_t pair_hash(std::uint32_t observer, std::uint32_t entity) noexcept {
    return mix((std::uint64_t{observer} << 32) | entity);
}
inline std::uint64_t event_hash(std::uint32_t observer, std::uint32_t entity, bool enter) noexcept {
    return mix(pair_hash(observer, entity) + (enter ? 1 : 2));
}

class Engine {
  public:
    virtual ~Engine() = default;
    /// Not timed. `observers`: it is asked for the first so many only.
    virtual void load(const Workload& workload, std::uint32_t observers) = 0;
    /// Heap of the entities alone, where load can tell.
    virtual double entity_bytes() const { return 0; }
    /// Timed, in two parts: take the moves in; sets and events of all observers.
    virtual void update(std::span<const Move> moves) = 0;
    virtual void query() = 0;
    /// Not timed, after query: make ready what `finish` works on.
    virtual void gather() {}
    /// Timed with query: what a caller wants besides.
    virtual void finish() {}
    /// Not timed. For every event of the last tick: tell(observer, entity, enter).
    using Tell = std::function<void(std::uint32_t, std::uint32_t, bool)>;
    virtual void for_each_event(const Tell& tell) const = 0;
    /// For every relevant entity of an observer: visit(entity).
    using Visit = std::function<void(std::uint32_t)>;
    virtual void for_each_relevant(std::uint32_t observer, const Visit& visit) const = 0;
    /// Since load: entities whose lanes a kernel was asked about; 0: not counted.
    virtual double lanes_tested() const { return 0; }
    /// Instruction set that was chosen, or "native".
    virtual std::string isa() const { return "native"; }
    virtual std::uint32_t threads() const { return 1; }
};

/// For engines that give a list of ids per observer: sorted, and merged against the last one.
class SortedSets {
  public:
    void reset(std::uint32_t observers) {
        now_.assign(observers, {});
        before_.assign(observers, {});
        begin_tick();
    }
    void begin_tick() { events_.clear(); }
    std::vector<std::uint32_t>& fresh(std::uint32_t observer) {
        now_[observer].swap(before_[observer]);
        now_[observer].clear();
        return now_[observer];
    }
    void compare(std::uint32_t observer);
    void for_each_event(const Engine::Tell& tell) const {
        for (const auto& e : events_) tell(e.observer, e.entity, e.enter);
    }
    void for_each_relevant(std::uint32_t observer, const Engine::Visit& visit) const {
        for (const std::uint32_t e : now_[observer]) visit(e);
    }

  private:
    struct Event {
        std::uint32_t observer, entity;
        bool enter;
    };
    std::vector<std::vector<std::uint32_t>> now_, before_;
    std::vector<Event> events_;
};

/// The peers of this build, by name: brute, textbook, rfc-node, boost-rtree, nanoflann, box2d,
/// bullet.
std::unique_ptr<Engine> make_peer(const std::string& name);
std::vector<std::string> peer_names();

/// What our engine is asked besides the radius. Hooks that are missing change nothing.
struct OurRules {
    bool scalar = false;       ///< near and cloaked as predicates asked pair by pair
    bool static_node = false;  ///< the scalar rule without a reach: everybody is asked about
    bool count_tested = false;
    WindowUpdate window_update = WindowUpdate::automatic;
    std::function<void(Rules&)> edit = {};  ///< of the rule "near"
    std::function<void(EntityDef&, std::uint32_t)> dress = {};
    using Observers = std::span<const ObserverId>;
    std::function<void(InterestManager&, Observers)> set_up = {};
    /// Timed, before the moves of each tick (from 1 on).
    std::function<void(InterestManager&, Observers, std::uint32_t)> change = {};
    std::function<void()> before_tick = {};  ///< not of the manager: instruction sets
    /// Strength of every changed relevant pair: with the tick, or asked for after it.
    bool measure_scores = false;
    bool read_changed = false;  ///< who that is, and how relevant, after the tick
    bool score = false;
    std::uint32_t workers = 1;
};

/// Purview, through its public headers alone.
std::unique_ptr<Engine> make_purview(const OurRules& rules);

}  // namespace purview::bench
