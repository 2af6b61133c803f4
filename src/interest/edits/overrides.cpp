// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/overrides.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "purview/status.hpp"

namespace purview {

/// Adds the overrides of a member to the counts of its cull group, or subtracts them.
void Overrides::count_marks(EntityId unit, EntityId member, int delta) {
    PURVIEW_ASSERT(member != unit && lookup_.unit_of(member) == unit);
    int cuts = 0, shows = 0;
    if (const MemberMarks* marks = groups_.marks_of(member)) {
        cuts = marks->cuts() ? 1 : 0;
        shows = marks->shows() ? 1 : 0;
    }
    std::vector<std::uint32_t> allowed;
    pairs_.for_each_of_entity(member, [&](std::uint32_t o, const PairEntry& pair) {
        ++pairs_queried_;
        cuts += pair.deny ? 1 : 0;
        if (pair.allow) allowed.push_back(o);
    });
    for (const std::uint32_t o : allowed) add_member_allow(o, unit, delta);
    add_marks(unit, cuts * delta, shows * delta);
}

void Overrides::add_member_allow(std::uint32_t o, EntityId unit, int delta) {
    PairEntry& pair = pairs_.edit(o, unit);
    pair.member_allows = static_cast<std::uint16_t>(pair.member_allows + delta);
    pairs_.settle(o, pair);
}

void Overrides::add_marks(EntityId unit, int cuts, int shows) {
    if (cuts == 0 && shows == 0) return;
    const UnitMarks now = groups_.add_unit_marks(unit, cuts, shows);
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const std::uint32_t column = facts_table_.columns.shown_by_members;
    if (table_.flag(column, slot) == (now.shows > 0)) return;
    PURVIEW_ASSERT(now.shows > 0 || counts_.shown > 0);
    table_.set_flag(column, slot, now.shows > 0);
    counts_.shown += now.shows > 0 ? 1 : static_cast<std::uint32_t>(-1);
}

Status Overrides::mark_member(EntityId member, bool MemberMarks::*field, bool value) {
    const EntityId unit = lookup_.unit_of(member);
    const MemberMarks* now = groups_.marks_of(member);
    if ((now != nullptr && now->*field) != value) {
        edits_.edit_groups({unit}, [&] {
            count_marks(unit, member, -1);
            MemberMarks marks = now == nullptr ? MemberMarks{} : *now;
            marks.*field = value;
            groups_.set_marks(member, marks);
            count_marks(unit, member, +1);
        });
    }
    const bool is_hidden = table_.flag(facts_table_.columns.force_hidden, table_.slot_of(unit));
    return field == &MemberMarks::shown && value && is_hidden ? Status::hidden_by_root : Status::ok;
}

Status Overrides::mark_mode(EntityId member, EntityMode mode) {
    const EntityId unit = lookup_.unit_of(member);
    const MemberMarks* now = groups_.marks_of(member);
    edits_.edit_groups({unit}, [&] {
        count_marks(unit, member, -1);
        MemberMarks marks = now == nullptr ? MemberMarks{} : *now;
        marks.mode = mode;
        groups_.set_marks(member, marks);
        count_marks(unit, member, +1);
    });
    return Status::ok;
}

/// Sets or clears a mark of a member's pair, which must not have that value yet. Makes no events.
void Overrides::set_member_pair(std::uint32_t o, EntityId member, PairMark mark, bool value) {
    PURVIEW_ASSERT(lookup_.is_member(member));
    PURVIEW_ASSERT((pairs_.find(o, member) != nullptr && pairs_.find(o, member)->has(mark)) !=
                   value);
    pairs_.set(pairs_.edit(o, member), mark, value);
    pairs_.settle(o, member);
    const int delta = value ? 1 : -1;
    if (mark == PairMark::allow) {
        add_member_allow(o, lookup_.unit_of(member), delta);
    } else {
        add_marks(lookup_.unit_of(member), delta, 0);
    }
}

Status Overrides::edit_member_pair(std::uint32_t o, EntityId member, PairMark mark, bool value) {
    const EntityId unit = lookup_.unit_of(member);
    const PairEntry* now = pairs_.find(o, member);
    if ((now != nullptr && now->has(mark)) != value)
        edits_.edit_group_of(o, unit, [&] { set_member_pair(o, member, mark, value); });
    return mark == PairMark::allow && value && explicit_.is_hidden_by_root(o, unit)
               ? Status::hidden_by_root
               : Status::ok;
}

/// Drops the marks of a pair when its observer is removed. Makes no events.
void Overrides::forget_member_pair(std::uint32_t o, EntityId member) {
    for (const PairMark mark : {PairMark::allow, PairMark::deny}) {
        const PairEntry* pair = pairs_.find(o, member);
        if (pair != nullptr && pair->has(mark)) set_member_pair(o, member, mark, false);
    }
}

/// Returns whether the entity has no override that its cull group has to count.
bool Overrides::is_plain_member(EntityId entity) const noexcept {
    PURVIEW_ASSERT(lookup_.is_known(entity));
    if (ownership_.owner_of(entity) != ObserverId::none || pairs_.has_any(entity)) return false;
    if (lookup_.is_member(entity)) return groups_.marks_of(entity) == nullptr;
    const Slot slot = table_.slot_of(entity);
    const Columns& columns = facts_table_.columns;
    return !table_.flag(columns.no_window, slot) && !table_.flag(columns.shown, slot) &&
           !table_.flag(columns.global_mode, slot);
}

/// Copies the hiding marks and the denials of all ancestors to the member.
void Overrides::keep_hides(EntityId member) {
    const Columns& columns = facts_table_.columns;
    if (!lookup_.is_known(member)) return;
    bool is_hidden = false, is_explicit = false;
    std::vector<std::uint32_t> denied;
    for (EntityId above = lookup_.parent_of(member); above != EntityId::none;
         above = lookup_.parent_of(above)) {
        if (lookup_.is_member(above)) {
            if (const MemberMarks* marks = groups_.marks_of(above)) {
                is_hidden |= marks->force_hidden;
                is_explicit |= marks->mode == EntityMode::explicit_only;
            }
        } else {
            const Slot slot = table_.slot_of(above);
            is_hidden |= table_.flag(columns.force_hidden, slot);
            is_explicit |= table_.flag(columns.explicit_only, slot);
            const Bindings& bindings = facts_table_.bindings;
            is_explicit |= bindings.nodes_of(above).empty() && !bindings.is_unbound(above);
        }
        pairs_.for_each_of_entity(above, [&](std::uint32_t o, const PairEntry& pair) {
            if (pair.deny) denied.push_back(o);
        });
    }
    if (is_hidden) (void)force_hide(member, true);
    const bool is_global = lookup_.is_member(member)
                               ? groups_.marks_of(member) != nullptr &&
                                     groups_.marks_of(member)->mode == EntityMode::global
                               : table_.flag(columns.global_mode, table_.slot_of(member));
    if (is_explicit && !is_global) (void)set_mode(member, EntityMode::explicit_only);
    for (const std::uint32_t o : denied)
        (void)edit_pair(observers_.id_of(o), member, PairMark::deny, true);
}

void Overrides::update_special(EntityId unit) {
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);
    table_.set_flag(facts_table_.columns.special, table_.slot_of(unit), pairs_.has_denial(unit));
}

