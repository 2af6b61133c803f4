// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Explicit relevance: what holds between an observer and a unit besides its window, how an edit of
// it becomes a change, and the minimum relevance time. Part of InterestData.
#include <algorithm>

#include "interest/edits.hpp"

namespace purview {

bool InterestData::is_known(EntityId entity) const noexcept {
    return table_.slot_of(entity) != no_slot || is_member(entity);
}

// -- evaluation -----------------------------------------------------------------------------------

bool InterestData::in_window(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    return slot != no_slot && observers_[observer].window.contains(slot, table_.cell_end());
}

bool InterestData::in_rows(std::uint32_t o, EntityId unit) const noexcept {
    const auto& mine = observers_[o].rows;
    if (mine.empty()) return false;
    bool found = false;
    // By the entity's nodes: it has few, an observer may look into thousands.
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

PairFacts InterestData::facts_of(std::uint32_t o, EntityId unit, Slot slot) const noexcept {
    return facts_of(o, slot, pairs_.find(o, unit));
}

bool InterestData::x_holds(std::uint32_t o, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !observers_[o].ready) return false;
    const PairEntry* pair = pairs_.find(o, unit);
    return x_holds(o, unit, slot, pair, facts_of(o, slot, pair));
}

bool InterestData::has_open_flag(Slot slot) const noexcept {
    const Columns& columns = facts_table_.columns;
    return table_.flag(columns.open, slot) || table_.flag(columns.shown, slot) ||
           table_.flag(columns.global_mode, slot) || table_.flag(columns.shown_by_members, slot);
}

bool InterestData::is_open_to_all(Slot slot) const noexcept {
    return rules_.level != InterestLevel::full || has_open_flag(slot);
}

/// In the block, who is shown to all observers by a node, by hand, by its mode or by a member.
Mask InterestData::open_lanes(BlockIndex block) const noexcept {
    const Columns& columns = facts_table_.columns;
    unsigned lanes = 0;
    for (const std::uint32_t column :
         {columns.open, columns.shown, columns.global_mode, columns.shown_by_members}) {
        const std::span<const Mask> flags = table_.flags(column);
        if (!flags.empty()) lanes |= flags[block];
    }
    return static_cast<Mask>(lanes & table_.occupied(block));
}

bool InterestData::sees_all(const Observer& observer) const noexcept {
    return observer.sees_everything || rules_.level != InterestLevel::full;
}

bool InterestData::is_x_possible() const noexcept {
    return open_count_ > 0 || !observers_.unculled().empty() || shown_count_ > 0 ||
           pairs_.size() > 0 || summary_.has_shared_rows || rules_.level != InterestLevel::full;
}

// -- explicit changes
// ------------------------------------------------------------------------------

void InterestData::note(std::uint32_t observer, EntityId unit, bool before, bool after) {
    if (before == after) return;
    if (is_mixed(unit)) return touch_mixed(observer, unit);
    if (in_window(observer, unit)) return;
    if (before && hold(observer, unit)) return;
    for_each_visible(observer, unit, after,
                     [&](EntityId member) { changes_.add(observer, member, after); });
}

void InterestData::touch(std::uint32_t observer, EntityId unit) {
    PURVIEW_ASSERT(observers_.is_live(observer));  // rows and pairs forget whoever leaves
    if (!touched_.is_new(observer)) return;
    ++pairs_asked;
    touched_.add(observer, x_holds(observer, unit));
}

void InterestData::touch_all(EntityId unit) {
    touched_.begin(observers_.size());
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    // What the window says is evaluated now: the slot may be gone after the edit.
    touched_.end_before([&](std::uint32_t o) { return in_window(o, unit); });
}

void InterestData::tell_touched(EntityId unit) {
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    note_hide(unit);
    touched_.for_each(
        [&](std::uint32_t o, bool before) { note(o, unit, before, x_holds(o, unit)); });
}

// -- minimum stay ---------------------------------------------------------------------------------

/// Its time is not over in tick `at`, and nothing has hidden it since it came.
bool InterestData::has_stay(std::uint32_t o, EntityId unit, Tick at) const {
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    if (period == nullptr || period->until <= at) return false;
    const bool was_hidden = minimum_relevance_.was_hidden_after(unit, period->from);
    return !was_hidden && period->from > observers_[o].ready_since;
}

/// A pair that no node wants any more stays for the rest of its time, unless it is hidden.
bool InterestData::hold(std::uint32_t o, EntityId unit) {
    if (!keeps_stays()) return false;
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    const Slot slot = table_.slot_of(unit);
    if (period == nullptr || period->until <= tick_ || slot == no_slot) return false;
    const Stage stage = facts_of(o, unit, slot).decide(false);
    const bool by_hand = stage == Stage::force_hidden || stage == Stage::explicit_only;
    if (stage != Stage::no_node && !by_hand) return false;
    // Between ticks a hide may be taken back: it counts where it stands in check_hides.
    const bool is_hidden = by_hand || is_hidden_by_rules(unit);
    if (!has_stay(o, unit, tick_) || (is_hidden && minimum_relevance_.hide_checks.empty())) {
        minimum_relevance_.end(o, unit);
        return false;
    }
    if (is_hidden && minimum_relevance_.hide_checks.back() != unit) note_hide(unit);
    PURVIEW_ASSERT(observers_[o].ready);
    pairs_.edit(o, unit).held = true;
    return !by_hand;
}

/// The unit went out of the window while a node that showed it was not due, and leaves wait for
/// that: the pair stays relevant until the node's next tick, unless something hides it. False: it
/// leaves at once.
bool InterestData::defer_leave(std::uint32_t o, EntityId unit, Tick wait_ticks) {
    if (wait_ticks == 0) return false;
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    if (period == nullptr || period->until < tick_ + wait_ticks)
        minimum_relevance_.begin(o, unit, tick_, wait_ticks);
    PURVIEW_ASSERT(minimum_relevance_.find(o, unit) != nullptr);
    return hold(o, unit);
}

/// By steps that ask the entity alone: a node that subtracts hides those whom they show together,
/// any other those whom one of them subtracts.
bool InterestData::hides(const WholeNode& node, const Slots& slots, Slot slot) {
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

/// By a step of one of its inner nodes that subtracts what the entity says of itself.
bool InterestData::hides(const InnerNodes& inner, const Slots& slots, Slot slot) {
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

bool InterestData::is_hidden_by_rules(EntityId unit) const {
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

/// Its facts changed: whether that hides it is seen when the tick's facts are complete.
void InterestData::note_hide(EntityId unit) {
    if (keeps_stays()) minimum_relevance_.hide_checks.push_back(unit);
}

/// A hide ends the stay of all its pairs, for good, and a denial that of its own.
void InterestData::check_hides() {
    for (const auto& [o, unit] : minimum_relevance_.denial_checks) {
        const PairEntry* pair = is_known(unit) ? pairs_.find(o, unit) : nullptr;
        if (pair != nullptr && pair->deny) end_hold(o, unit);
    }
    minimum_relevance_.denial_checks.clear();
    for (const EntityId unit : minimum_relevance_.hide_checks) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) continue;
        const Columns& columns = facts_table_.columns;
        const bool is_hidden = table_.flag(columns.force_hidden, slot) ||
                               table_.flag(columns.explicit_only, slot) || is_hidden_by_rules(unit);
        if (!is_hidden) continue;
        minimum_relevance_.note_hidden(unit, tick_);
        std::vector<std::uint32_t> holders;
        pairs_.for_each_of_entity(unit, [&](std::uint32_t o, const PairEntry& pair) {
            if (pair.held) holders.push_back(o);
        });
        for (const std::uint32_t o : holders) end_hold(o, unit);
    }
    minimum_relevance_.hide_checks.clear();
}

void InterestData::end_hold(std::uint32_t o, EntityId unit) {
    // A despawn drops the pair, and leaves the period: another entity may have the index by now.
    const PairEntry* pair = is_known(unit) ? pairs_.find(o, unit) : nullptr;
    minimum_relevance_.end(o, unit);
    if (pair == nullptr || !pair->held) return;
    const bool before = x_holds(o, unit);
    pairs_.edit(o, unit).held = false;
    pairs_.settle(o, unit);
    note(o, unit, before, x_holds(o, unit));
}

/// After the windows: who came back in this very tick stays.
void InterestData::expire_stays() {
    if (minimum_relevance_.size() == 0) return;
    minimum_relevance_.expire(tick_, [&](std::uint32_t o, EntityId unit) { end_hold(o, unit); });
}

}  // namespace purview
