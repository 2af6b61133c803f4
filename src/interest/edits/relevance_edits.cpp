// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/relevance_edits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "core/validate.hpp"
#include "interest/rules/cell_side.hpp"
#include "interest/rules/rule_problems.hpp"
#include "purview/status.hpp"

namespace purview {

void RelevanceEdits::note(std::uint32_t observer, EntityId unit, bool before, bool after) {
    if (before == after) return;
    if (lookup_.is_split_group(unit)) return touch_split_group(observer, unit);
    if (explicit_.in_window(observer, unit)) return;
    if (before && hold(observer, unit)) return;
    relevance_.for_each_visible(observer, unit, after,
                                [&](EntityId member) { changes_.add(observer, member, after); });
}

void RelevanceEdits::touch(std::uint32_t observer, EntityId unit) {
    PURVIEW_ASSERT(observers_.is_live(observer));  // rows and pairs drop removed observers
    if (!touched_.is_new(observer)) return;
    ++pairs_queried_;
    touched_.add(observer, explicit_.is_explicitly_relevant(observer, unit));
}

void RelevanceEdits::touch_all(EntityId unit) {
    touched_.begin(observers_.size());
    explicit_.for_each_explicit_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    // Reads the windows now: the slot may be gone after the edit.
    touched_.end_before([&](std::uint32_t o) { return explicit_.in_window(o, unit); });
}

void RelevanceEdits::report_touched(EntityId unit) {
    explicit_.for_each_explicit_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    note_hide(unit);
    touched_.for_each([&](std::uint32_t o, bool before) {
        note(o, unit, before, explicit_.is_explicitly_relevant(o, unit));
    });
}

/// Keeps a pair that no node matches any more for the rest of its minimum relevance time, unless it
/// is hidden. Returns whether the pair stays relevant.
bool RelevanceEdits::hold(std::uint32_t o, EntityId unit) {
    if (!explicit_.has_minimum_relevance()) return false;
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    const Slot slot = table_.slot_of(unit);
    if (period == nullptr || period->until <= tick_ || slot == no_slot) return false;
    const Stage stage = explicit_.facts_of(o, unit, slot).decide(false);
    const bool by_override = stage == Stage::force_hidden || stage == Stage::explicit_only;
    if (stage != Stage::no_node && !by_override) return false;
    // A hide may be revoked before the tick, so check_hides decides in the tick.
    const bool is_hidden = by_override || explicit_.is_hidden_by_rules(unit);
    if (!explicit_.is_in_minimum_time(o, unit, tick_) ||
        (is_hidden && minimum_relevance_.hide_checks.empty())) {
        minimum_relevance_.end(o, unit);
        return false;
    }
    if (is_hidden && minimum_relevance_.hide_checks.back() != unit) note_hide(unit);
    PURVIEW_ASSERT(observers_[o].ready);
    pairs_.edit(o, unit).held = true;
    return !by_override;
}

/// Keeps a pair relevant whose cull group left the window, if the node that showed it lets leaves
/// wait and is due only in `wait_ticks` ticks. The pair stays until then, unless something hides
/// it. Returns false if the pair leaves at once.
bool RelevanceEdits::defer_leave(std::uint32_t o, EntityId unit, Tick wait_ticks) {
    if (wait_ticks == 0) return false;
    const MinimumRelevance::Period* period = minimum_relevance_.find(o, unit);
    if (period == nullptr || period->until < tick_ + wait_ticks)
        minimum_relevance_.begin(o, unit, tick_, wait_ticks);
    PURVIEW_ASSERT(minimum_relevance_.find(o, unit) != nullptr);
    return hold(o, unit);
}

/// Notes that the facts of the cull group changed. check_hides decides whether they hide it, when
/// the tick's facts are complete.
void RelevanceEdits::note_hide(EntityId unit) {
    if (explicit_.has_minimum_relevance()) minimum_relevance_.hide_checks.push_back(unit);
}

/// A hide ends the minimum relevance time of all pairs of the cull group for good. A denial ends
/// only the time of its pair.
void RelevanceEdits::check_hides() {
    for (const auto& [o, unit] : minimum_relevance_.denial_checks) {
        const PairEntry* pair = lookup_.is_known(unit) ? pairs_.find(o, unit) : nullptr;
        if (pair != nullptr && pair->deny) end_hold(o, unit);
    }
    minimum_relevance_.denial_checks.clear();
    for (const EntityId unit : minimum_relevance_.hide_checks) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) continue;
        const Columns& columns = facts_table_.columns;
        const bool is_hidden = table_.flag(columns.force_hidden, slot) ||
                               table_.flag(columns.explicit_only, slot) ||
                               explicit_.is_hidden_by_rules(unit);
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

void RelevanceEdits::end_hold(std::uint32_t o, EntityId unit) {
    // A despawn drops the pair but keeps the period. Another entity may have the index by now.
    const PairEntry* pair = lookup_.is_known(unit) ? pairs_.find(o, unit) : nullptr;
    minimum_relevance_.end(o, unit);
    if (pair == nullptr || !pair->held) return;
    const bool before = explicit_.is_explicitly_relevant(o, unit);
    pairs_.edit(o, unit).held = false;
    pairs_.settle(o, unit);
    note(o, unit, before, explicit_.is_explicitly_relevant(o, unit));
}

/// Runs after the windows, so that a pair that came back in the same tick stays.
void RelevanceEdits::expire_minimum_relevance() {
    if (minimum_relevance_.size() == 0) return;
    minimum_relevance_.expire(tick_, [&](std::uint32_t o, EntityId unit) { end_hold(o, unit); });
}

/// Stores to which observers the entity is relevant by windows and facts, before its group becomes
/// partly split.
void RelevanceEdits::take_views(EntityId entity) {
    const EntityId unit = lookup_.unit_of(entity);
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (explicit_.is_seen(o, unit) && relevance_.is_path_open(o, unit, entity))
            views_.set(o, {entity, true, true});
    }
}

