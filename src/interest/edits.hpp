// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Templates and inline functions of InterestData: relevance before an edit, the edit, relevance
// after it, and the difference as changes. Included by the sources of `interest` that call them.
#pragma once

#include <algorithm>

#include "interest/interest_data.hpp"

namespace purview {

inline PairFacts InterestData::facts_of(std::uint32_t o, Slot slot,
                                        const PairEntry* pair) const noexcept {
    const Observer& observer = observers_[o];
    const Columns& columns = facts_table_.columns;
    PairFacts facts;
    facts.ready = observer.ready;
    facts.denied = pair != nullptr && pair->deny;
    facts.owned = pair != nullptr && pair->owned > 0;
    facts.allowed = pair != nullptr && (pair->allow || pair->member_allows > 0);
    facts.force_hidden = table_.flag(columns.force_hidden, slot);
    facts.shown_to_all = shown_count_ > 0 && (table_.flag(columns.shown, slot) ||
                                              table_.flag(columns.global_mode, slot) ||
                                              table_.flag(columns.shown_by_members, slot));
    facts.explicit_only = table_.flag(columns.explicit_only, slot);
    facts.sees_everything = sees_all(observer);
    return facts;
}

inline bool InterestData::x_holds(std::uint32_t o, EntityId unit, Slot slot, const PairEntry* pair,
                                  const PairFacts& facts) const noexcept {
    const Stage stage = facts.decide(false);
    if (stage != Stage::no_node) return is_yes(stage);
    if (open_count_ > 0 && table_.flag(facts_table_.columns.open, slot)) return true;
    if (pair != nullptr && (pair->nodes > 0 || pair->held)) return true;
    return table_.flag(facts_table_.columns.in_rows, slot) && in_rows(o, unit);
}

template <class Visit>
void InterestData::for_each_member(EntityId unit, bool enter, Visit&& visit) const {
    const std::span<const EntityId> members = groups_.members_of(unit);
    if (members.empty()) return visit(unit);
    if (enter) {
        visit(unit);
        for (const EntityId member : members) visit(member);
    } else {
        for (std::size_t i = members.size(); i > 0; --i) visit(members[i - 1]);
        visit(unit);
    }
}

/// Those of the unit that the observer has while he has the unit.
template <class Visit>
void InterestData::for_each_visible(std::uint32_t o, EntityId unit, bool enter,
                                    Visit&& visit) const {
    if (!has_cuts(unit)) return for_each_member(unit, enter, visit);
    for_each_member(unit, enter, [&](EntityId member) {
        if (member == unit || !is_cut(o, unit, member)) visit(member);
    });
}

template <class Visit>
void InterestData::for_each_unit(Visit&& visit) const {
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        for (Mask rest = table_.occupied(block); rest != 0; rest &= static_cast<Mask>(rest - 1))
            visit(table_.entity(slot_at(block, static_cast<unsigned>(std::countr_zero(rest)))));
    }
}

/// Of those who are shown to all observers.
template <class Visit>
void InterestData::for_each_open_unit(Visit&& visit) const {
    if (open_count_ == 0 && shown_count_ == 0) return;
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        for (Mask rest = open_lanes(block); rest != 0; rest &= static_cast<Mask>(rest - 1))
            visit(table_.entity(slot_at(block, static_cast<unsigned>(std::countr_zero(rest)))));
    }
}

template <class Visit>
void InterestData::for_each_x_candidate(EntityId unit, Visit&& visit) const {
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
void InterestData::for_each_x_unit(std::uint32_t o, Visit&& visit) const {
    if (sees_all(observers_[o])) return for_each_unit(visit);
    for_each_open_unit(visit);
    for (const SourceRow at : observers_[o].rows) {
        if (program_.rows[at.source].pulled) continue;
        for (const EntityId unit : rows_[at.source].row(at.row).members) {
            if (unit != EntityId::none) visit(unit);
        }
    }
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) { visit(unit); });
}

template <class Edit>
void InterestData::edit_unit(EntityId unit, Edit&& edit) {
    if (is_mixed(unit)) {
        edit();
        note_hide(unit);
        split_queue_.touch(unit);
        return;
    }
    touch_all(unit);
    edit();
    tell_touched(unit);
}

/// The same of everything about some units, their members and who is a member: whoever is in one of
/// them before or after it.
template <class Edit>
void InterestData::edit_groups(std::initializer_list<EntityId> units, Edit&& edit) {
    for (const EntityId unit : units) {
        if (is_mixed(unit)) return edit_mixed(units, edit);
    }
    edit_views(everybody(), units, edit);
}

/// The same of what is between one observer and a group: nobody else is asked.
template <class Edit>
void InterestData::edit_group_of(std::uint32_t o, EntityId unit, Edit&& edit) {
    if (is_mixed(unit)) {
        edit();
        return touch_mixed(o, unit);
    }
    edit_views({o, o + 1}, {unit}, edit);
}

template <class Edit>
void InterestData::edit_views(ObserverRange whose, std::initializer_list<EntityId> units,
                              Edit&& edit) {
    std::vector<EntityId> who;
    for (const EntityId unit : units)
        for_each_member(unit, true, [&](EntityId member) { who.push_back(member); });
    std::vector<View> before;
    collect_views(who, whose, before);
    PURVIEW_ASSERT(std::is_sorted(before.begin(), before.end()));  // tell_views searches in it
    std::vector<bool> had;
    for (const EntityId unit : units) {
        for (std::uint32_t o = whose.begin; o < whose.end; ++o) had.push_back(is_seen(o, unit));
    }
    edit();
    std::size_t i = 0;
    for (const EntityId unit : units) {
        for (std::uint32_t o = whose.begin; o < whose.end; ++o, ++i) {
            if (had[i] && is_known(unit) && !is_member(unit) && !is_seen(o, unit))
                (void)hold(o, unit);
        }
        if (table_.slot_of(unit) != no_slot) note_hide(unit);
    }
    PURVIEW_ASSERT(i == had.size());
    tell_views(who, whose, before);
}

