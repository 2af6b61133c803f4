// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interface of every tested engine: it maintains, for every observer, the exact set within the
// radius, readable after the tick, and the exact pairs that entered and left in the tick.
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

/// Order-independent hash: the sum over all pairs of a mixed word per pair.
inline std::uint64_t pair_hash(std::uint32_t observer, std::uint32_t entity) noexcept {
    return mix((std::uint64_t{observer} << 32) | entity);
}
inline std::uint64_t event_hash(std::uint32_t observer, std::uint32_t entity, bool enter) noexcept {
    return mix(pair_hash(observer, entity) + (enter ? 1 : 2));
}

class Engine {
  public:
    virtual ~Engine() = default;
    /// Not timed. `observers`: only the first N observers are queried.
    virtual void load(const Workload& workload, std::uint32_t observers) = 0;
    /// Heap of the entities alone; 0 if unknown.
    virtual double entity_bytes() const { return 0; }
    /// Timed in two parts: `update` applies the moves, `query` computes sets and events of all
    /// observers.
    virtual void update(std::span<const Move> moves) = 0;
    virtual void query() = 0;
    /// Not timed, after `query`: prepares the input of `finish`.
    virtual void gather() {}
    /// Timed with `query`: additional results that a caller wants.
    virtual void finish() {}
    /// Not timed. Calls `notify(observer, entity, enter)` for every event of the last tick.
    using Notify = std::function<void(std::uint32_t, std::uint32_t, bool)>;
    virtual void for_each_event(const Notify& notify) const = 0;
    /// Calls visit(entity) for every relevant entity of an observer.
    using Visit = std::function<void(std::uint32_t)>;
    virtual void for_each_relevant(std::uint32_t observer, const Visit& visit) const = 0;
    /// Entities in lanes that a kernel evaluated since `load`; 0: not counted.
    virtual double lanes_tested() const { return 0; }
    /// The chosen instruction set, or "native".
    virtual std::string isa() const { return "native"; }
    virtual std::uint32_t threads() const { return 1; }
};

/// For engines that produce a list of ids per observer: sorts it and merges it with the previous
/// one.
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
    void for_each_event(const Engine::Notify& notify) const {
        for (const auto& e : events_) notify(e.observer, e.entity, e.enter);
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

/// The peers of this build by name: brute, textbook, rfc-node, boost-rtree, nanoflann, box2d,
/// bullet.
std::unique_ptr<Engine> make_peer(const std::string& name);
std::vector<std::string> peer_names();

/// Configuration of Purview besides the radius. Empty hooks change nothing.
struct OurRules {
    bool scalar = false;       ///< near and cloaked as predicates, evaluated per pair
    bool static_node = false;  ///< the scalar rule without a range: all entities are evaluated
    bool count_tested = false;
    WindowUpdate window_update = WindowUpdate::automatic;
    std::function<void(Rules&)> edit = {};  ///< edits the rule "near"
    std::function<void(EntityDef&, std::uint32_t)> dress = {};
    using Observers = std::span<const ObserverId>;
    std::function<void(InterestManager&, Observers)> set_up = {};
    /// Timed, before the moves of each tick (from 1 on).
    std::function<void(InterestManager&, Observers, std::uint32_t)> change = {};
    /// Independent of the manager; selects instruction sets.
    std::function<void()> before_tick = {};
    /// Computes the relevance scores of all changed relevant pairs with the tick.
    bool measure_scores = false;
    bool read_changed = false;  ///< read entities and scores after the tick
    bool score = false;         ///< queries these scores after the tick instead
    std::uint32_t workers = 1;
};

/// Purview, through the public headers only.
std::unique_ptr<Engine> make_purview(const OurRules& rules);

}  // namespace purview::bench