void Overrides::update_no_window(EntityId unit) {
    const Columns& columns = facts_table_.columns;
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const bool hidden =
        table_.flag(columns.force_hidden, slot) || table_.flag(columns.explicit_only, slot);
    if (table_.flag(columns.no_window, slot) == hidden) return;
    PURVIEW_ASSERT(hidden || counts_.no_window > 0);
    counts_.no_window += hidden ? 1 : static_cast<std::uint32_t>(-1);
    table_.set_flag(columns.no_window, slot, hidden);
}

void Overrides::drop_pairs(EntityId unit) {
    while (pairs_.has_any(unit)) {
        const std::uint32_t o = pairs_.any_observer(unit);
        if (pairs_.find(o, unit)->nodes > 0) custom_nodes_.drop_from_custom_nodes(o, unit);
        pairs_.drop(o, unit);
    }
}

Status Overrides::set_mode(EntityId entity, EntityMode mode) {
    if (lookup_.is_member(entity)) return mark_mode(entity, mode);
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    const Columns& columns = facts_table_.columns;
    edits_.edit_unit(entity, [&] {
        const bool is_global = mode == EntityMode::global;
        if (table_.flag(columns.global_mode, slot) != is_global) {
            PURVIEW_ASSERT(is_global || counts_.shown > 0);
            counts_.shown += is_global ? 1 : static_cast<std::uint32_t>(-1);
            table_.set_flag(columns.global_mode, slot, is_global);
        }
        table_.set_flag(columns.explicit_only, slot, mode == EntityMode::explicit_only);
        update_no_window(entity);
    });
    return Status::ok;
}

void Overrides::add_owned(EntityId unit, EntityId owned, ObserverId owner, int delta) {
    if (!observers_.is_live(owner)) return;
    const bool is_blind = ownership_.is_blind(owned);
    PairEntry& pair = pairs_.edit(index_of(owner), unit);
    std::uint16_t& count = is_blind ? pair.owned_blind : pair.owned;
    PURVIEW_ASSERT(delta > 0 || count > 0);
    count = static_cast<std::uint16_t>(count + delta);
    pairs_.settle(index_of(owner), unit);
    if (program_.needs_owned) observers_.must_scan(index_of(owner));
}

