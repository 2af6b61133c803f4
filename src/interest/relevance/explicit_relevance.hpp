// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Explicit relevance: everything that makes a cull group relevant to a ready observer besides its
// window. The first of these that applies decides: denied (no), owned (yes), force hidden (no),
// shown to all or allowed (yes), explicit only (no), an unculled observer (yes). Otherwise it is
// relevant by a node without steps, a custom node, a minimum relevance time or a row. Only reads
// the stores.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/pair_facts.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

class ExplicitRelevance {
  public:
    ExplicitRelevance(const InterestStores& stores, const EntityLookup& lookup)
        : lookup_(lookup),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          summary_(stores.summary),
          rows_(stores.rows),
          pairs_(stores.pairs),
          custom_(stores.custom_nodes),
          minimum_relevance_(stores.minimum_relevance),
          observers_(stores.observers),
          counts_(stores.counts) {}

    bool in_window(std::uint32_t observer, EntityId unit) const noexcept;
    bool is_explicitly_relevant(std::uint32_t observer, EntityId unit) const noexcept;
    bool is_explicitly_relevant(std::uint32_t observer, EntityId unit, Slot slot,
                                const PairEntry* pair, const PairFacts& facts) const noexcept;
    bool in_rows(std::uint32_t observer, EntityId unit) const noexcept;
    bool in_rows_of(NodeId node, std::uint32_t observer, EntityId unit) const noexcept;
    bool is_seen(std::uint32_t observer, EntityId unit) const noexcept {
        return observers_[observer].ready &&
               (in_window(observer, unit) || is_explicitly_relevant(observer, unit));
    }
    /// The same for a ready observer. `slot` must be the slot of the cull group.
    bool is_seen(std::uint32_t observer, EntityId unit, Slot slot) const noexcept;
    PairFacts facts_of(std::uint32_t observer, EntityId unit, Slot slot) const noexcept;
    PairFacts facts_of(std::uint32_t observer, Slot slot, const PairEntry* pair) const noexcept;
    /// Returns whether the cull group is open, which means shown to all observers: by its flags, or
    /// because the level is below InterestLevel::full.
    bool is_open_to_all(Slot slot) const noexcept;
    bool has_open_flag(Slot slot) const noexcept;
    bool sees_all(const Observer& observer) const noexcept;
    template <class Visit>
    void for_each_open_unit(Visit&& visit) const;
    /// Calls visit(observer) for every observer to which the cull group may be explicitly relevant.
    /// If it is shown to all, these are all ready observers. Otherwise they are unculled, or have a
    /// row or a pair of it. May visit an observer twice.
    template <class Visit>
    void for_each_explicit_candidate(EntityId unit, Visit&& visit) const;
    /// Calls visit(unit) for all cull groups that may be explicitly relevant to the observer. May
    /// visit one twice.
    template <class Visit>
    void for_each_explicit_unit(std::uint32_t observer, Visit&& visit) const;
    /// Returns whether pairs may stay relevant after no node matches: by a minimum relevance time,
    /// or by nodes with waiting leaves (NodeDef::lazy_leave).
    bool has_minimum_relevance() const noexcept {
        return rules_.minimum_relevance_ticks > 0 || summary_.has_lazy;
    }
    bool is_hidden_by_rules(EntityId unit) const;
    bool is_in_minimum_time(std::uint32_t o, EntityId unit, Tick at) const;
    /// Calls visit(node) for nodes that may cover the cull group: nodes not limited to bound
    /// entities, its own nodes, and `others`.
    template <class Visit>
    void for_each_node_of(EntityId unit, std::span<const NodeId> others, Visit&& visit) const {
        for (const NodeId node : summary_.unbound_nodes) visit(node);
        const auto bound = [&](NodeId node) {
            if (index_of(node) < rules_.nodes.size() &&
                rules_.nodes[index_of(node)].members == Members::bound) {
                visit(node);
            }
        };
        for (const NodeId node : facts_table_.bindings.nodes_of(unit)) bound(node);
        for (const NodeId node : others) bound(node);
    }
    /// Calls visit(source) for the row sources of the nodes of for_each_node_of().
    template <class Visit>
    void for_each_source_of(EntityId unit, std::span<const NodeId> others, Visit&& visit) const {
        if (rows_.empty()) return;
        for_each_node_of(unit, others, [&](NodeId node) {
            for (const std::uint32_t source : summary_.sources_of_node[index_of(node)])
                visit(source);
        });
    }
    bool is_hidden_by_root(std::uint32_t observer, EntityId unit) const noexcept;
    bool may_be_explicit() const noexcept;
    /// Returns whether a custom node shows the pair. `custom`: its index among the custom nodes.
    bool custom_result(std::size_t custom, std::uint32_t observer, EntityId unit) const;
    /// Returns whether the node hides the entity by steps that read the entity alone.
    static bool hides(const WholeNode& node, const Slots& slots, Slot slot);

