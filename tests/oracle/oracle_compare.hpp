// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The checks of a random world: what a manager told in one tick, beside what it should have told.
// Each is a function of data, so that each can be given spoiled data and must complain
// (oracle_checks_test.cpp).
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "oracle/truth.hpp"
#include "purview/interest.hpp"

namespace purview::test {

/// What a check found; no text: nothing.
struct Difference {
    std::string check;  ///< by name
    std::string text;
    ObserverId observer = ObserverId::none;
    EntityId entity = EntityId::none;
    explicit operator bool() const { return !text.empty(); }
};

std::string name_of(EntityId entity);
std::string name_of(ObserverId observer);

/// "sets": `expected` is ascending, `told` in any order.
Difference compare_sets(ObserverId observer, const std::vector<EntityId>& expected,
                        std::vector<EntityId> told);

/// "events": adds the events of all ticks up; what results must be the sets.
class EventReplay {
  public:
    /// At most one of a pair, grouped by observer, no enter of what is in and no leave of what is
    /// out.
    Difference take(std::span<const InterestEvent> events);
    Difference matches(ObserverId observer, const std::vector<EntityId>& expected) const;

  private:
    std::map<std::uint32_t, std::set<EntityId>> sets_;  ///< by observer
};

/// What is known of an event beside itself.
struct EventFacts {
    bool entity_is_new = false;
    bool entity_is_gone = false;
    bool observer_is_gone = false;
    bool observer_is_ready = true;
    check::Verdict now;  ///< of the pair, if both are there
};
/// "reasons"
Difference compare_reason(const InterestEvent& event, const EventFacts& facts);

struct EntityCount {
    EntityId entity;
    std::uint32_t before;  ///< observers after the tick before
    std::uint32_t now;
    std::uint32_t told;
};
/// It gained its first observer, or lost its last one.
struct ObserverEdge {
    EntityId entity;
    bool first;
};
/// "counts": edges of entities that are gone are not looked at.
Difference compare_counts(std::span<const EntityCount> counts, std::span<const ObserverEdge> edges);

/// "strength": told[n] for entities[n]. Not exact: within bounds only.
Difference compare_scores(ObserverId observer, const std::vector<check::Verdict>& verdicts,
                          std::span<const EntityId> entities, std::span<const float> told,
                          bool is_exact = true);

/// "inverse": who sees the entity.
Difference compare_inverse(EntityId entity, std::vector<ObserverId> expected,
                           std::vector<ObserverId> told);

/// "range" and "flicker": what a player was promised, from radii alone. Whoever is within the enter
/// radius of a plain distance, and is not hidden, is relevant; once in, it stays up to the leave
/// radius. Plain: an `add` by the rule's radius that no later step or node takes anything from.
class Promise {
  public:
    struct Pair {
        const check::ObserverView& observer;
        const check::EntityView& unit;
        bool is_hidden;  ///< by a stage or mark
        bool told;       ///< relevant
    };
    /// As of now on; whoever was inside of a radius that stays is not forgotten only by name.
    void set_rules(const Rules& rules);
    bool is_empty() const { return plain_.empty(); }
    /// Of each pair in each tick. `is_member` by number of node.
    Difference check(const Pair& pair, const std::vector<bool>& is_member);
    /// The observer was not ready.
    void forget(ObserverId observer);

  private:
    struct Plain {
        std::size_t node;
        Kernel kernel;
        std::set<std::pair<std::uint32_t, EntityId>> inside;
    };
    struct Known {
        std::uint32_t times_ready = 0;
    };
    std::vector<Plain> plain_;
    std::map<std::uint32_t, Known> observers_;
    std::map<EntityId, std::uint32_t> joins_;
};

}  // namespace purview::test
