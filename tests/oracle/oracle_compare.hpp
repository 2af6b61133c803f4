// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The checks of a random world: the results of a manager in one tick, compared with the expected
// ones. Each check is a function of data, so that tests can pass wrong data, which it must detect
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

/// The finding of a check. The text is empty if there is none.
struct Difference {
    std::string check;  ///< name of the check
    std::string text;
    ObserverId observer = ObserverId::none;
    EntityId entity = EntityId::none;
    explicit operator bool() const { return !text.empty(); }
};

std::string name_of(EntityId entity);
std::string name_of(ObserverId observer);

/// "sets": compares relevant sets. `expected` is ascending, `reported` in any order.
Difference compare_sets(ObserverId observer, const std::vector<EntityId>& expected,
                        std::vector<EntityId> reported);

/// "events": applies the events of all ticks. The result must equal the relevant sets.
class EventReplay {
  public:
    /// Checks for at most one event of a pair, grouped by observer, with no repeated enter or
    /// leave.
    Difference take(std::span<const InterestEvent> events);
    Difference matches(ObserverId observer, const std::vector<EntityId>& expected) const;

  private:
    std::map<std::uint32_t, std::set<EntityId>> sets_;  ///< by observer
};

/// The facts that decide which reasons of an event are right.
struct EventFacts {
    bool entity_is_new = false;
    bool entity_is_gone = false;
    bool observer_is_gone = false;
    bool observer_is_ready = true;
    check::Verdict now;  ///< of the pair, if both exist
};
/// "reasons": checks the reason of an event.
Difference compare_reason(const InterestEvent& event, const EventFacts& facts);

struct EntityCount {
    EntityId entity;
    std::uint32_t before;  ///< observers in the previous tick
    std::uint32_t now;
    std::uint32_t reported;
};
/// The entity gained its first observer or lost its last one.
struct ObserverEdge {
    EntityId entity;
    bool first;
};
/// "counts": edges of despawned entities are ignored.
Difference compare_counts(std::span<const EntityCount> counts, std::span<const ObserverEdge> edges);

/// "scores": `reported[n]` is the score of `entities[n]`. If not exact, only its bounds are
/// checked.
Difference compare_scores(ObserverId observer, const std::vector<check::Verdict>& verdicts,
                          std::span<const EntityId> entities, std::span<const float> reported,
                          bool is_exact = true);

/// "inverse": compares the observers of an entity.
Difference compare_inverse(EntityId entity, std::vector<ObserverId> expected,
                           std::vector<ObserverId> reported);

/// "range" and "flicker": guarantees that follow from radii alone. An entity within the enter
/// radius of a plain distance is relevant unless it is hidden. It then remains relevant up to the
/// leave radius. A plain distance is an `add` by the rule's radius that no later step or node
/// restricts.
class Promise {
  public:
    struct Pair {
        const check::ObserverView& observer;
        const check::EntityView& unit;
        bool is_hidden;  ///< by a fixed stage or an override
        bool is_relevant;
    };
    /// Replaces the rules and forgets which entities were inside a radius.
    void set_rules(const Rules& rules);
    bool is_empty() const { return plain_.empty(); }
    /// Call for each pair in each tick. `is_member` has an entry for each node.
    Difference check(const Pair& pair, const std::vector<bool>& is_member);
    /// Call when the observer was not ready.
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