void RelevanceEdits::collect_views(std::span<const EntityId> entities, ObserverRange range,
                                   std::vector<MemberView>& out) {
    viewed_.clear();
    for (std::uint32_t i = 0; i < entities.size(); ++i) {
        const EntityId entity = entities[i], unit = lookup_.unit_of(entity);
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) continue;  // unknown
        viewed_.push_back({i, unit, slot, entity != unit && lookup_.has_cuts(unit)});
    }
    for (std::uint32_t o = range.begin; o < range.end; ++o) {
        if (!observers_[o].ready) continue;
        pairs_queried_ += entities.size();
        EntityId unit = EntityId::none;
        bool seen = false;
        for (const Viewed& one : viewed_) {
            if (one.unit != unit) {
                unit = one.unit;
                seen = explicit_.is_seen(o, unit, one.slot);
            }
            if (seen && !(one.may_be_cut && relevance_.is_cut(o, unit, entities[one.member])))
                out.push_back({o, one.member});
        }
    }
}

/// Adds an enter or a leave for each member that an observer gained or lost since `before`. Leaves
/// come first, from the last to the first.
void RelevanceEdits::report_views(std::span<const EntityId> entities, ObserverRange range,
                                  const std::vector<MemberView>& before) {
    PURVIEW_ASSERT(std::is_sorted(before.begin(), before.end()));  // is_in searches it
    views_after_.clear();
    collect_views(entities, range, views_after_);
    const auto is_in = [](const std::vector<MemberView>& list, const MemberView& one) {
        return std::binary_search(list.begin(), list.end(), one);
    };
    for (std::size_t i = before.size(); i > 0; --i) {
        const MemberView& one = before[i - 1];
        if (!is_in(views_after_, one)) changes_.add(one.observer, entities[one.member], false);
    }
    for (const MemberView& one : views_after_) {
        if (!is_in(before, one)) changes_.add(one.observer, entities[one.member], true);
    }
}

/// Returns for each ready observer the cull groups that are explicitly relevant and not in its
/// window.
std::vector<std::vector<EntityId>> RelevanceEdits::explicit_outside_windows() const {
    std::vector<std::vector<EntityId>> out(observers_.size());
    FlatMap<std::uint32_t, std::uint8_t> seen;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        seen.clear();
        explicit_.for_each_explicit_unit(o, [&](EntityId unit) {
            if (!explicit_.is_explicitly_relevant(o, unit) || explicit_.in_window(o, unit) ||
                seen.contains(index_of(unit)))
                return;
            seen[index_of(unit)] = 1;
            out[o].push_back(unit);
        });
    }
    return out;
}

/// Notes the changes since `before`, a result of explicit_outside_windows().
void RelevanceEdits::report_difference(const std::vector<std::vector<EntityId>>& before) {
    PURVIEW_ASSERT(before.size() == observers_.size());
    const auto after = explicit_outside_windows();
    FlatMap<std::uint32_t, std::uint8_t> had;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        had.clear();
        for (const EntityId unit : before[o]) {
            had[index_of(unit)] = 1;
            note(o, unit, true, explicit_.is_explicitly_relevant(o, unit));
        }
        for (const EntityId unit : after[o]) {
            if (!had.contains(index_of(unit))) note(o, unit, false, true);
        }
    }
}

}  // namespace purview
