// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A random world in two copies: the interest engine, and plain records for the oracle. Every
// operation is made on both; after every tick the sets and the replayed events must be equal.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "check/truth.hpp"
#include "core/hash.hpp"
#include "purview/interest.hpp"

namespace purview::test {

struct RandomWorldDef {
    std::uint64_t seed = 1;
    InterestRules rules;
    std::uint32_t flags = 2;
    std::uint32_t keys = 2;
    std::uint32_t entities = 120;
    std::uint32_t observers = 6;
    WindowUpdate window_update = WindowUpdate::automatic;
    std::uint32_t shuffle_cells = 0;
    float step_m = 3;          ///< of a wandering entity
    float move_chance = 0.4F;  ///< of an entity, in a tick
    bool groups = true;
};

class RandomWorld {
  public:
    explicit RandomWorld(const RandomWorldDef& def);

    /// One tick of random edits, then the comparison. Empty when all is equal, else what is not.
    std::string step();
    /// Explains random pairs, and carries one suggestion of each out, a tick each.
    std::string check_explain(std::uint32_t pairs);
    std::uint64_t explained = 0;
    std::uint64_t explained_without_change = 0;
    std::uint64_t turned_by_pair = 0;
    std::map<ChangeType, std::uint64_t> turned_by;
    std::uint64_t pairs_compared = 0;
    std::uint64_t pairs_relevant = 0;
    std::uint64_t events_seen = 0;
    std::map<std::string, std::uint64_t> operations;
    std::string trace;  ///< the operations of the last tick but moves, for a failure's report

  private:
    check::TruthEntity* random_entity();
    check::TruthObserver* random_observer();
    Vec3 random_place();
    EntityDef def_of(const check::TruthEntity& entity);
    void edit();
    void apply(const Change& change, check::TruthObserver& observer, check::TruthEntity& entity);
    void spawn();
    void despawn(EntityId id);
    void attach();
    void detach(check::TruthEntity& entity);
    void add_observer();
    void remove_observer(std::size_t at);
    std::string compare();
    void count(const char* name, EntityId entity = EntityId::none,
               ObserverId observer = ObserverId::none);
    bool has_members(EntityId root) const;

    RandomWorldDef def_;
    SplitMix random_;
    InterestManager manager_;
    check::TruthOracle oracle_;
    std::vector<check::TruthEntity> entities_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint32_t> resting_;  ///< indices freed this tick
    std::vector<check::TruthObserver> observers_;
    std::map<std::uint32_t, std::set<EntityId>> replayed_;
    std::vector<ObserverId> removed_;
    Tick tick_ = 0;
};

/// A random rule: one to three nodes of up to five steps.
InterestRules random_rules(SplitMix& random, std::uint32_t flags, std::uint32_t keys);

}  // namespace purview::test
