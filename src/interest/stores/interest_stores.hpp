// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of the interest engine: one store for each thing, without algorithms. A part of the
// engine (relevance/, edits/, tick/, queries/) binds in its constructor the stores that it reads or
// writes, and cannot touch others. A copy of the stores is a copy of the engine's state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/entity_map.hpp"
#include "interest/entities/entity_facts.hpp"
#include "interest/entities/entity_kinds.hpp"
#include "interest/entities/ownership.hpp"
#include "interest/entities/position_sources.hpp"
#include "interest/entities/spawned_entities.hpp"
#include "interest/entities/unit_counts.hpp"
#include "interest/events/event_list.hpp"
#include "interest/events/explicit_change_log.hpp"
#include "interest/events/observer_counts.hpp"
#include "interest/groups/group_store.hpp"
#include "interest/groups/split_members.hpp"
#include "interest/groups/split_queue.hpp"
#include "interest/observers/observer_store.hpp"
#include "interest/relations/custom_node_state.hpp"
#include "interest/relations/minimum_relevance.hpp"
#include "interest/relations/pair_table.hpp"
#include "interest/relations/row_store.hpp"
#include "interest/rules/member_columns.hpp"
#include "interest/rules/program.hpp"
#include "interest/rules/program_summary.hpp"
#include "interest/rules/warnings.hpp"
#include "interest/windows/new_units.hpp"
#include "interest/windows/observer_order.hpp"
#include "interest/windows/push_update.hpp"
#include "interest/windows/window_update.hpp"
#include "interest/windows/window_worker.hpp"
#include "purview/interest.hpp"
#include "spatial/block_table.hpp"

namespace purview {

struct InterestStores {
    InterestStores(const Rules& rules, const LogSink& log, WindowUpdate window_update);
    /// Asserts the invariants of every store, in builds with assertions. O(entities + observers).
    void validate() const;

    // -- rules
    Rules rules;
    AttributeNames names;
    Program program;
    ProgramSummary summary;  ///< of program
    MemberColumns member_columns;
    std::uint64_t rules_revision = 1;
    RuleWarnings warnings;
    // -- entities
    BlockTable table;         ///< cull groups: positions and attribute columns
    EntityFacts facts_table;  ///< rare attributes, by entity index
    UnitLayers layers;
    UnitCounts counts;
    EntityKinds kinds;
    Ownership ownership;
    PositionSources position_sources;
    EntityMap<Vec3> dormant;  ///< by dormant entity: its current position
    std::vector<EntityId> cell_movers;
    NewUnits new_units;
    SpawnedEntities spawned;
    ReboundEntities rebound;
    // -- groups
    GroupStore groups;
    SplitLinks splits;
    GroupViews views;  ///< of partly split groups
    SplitQueue split_queue;
    // -- observers
    ObserverStore observers;
    ObserverOrder order;
    // -- relations
    std::vector<RowStore> rows;
    PairTable pairs;
    std::vector<CustomNodeState> custom_nodes;
    NodeNotices notices;
    MinimumRelevance minimum_relevance;
    // -- windows
    WindowUpdate window_update;
    PushUpdate push;
    std::vector<WindowWorker> workers;
    // -- the tick
    Tick tick = 0;
    bool has_custom_queries = false;  ///< an entity was rechecked: no enter waits in this tick
    ExplicitChangeLog changes;
    EventList events;
    ObserverCounts observer_counts;
    InterestCounters counters;
    std::uint64_t pairs_queried = 0;  ///< pairs that edits evaluated, since the start
};

}  // namespace purview
