// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The obviously right, slow answer to "what may this observer know?": every rule evaluated for
// every entity, from plain records of the world. Shares no code with `interest`. It may be asked
// every tick or every N ticks; the memory of a distance kernel (between enter and leave) is then
// found by looking back through recorded places, so the answer is exact all the same.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "purview/ids.hpp"
#include "purview/rules.hpp"
#include "purview/schema.hpp"

namespace purview::check {

struct TruthEntity {
    EntityId id = EntityId::none;    ///< none: nobody lives under this index
    EntityId root = EntityId::none;  ///< itself, or the root of its group
    Vec3 place;
    bool placed = true;
    bool force_hidden = false;
    bool shown_to_all = false;
    bool explicit_only = false;
    std::uint16_t flags = 0;
    std::array<Key, Schema::keys_max> keys{};
    ObserverId owner = ObserverId::none;
    std::uint32_t joins = 0;  ///< how often it became a member of a group
};

struct TruthObserver {
    ObserverId id = ObserverId::none;
    bool ready = false;
    std::uint32_t times_ready = 0;  ///< how often it became ready: kernels forget in between
    bool sees_everything = false;
    EntityId main = EntityId::none;
    std::vector<Vec3> areas;
    std::array<Key, Schema::keys_max> own_keys{};
    std::vector<EntityId> allowed;
    std::vector<EntityId> denied;
};

/// What a kernel of the caller's own says, by the caller's own twin of it.
enum class CustomAnswer : std::uint8_t { no, yes, unknown };
using CustomTwin = std::function<CustomAnswer(const KernelDesc&, const TruthObserver&,
                                              const std::vector<Vec3>& places, const TruthEntity&)>;

class TruthOracle {
  public:
    /// Rules with custom kernels need one.
    void set_custom_twin(CustomTwin twin) { custom_ = std::move(twin); }
    /// `ticks_between_max`: an observer is asked about at least this often.
    TruthOracle(InterestRules rules, std::uint32_t ticks_between_max);

    /// The world and the observers as of one tick; every tick, in order. [entities] by index.
    void record(Tick tick, const std::vector<TruthEntity>& entities,
                const std::vector<TruthObserver>& observers);

    /// Relevant entities of an observer of the last record, ascending by id.
    std::vector<EntityId> relevant(ObserverId observer);

    /// Pairs (observer, entity) evaluated so far.
    std::uint64_t pairs_evaluated() const noexcept { return pairs_evaluated_; }

  private:
    struct PlaceRecord {
        EntityId id = EntityId::none;
        Vec3 place;
        bool is_placed_unit = false;
        std::uint32_t joins = 0;
    };
    struct PlacesRecord {
        std::vector<Vec3> places;
        std::uint32_t times_ready = 0;
    };
    struct Snapshot {
        Tick tick = 0;
        std::vector<PlaceRecord> entities;
        std::unordered_map<std::uint32_t, PlacesRecord> observers;  ///< ready ones only
    };
    /// What a distance step said when the observer was last asked about.
    struct Memory {
        Tick tick = 0;
        std::vector<std::vector<bool>> yes;  ///< [distance steps][entity index]
    };

    static std::vector<Vec3> places_of(const TruthObserver& observer,
                                       const std::vector<TruthEntity>& entities);
    bool was_near(ObserverId observer, const KernelDesc& kernel, std::size_t distance_step,
                  std::uint32_t index) const;
    bool is_near(const TruthObserver& observer, const std::vector<Vec3>& places,
                 const KernelDesc& kernel, std::size_t distance_step,
                 const TruthEntity& unit) const;
    bool nodes_say(const TruthObserver& observer, const std::vector<Vec3>& places,
                   const std::array<Key, Schema::keys_max>& keys, const TruthEntity& unit,
                   Memory& memory) const;

    InterestRules rules_;
    CustomTwin custom_;
    std::uint32_t ticks_between_max_;
    std::vector<TruthEntity> entities_;
    std::vector<TruthObserver> observers_;
    std::deque<Snapshot> history_;  ///< newest last
    std::unordered_map<std::uint32_t, Memory> memories_;
    std::uint64_t pairs_evaluated_ = 0;
};

}  // namespace purview::check
