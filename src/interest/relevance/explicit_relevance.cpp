// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/explicit_relevance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/prefetch.hpp"

namespace purview {

bool ExplicitRelevance::in_window(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    return slot != no_slot && observers_[observer].window.contains(slot, table_.cell_end());
}

bool ExplicitRelevance::in_rows(std::uint32_t o, EntityId unit) const noexcept {
    const auto& mine = observers_[o].rows;
    if (mine.empty()) return false;
    bool found = false;
    // Searches the entity's nodes, which are few. An observer may read thousands of rows.
    for_each_source_of(unit, {}, [&](std::uint32_t source) {
        if (found || program_.rows[source].pulled) return;
        for (const auto at : rows_[source].memberships(unit)) {
            if (!rows_[source].is_live(at)) continue;
            found =
                found || std::binary_search(mine.begin(), mine.end(), SourceRow{source, at.row});
        }
    });
    return found;
}

PairFacts ExplicitRelevance::facts_of(std::uint32_t o, EntityId unit, Slot slot) const noexcept {
    return facts_of(o, slot, pairs_.find(o, unit));
}

bool ExplicitRelevance::is_explicitly_relevant(std::uint32_t o, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !observers_[o].ready) return false;
    const PairEntry* pair = pairs_.find(o, unit);
    return is_explicitly_relevant(o, unit, slot, pair, facts_of(o, slot, pair));
}

bool ExplicitRelevance::is_seen(std::uint32_t o, EntityId unit, Slot slot) const noexcept {
    PURVIEW_ASSERT(observers_[o].ready && table_.slot_of(unit) == slot && slot != no_slot);
    if (observers_[o].window.contains(slot, table_.cell_end())) return true;
    const PairEntry* pair = pairs_.find(o, unit);
    return is_explicitly_relevant(o, unit, slot, pair, facts_of(o, slot, pair));
}

bool ExplicitRelevance::has_open_flag(Slot slot) const noexcept {
    const Columns& columns = facts_table_.columns;
    return table_.flag(columns.open, slot) || table_.flag(columns.shown, slot) ||
           table_.flag(columns.global_mode, slot) || table_.flag(columns.shown_by_members, slot);
}

bool ExplicitRelevance::is_open_to_all(Slot slot) const noexcept {
    return rules_.level != InterestLevel::full || has_open_flag(slot);
}

/// Returns the lanes of the block that are shown to all observers by a node, an override, their
/// mode or a member.
Mask ExplicitRelevance::open_lanes(BlockIndex block) const noexcept {
    const Columns& columns = facts_table_.columns;
    unsigned lanes = 0;
    for (const std::uint32_t column :
         {columns.open, columns.shown, columns.global_mode, columns.shown_by_members}) {
        const std::span<const Mask> flags = table_.flags(column);
        if (!flags.empty()) lanes |= flags[block];
    }
    return static_cast<Mask>(lanes & table_.occupied(block));
}

bool ExplicitRelevance::sees_all(const Observer& observer) const noexcept {
    return observer.sees_everything || rules_.level != InterestLevel::full;
}

bool ExplicitRelevance::may_be_explicit() const noexcept {
    return counts_.open > 0 || !observers_.unculled().empty() || counts_.shown > 0 ||
           pairs_.size() > 0 || summary_.has_shared_rows || rules_.level != InterestLevel::full;
}

/// Returns whether the minimum relevance time lasts beyond tick `at`, and neither a hide nor a loss
/// of readiness has ended it.
bool ExplicitRelevance::is_in_minimum_time(std::uint32_t o, EntityId unit, Tick at) const {
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    if (period == nullptr || period->until <= at) return false;
    const bool was_hidden = minimum_relevance_.was_hidden_after(unit, period->from);
    return !was_hidden && period->from > observers_[o].ready_since;
}

/// Evaluates only steps that read nothing but the entity. A subtracting node hides the entity if
/// these steps together match it. Any other node hides it if one of them subtracts it.
bool ExplicitRelevance::hides(const WholeNode& node, const Slots& slots, Slot slot) {
    const bool subtracts = node.program.combine == Combine::subtract;
    bool is_hidden = false;
    for (const Step& step : node.program.steps) {
        if (step.inner != nullptr && !subtracts) is_hidden |= hides(*step.inner, slots, slot);
        if (!subtracts && step.combine != Combine::subtract) continue;
        if (step.kernel->depends_on() != DependsOn::entity) continue;
        const bool yes = step.kernel->test_entity(slots, slot);
        if (!subtracts || step.combine == Combine::add) {
            is_hidden |= yes;
        } else {
            is_hidden &= yes == (step.combine == Combine::require);
        }
    }
    return is_hidden;
}

/// Returns whether a step of one of the entity's inner nodes subtracts it by its own attributes.
bool ExplicitRelevance::hides(const InnerNodes& inner, const Slots& slots, Slot slot) {
    std::vector<CellId> cells;
    add_cells_of(*inner.dispatcher, slots, slot, cells);
    return std::any_of(cells.begin(), cells.end(), [&](CellId cell) {
        const std::size_t list = inner.dispatcher->steps_of(cell);
        if (list >= inner.programs.size()) return false;
        const auto& steps = inner.programs[list].steps;
        return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
            return step.combine == Combine::subtract &&
                   step.kernel->depends_on() == DependsOn::entity &&
                   step.kernel->test_entity(slots, slot);
        });
    });
}

bool ExplicitRelevance::is_hidden_by_rules(EntityId unit) const {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !summary_.has_hiding_flags) return false;
    const Slots slots(table_, facts_table_);
    for (const WholeNode& node : program_.whole) {
        if (node.is_custom || rules_.nodes.empty()) continue;
        const Members members = rules_.nodes[index_of(node.id)].members;
        if (facts_table_.bindings.is_member(node.id, members, unit) && hides(node, slots, slot))
            return true;
    }
    return false;
}

bool ExplicitRelevance::is_hidden_by_root(std::uint32_t o, EntityId unit) const noexcept {
    const PairFacts facts = facts_of(o, unit, table_.slot_of(unit));
    return facts.denied || (facts.force_hidden && !facts.owned);
}

/// Returns whether the cull group is live in a row of the node that the observer reads.
bool ExplicitRelevance::in_rows_of(NodeId node, std::uint32_t o, EntityId unit) const noexcept {
    const auto& mine = observers_[o].rows;
    const std::vector<std::uint32_t>& sources = summary_.sources_of_node[index_of(node)];
    return std::any_of(sources.begin(), sources.end(), [&](std::uint32_t source) {
        if (program_.rows[source].pulled) return false;
        const auto at = rows_[source].memberships(unit);
        return std::any_of(at.begin(), at.end(), [&](RowStore::Membership one) {
            return rows_[source].is_live(one) &&
                   std::binary_search(mine.begin(), mine.end(), SourceRow{source, one.row});
        });
    });
}

bool ExplicitRelevance::custom_result(std::size_t custom, std::uint32_t o, EntityId unit) const {
    PURVIEW_ASSERT(custom < custom_.size());
    const bool by_entity = custom_[custom].node->is_entity_centric();
    const std::uint32_t subject = by_entity ? index_of(unit) : o;
    if (subject >= custom_[custom].results.size()) return false;
    const auto& results = custom_[custom].results[subject];
    const std::uint64_t other = by_entity ? o : static_cast<std::uint64_t>(unit);
    return std::binary_search(results.begin(), results.end(), other);
}

}  // namespace purview
