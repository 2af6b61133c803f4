// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which nodes an entity is bound to, and requests to evaluate an entity or a node again.
#pragma once

#include <span>
#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/positions.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class NodeEdits {
  public:
    NodeEdits(InterestStores& stores, const EntityLookup& lookup, RelevanceEdits& edits,
              CustomNodes& custom_nodes, Positions& positions, Membership& membership,
              ObserverEdits& observer_edits)
        : lookup_(lookup),
          edits_(edits),
          custom_nodes_(custom_nodes),
          positions_(positions),
          membership_(membership),
          observer_edits_(observer_edits),
          rules_(stores.rules),
          table_(stores.table),
          warnings_(stores.warnings),
          facts_table_(stores.facts_table),
          has_custom_queries_(stores.has_custom_queries),
          summary_(stores.summary),
          dormant_(stores.dormant),
          observers_(stores.observers),
          rebound_(stores.rebound) {}

    Status update(EntityId entity);
    Status add_node(EntityId entity, NodeId node);
    Status remove_node(EntityId entity, NodeId node);
    Status set_nodes(EntityId entity, std::span<const NodeId> nodes);
    Status add_default_node(EntityId entity);
    Status recheck(EntityId entity);
    Status rescan_node(NodeId node);

  private:
    Status edit_nodes(EntityId entity, std::span<const NodeId> nodes, bool is_unbound);

    const EntityLookup& lookup_;
    RelevanceEdits& edits_;
    CustomNodes& custom_nodes_;
    Positions& positions_;
    Membership& membership_;
    ObserverEdits& observer_edits_;
    const Rules& rules_;
    BlockTable& table_;
    RuleWarnings& warnings_;
    EntityFacts& facts_table_;
    bool& has_custom_queries_;
    const ProgramSummary& summary_;
    EntityMap<Vec3>& dormant_;
    ObserverStore& observers_;
    ReboundEntities& rebound_;
};

}  // namespace purview