Status Overrides::set_owner(EntityId entity, ObserverId owner) {
    if (!lookup_.is_known(entity)) return Status::stale_id;
    if (owner != ObserverId::none && !observers_.is_live(owner)) return Status::stale_id;
    const EntityId unit = lookup_.unit_of(entity);
    const ObserverId old = ownership_.owner_of(entity);
    if (old == owner) return Status::ok;
    const auto edit_of = [&](ObserverId one, const auto& edit) {
        if (!observers_.is_live(one)) return edit();
        const std::uint32_t o = index_of(one);
        if (lookup_.has_cuts(unit) || lookup_.is_split_group(unit))
            return edits_.edit_group_of(o, unit, edit);
        // The group is visible as a whole or not at all, so its members need no evaluation.
        ++pairs_queried_;
        const bool before = explicit_.is_explicitly_relevant(o, unit);
        edit();
        edits_.note_hide(unit);
        edits_.note(o, unit, before, explicit_.is_explicitly_relevant(o, unit));
    };
    edit_of(old, [&] {
        add_owned(unit, entity, old, -1);
        ownership_.set_owner(entity, ObserverId::none);
    });
    if (owner == ObserverId::none) return Status::ok;
    edit_of(owner, [&] {
        add_owned(unit, entity, owner, +1);
        ownership_.set_owner(entity, owner);
    });
    return Status::ok;
}

template <class Edit>
Status Overrides::mark(EntityId entity, bool MemberMarks::*of_member, std::uint32_t column,
                       bool value, Edit&& also) {
    if (lookup_.is_member(entity)) return mark_member(entity, of_member, value);
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    if (table_.flag(column, slot) == value) return Status::ok;
    edits_.edit_unit(entity, [&] {
        table_.set_flag(column, slot, value);
        also();
    });
    return Status::ok;
}

Status Overrides::force_hide(EntityId entity, bool hidden) {
    return mark(entity, &MemberMarks::force_hidden, facts_table_.columns.force_hidden, hidden,
                [&] { update_no_window(entity); });
}

Status Overrides::show_to_all(EntityId entity, bool shown) {
    return mark(entity, &MemberMarks::shown, facts_table_.columns.shown, shown, [&] {
        PURVIEW_ASSERT(shown || counts_.shown > 0);
        counts_.shown += shown ? 1 : static_cast<std::uint32_t>(-1);
    });
}

void Overrides::forget_holds(std::uint32_t o) {
    if (!explicit_.has_minimum_relevance()) return;
    std::vector<EntityId> units;
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) { units.push_back(unit); });
    for (const EntityId unit : units) {
        pairs_.edit(o, unit).held = false;
        pairs_.settle(o, unit);
    }
}

void Overrides::forget_pairs(std::uint32_t o) {
    std::vector<EntityId> units;
    while (pairs_.count_of_observer(o) > 0) {  // dropping a member's pair may edit its group's pair
        units.clear();
        pairs_.for_each_of_observer(
            o, [&](EntityId unit, const PairEntry&) { units.push_back(unit); });
        for (const EntityId unit : units) {
            const PairEntry* pair = pairs_.find(o, unit);
            if (pair == nullptr) continue;
            const bool denied = pair->deny;
            if (lookup_.is_member(unit)) {
                forget_member_pair(o, unit);
                continue;
            }
            if (pair->nodes > 0) custom_nodes_.drop_from_custom_nodes(o, unit);
            pairs_.drop(o, unit);
            if (denied && !lookup_.is_member(unit)) update_special(unit);
        }
    }
}

Status Overrides::edit_pair(ObserverId id, EntityId entity, PairMark mark, bool value) {
    if (!observers_.is_live(id)) return Status::stale_id;
    if (lookup_.is_member(entity)) return edit_member_pair(index_of(id), entity, mark, value);
    if (table_.slot_of(entity) == no_slot) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    const Slot slot = table_.slot_of(entity);
    ++pairs_queried_;
    PairEntry& pair = pairs_.edit(o, entity);
    PairFacts facts = explicit_.facts_of(o, slot, &pair);
    const bool before = explicit_.is_explicitly_relevant(o, entity, slot, &pair, facts);
    // Updates `facts` too instead of reading the pair again: a bit that was just written is slow to
    // read.
    pairs_.set(pair, mark, value);
    const bool is_denial_new = mark == PairMark::deny && facts.denied != value;
    if (mark == PairMark::allow) {
        facts.allowed = value || pair.member_allows > 0;
    } else {
        facts.denied = value;
    }
    if (facts.denied && rules_.minimum_relevance_ticks > 0)
        minimum_relevance_.denial_checks.emplace_back(o, entity);
    const bool after = explicit_.is_explicitly_relevant(o, entity, slot, &pair, facts);
    if (!value) pairs_.settle(o, pair);
    if (is_denial_new) update_special(entity);
    PURVIEW_ASSERT(table_.flag(facts_table_.columns.special, slot) == pairs_.has_denial(entity));
    if (lookup_.is_split_group(entity)) {
        edits_.touch_split_group(o, entity);
        return Status::ok;
    }
    edits_.note(o, entity, before, after);
    return Status::ok;
}

Status Overrides::edit_pairs(std::span<const PairEdit> edits, PairMark mark) {
    Status first = Status::ok;
    pairs_.for_each_ahead(
        edits, [](const PairEdit& edit) { return std::pair(index_of(edit.observer), edit.entity); },
        [&](const PairEdit& edit) {
            const Status status = edit_pair(edit.observer, edit.entity, mark, edit.value);
            if (first == Status::ok) first = status;
        });
    return first;
}

}  // namespace purview