  private:
    Mask open_lanes(BlockIndex block) const noexcept;
    static bool hides(const InnerNodes& inner, const Slots& slots, Slot slot);

    const EntityLookup& lookup_;
    const Rules& rules_;
    const BlockTable& table_;
    const EntityFacts& facts_table_;
    const Program& program_;
    const ProgramSummary& summary_;
    const std::vector<RowStore>& rows_;
    const PairTable& pairs_;
    const std::vector<CustomNodeState>& custom_;
    const MinimumRelevance& minimum_relevance_;
    const ObserverStore& observers_;
    const UnitCounts& counts_;
};

inline PairFacts ExplicitRelevance::facts_of(std::uint32_t o, Slot slot,
                                             const PairEntry* pair) const noexcept {
    const Observer& observer = observers_[o];
    const Columns& columns = facts_table_.columns;
    PairFacts facts;
    facts.ready = observer.ready;
    facts.denied = pair != nullptr && pair->deny;
    facts.owned = pair != nullptr && pair->owned > 0;
    facts.allowed = pair != nullptr && (pair->allow || pair->member_allows > 0);
    facts.force_hidden = table_.flag(columns.force_hidden, slot);
    facts.shown_to_all = counts_.shown > 0 && (table_.flag(columns.shown, slot) ||
                                               table_.flag(columns.global_mode, slot) ||
                                               table_.flag(columns.shown_by_members, slot));
    facts.explicit_only = table_.flag(columns.explicit_only, slot);
    facts.sees_everything = sees_all(observer);
    return facts;
}

inline bool ExplicitRelevance::is_explicitly_relevant(std::uint32_t o, EntityId unit, Slot slot,
                                                      const PairEntry* pair,
                                                      const PairFacts& facts) const noexcept {
    const Stage stage = facts.decide(false);
    if (stage != Stage::no_node) return is_yes(stage);
    if (counts_.open > 0 && table_.flag(facts_table_.columns.open, slot)) return true;
    if (pair != nullptr && (pair->nodes > 0 || pair->held)) return true;
    return table_.flag(facts_table_.columns.in_rows, slot) && in_rows(o, unit);
}

/// Visits the cull groups that are shown to all observers.
template <class Visit>
void ExplicitRelevance::for_each_open_unit(Visit&& visit) const {
    if (counts_.open == 0 && counts_.shown == 0) return;
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        for (Mask rest = open_lanes(block); rest != 0; rest &= static_cast<Mask>(rest - 1))
            visit(table_.entity(slot_at(block, static_cast<unsigned>(std::countr_zero(rest)))));
    }
}

template <class Visit>
void ExplicitRelevance::for_each_explicit_candidate(EntityId unit, Visit&& visit) const {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot) return;
    if (is_open_to_all(slot)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (observers_[o].ready) visit(o);
        }
        return;
    }
    for (const std::uint32_t o : observers_.unculled()) visit(o);
    for_each_source_of(unit, {}, [&](std::uint32_t s) {
        if (program_.rows[s].pulled) return;
        for (const auto at : rows_[s].memberships(unit)) {
            for (const std::uint32_t o : rows_[s].row(at.row).observers) visit(o);
        }
    });
    pairs_.for_each_of_entity(unit, [&](std::uint32_t o, const PairEntry&) { visit(o); });
}

template <class Visit>
void ExplicitRelevance::for_each_explicit_unit(std::uint32_t o, Visit&& visit) const {
    if (sees_all(observers_[o])) return lookup_.for_each_unit(visit);
    for_each_open_unit(visit);
    for (const SourceRow at : observers_[o].rows) {
        if (program_.rows[at.source].pulled) continue;
        for (const EntityId unit : rows_[at.source].row(at.row).members) {
            if (unit != EntityId::none) visit(unit);
        }
    }
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) { visit(unit); });
}

}  // namespace purview