/// The same where groups with split members are concerned before it or after it.
template <class Edit>
void InterestData::edit_mixed(std::initializer_list<EntityId> units, Edit&& edit) {
    std::vector<EntityId> who;
    std::vector<MixedUnit> group;
    for (const EntityId unit : units) {
        gather_mixed(top_of(unit), group);
        for (const MixedUnit& one : group)
            for_each_member(one.unit, true, [&](EntityId entity) { who.push_back(entity); });
    }
    for (const EntityId entity : who) {
        if (!is_mixed(unit_of(entity))) take_views(entity);
    }
    edit();
    for (const EntityId entity : who) {
        if (!is_known(entity)) {
            split_queue_.add_gone(entity);
            continue;
        }
        const EntityId unit = unit_of(entity);
        if (!is_mixed(unit)) {
            split_queue_.release(unit);
        }
        split_queue_.touch(unit);
        if (unit == entity) note_hide(unit);
    }
}

template <class Edit>
void InterestData::edit_observer(std::uint32_t o, Edit&& edit) {
    std::vector<EntityId>& before = edit_before_;
    std::vector<EntityId>& after = edit_after_;
    FlatMap<std::uint32_t, std::uint8_t>& seen = edit_seen_;
    before.clear();
    after.clear();
    seen.clear();
    const auto first_time = [&](EntityId unit) { return seen.find_or_make(index_of(unit)).second; };
    for_each_x_unit(o, [&](EntityId unit) {
        ++pairs_asked;
        if (x_holds(o, unit) && first_time(unit)) before.push_back(unit);
    });
    edit();
    for (const EntityId unit : before) note(o, unit, true, x_holds(o, unit));
    for_each_x_unit(o, [&](EntityId unit) {
        if (x_holds(o, unit) && first_time(unit)) after.push_back(unit);
    });
    for (const EntityId unit : after) note(o, unit, false, true);
}

template <class Visit>
void InterestData::for_each_relevant(std::uint32_t o, Visit&& visit, bool with_gone) const {
    const Observer& observer = observers_[o];
    if (!observer.ready) return;
    for (const GroupViews::View& view : views_.of(o)) {
        if (view.seen && (with_gone || is_known(view.entity))) visit(view.entity);
    }
    const auto tell = [&](EntityId unit) {
        if (!is_mixed(unit)) for_each_visible(o, unit, true, visit);
    };
    // Who is there, and what his whole id is, of blocks that come later.
    constexpr std::size_t entity_ahead = 8, home_ahead = 4;
    const Window& window = observer.window;
    for (std::size_t at = 0; at < window.size(); ++at) {
        if (at + entity_ahead < window.size())
            table_.prefetch_entity(slot_at(window.blocks()[at + entity_ahead], 0));
        if (at + home_ahead < window.size()) {
            const BlockIndex block = window.blocks()[at + home_ahead];
            for_each_bit(window.masks()[at + home_ahead], 0, [&](std::size_t lane) {
                table_.prefetch_home(slot_at(block, static_cast<unsigned>(lane)));
            });
        }
        const BlockIndex block = window.blocks()[at];
        for (Mask rest = window.masks()[at]; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            if (!table_.is_vacated(slot)) {
                tell(table_.entity(slot));
            } else if (const Displaced& gone = table_.displaced_from(slot);
                       with_gone && !gone.silent && !is_mixed(gone.entity)) {
                visit(gone.entity);  // despawned since the last tick, and not told yet
            }
        }
    }
    const auto tell_beside = [&](EntityId unit) {
        if (x_holds(o, unit) && !in_window(o, unit)) tell(unit);
    };
    if (sees_all(observer)) return for_each_unit(tell_beside);
    for_each_open_unit(tell_beside);
    const bool is_any_open = open_count_ > 0 || shown_count_ > 0;
    const auto is_open = [&](EntityId unit) {
        if (!is_any_open) return false;
        const Slot slot = table_.slot_of(unit);
        return slot != no_slot && has_open_flag(slot);
    };
    for (std::size_t i = 0; i < observer.rows.size(); ++i) {
        const SourceRow at = observer.rows[i];
        if (program_.rows[at.source].pulled) continue;
        const Row& row = rows_[at.source].row(at.row);
        for (std::size_t lane = 0; lane < row.members.size(); ++lane) {
            const EntityId unit = row.members[lane];
            if (row.live[lane] == 0 || is_open(unit)) continue;
            if (in_window(o, unit) || !x_holds(o, unit)) continue;
            bool told = false;  // by an earlier row
            for (std::size_t e = 0; e < i && !told; ++e) {
                const SourceRow earlier = observer.rows[e];
                if (program_.rows[earlier.source].pulled) continue;
                const RowStore& store = rows_[earlier.source];
                for (const auto m : store.memberships(unit))
                    told |= m.row == earlier.row && store.is_live(m);
            }
            if (!told) tell(unit);
        }
    }
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) {
        if (!is_open(unit) && !in_rows(o, unit)) tell_beside(unit);
    });
}

}  // namespace purview
