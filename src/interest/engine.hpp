// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interest engine: the stores, the parts that read and edit them, and the tick.
//
// relevant(o, e) = ready(o) and (spatial or explicit). Spatial relevance is a bit in the window of
// the observer: its cached set of visible blocks. Explicit relevance is everything else
// (relevance/explicit_relevance.hpp). An edit compares explicit relevance before and after. A
// difference becomes a change if the window bit of the last tick is not set. The tick then updates
// the windows. A changed window bit becomes an event unless the pair is explicitly relevant. Two
// opposite changes of a pair in one tick cancel each other. `move` only writes the position;
// relevance changes in the tick.
//
// Relevance is evaluated for cull groups (`unit` in the code). A cull group is an entity together
// with the members of its group that are evaluated with it.
//
//   stores/              the state
//   relevance/           reads the state: whether a pair is relevant now
//   edits/               changes the state between ticks
//   tick/                windows, scores and events of a tick
//   queries/             results and explanations between ticks
//
// In the class, a part is listed below those that it uses. Not movable: parts refer to the stores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "interest/edits/attribute_edits.hpp"
#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/entity_edits.hpp"
#include "interest/edits/group_edits.hpp"
#include "interest/edits/live_rules.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/node_edits.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/overrides.hpp"
#include "interest/edits/placement.hpp"
#include "interest/edits/positions.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/edits/split_groups.hpp"
#include "interest/entities/entity_ids.hpp"
#include "interest/events/user_data.hpp"
#include "interest/queries/answers.hpp"
#include "interest/queries/explainer.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/observer_views.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "interest/tick/changed_scores.hpp"
#include "interest/tick/tick_events.hpp"
#include "interest/tick/window_pass.hpp"

namespace purview {

class InterestEngine {
  public:
    /// `rules` must be valid (problem_of).
    InterestEngine(const Rules& rules, const LogSink& log,
                   WindowUpdate window_update = WindowUpdate::automatic);
    InterestEngine& operator=(const InterestEngine&) = delete;
    ~InterestEngine() = default;

    /// Advances one tick and makes its events. `visibility` is passed to custom nodes.
    void tick(const Visibility& visibility);
    /// Returns the events of the last tick, by observer. Valid until the next tick.
    std::span<const InterestEvent> events() const noexcept { return stores_.events.all(); }
    std::span<const InterestEvent> events_of(ObserverId observer) const noexcept;
    /// Returns the entities with bindings that changed between the last two ticks.
    std::span<const EntityId> rebound() const noexcept { return stores_.rebound.last; }
    std::span<const EntityId> newly_observed() const noexcept {
        return stores_.observer_counts.newly_observed();
    }
    std::span<const EntityId> no_longer_observed() const noexcept {
        return stores_.observer_counts.no_longer_observed();
    }
    const Rules& rules() const noexcept { return stores_.rules; }
    const std::vector<std::string>& warnings() const noexcept { return stores_.program.warnings; }
    void log_warnings() const { stores_.warnings.write(warnings()); }
    const InterestCounters& counters() const noexcept { return stores_.counters; }
    /// Returns how many pairs of an observer and an entity edits have evaluated since the start.
    std::uint64_t pairs_queried() const noexcept { return stores_.pairs_queried; }
    /// Returns what other rules would change. Runs one tick of two copies, with as many observers
    /// as fit into about `pairs_max` pairs.
    RuleTrial try_rules(const Rules& rules, const Visibility& visibility,
                        std::size_t pairs_max) const;

  private:
    explicit InterestEngine(InterestStores stores);
    InterestEngine(const InterestEngine& other);
    RuleTrial try_some(const Rules& rules, const Visibility& visibility,
                       std::size_t observers_max) const;
    void shuffle_lanes();

    InterestStores stores_;

  public:
    EntityLookup lookup;
    ExplicitRelevance explicit_relevance;
    Relevance relevance;
    ObserverViews observer_views;

  private:
    RelevanceEdits edits_;
    SplitGroups split_groups_;

  public:
    CustomNodes custom_nodes;
    Positions positions;
    Overrides overrides;

  private:
    Membership membership_;
    Placement placement_;

  public:
    ObserverEdits observers;
    GroupEdits groups;
    EntityEdits entities;
    AttributeEdits attributes;
    NodeEdits nodes;
    LiveRules live_rules;
    Answers answers;
    Explainer explainer;
    ChangedScores changed_scores;
    WindowPass windows;

  private:
    TickEvents tick_events_;

  public:
    /// What the caller stores with entities and observers.
    struct Caller {
        EntityIds ids;
        InterestUserData user_data;
    };
    Caller caller;
    /// Debug: the lanes of this many cells are shuffled every tick. No result may change.
    struct LaneShuffle {
        std::uint32_t cells = 0;
        SplitMix random{1};
    };
    LaneShuffle shuffle;
};

/// O(relevant entities).
std::size_t relevant_count(const InterestEngine& engine, ObserverId observer) noexcept;

}  // namespace purview
