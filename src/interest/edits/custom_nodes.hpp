// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Queries the caller's custom nodes. Stores each result as a list, compares it with the previous
// one, and counts the matches in the pair table.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class CustomNodes {
  public:
    CustomNodes(InterestStores& stores, const EntityLookup& lookup,
                const ExplicitRelevance& explicit_relevance, RelevanceEdits& edits)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          edits_(edits),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          tick_(stores.tick),
          pairs_(stores.pairs),
          custom_(stores.custom_nodes),
          observers_(stores.observers),
          notices_(stores.notices) {}

    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);
    void set_custom_nodes();
    bool is_about(const CustomNodeState& custom, EntityId unit) const noexcept {
        return facts_table_.bindings.is_member(custom.id, custom.members, unit);
    }
    void notify_nodes(EntityId unit, NodeNotice::Type type);
    void query_again(EntityId unit);
    /// Observer-centric nodes evaluate every observer again in the next tick: all these nodes, or
    /// only those that cover the cull group.
    void query_all_observers();
    void query_observers_about(EntityId unit);
    void query_observer_again(std::uint32_t observer);
    /// Requests that a custom node evaluates everything in the next tick. Returns false if the node
    /// is not custom.
    bool query_all(NodeId node);
    /// Returns for each custom node whether it covers the cull group.
    std::vector<bool> about(EntityId unit) const;
    /// `was_about`: about(unit) before its bindings changed.
    void bindings_changed(EntityId unit, const std::vector<bool>& was_about);
    void update_custom_nodes(const Visibility& visibility);
    void drop_from_custom_nodes(std::uint32_t observer, EntityId unit);

  private:
    void deliver_notices(const Visibility& visibility);
    void query_custom_node(std::size_t c, std::uint32_t subject, const Visibility& visibility);
    void drop_custom_pairs(CustomNodeState& custom);
    void edit_node_pair(std::uint32_t observer, EntityId unit, bool value);

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    RelevanceEdits& edits_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Program& program_;
    const Tick& tick_;
    PairTable& pairs_;
    std::vector<CustomNodeState>& custom_;
    ObserverStore& observers_;
    NodeNotices& notices_;
};

}  // namespace purview
