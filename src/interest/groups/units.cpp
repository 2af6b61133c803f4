// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups as interest sees them: one unit with one slot, and members that are judged with it.
#include <algorithm>
#include <array>
#include <cmath>

#include "interest/edits.hpp"

namespace purview {

/// A unit stops being one: no row, no pair, no slot; observers are told by whoever calls.
void InterestData::dissolve_unit(EntityId unit) {
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot && !groups_.has_members(unit));
    PURVIEW_ASSERT(splits_.parent_of(unit) == EntityId::none);  // split members stay units
    notify_nodes(unit, Notice::Type::removed);
    drop_rows(unit);
    drop_pairs(unit);
    position_sources_.erase(unit);
    dormant_.erase(unit);
    if (keeps_stays()) {  // its stays end with it
        minimum_relevance_.note_hidden(unit, tick_ + 1);
    }
    const Slot slot = table_.slot_of(unit);
    const Columns& columns = facts_table_.columns;
    shown_count_ -= table_.flag(columns.shown, slot) ? 1 : 0;
    shown_count_ -= table_.flag(columns.global_mode, slot) ? 1 : 0;
    shown_count_ -= table_.flag(columns.shown_by_members, slot) ? 1 : 0;
    open_count_ -= table_.flag(columns.open, slot) ? 1 : 0;
    no_window_count_ -= table_.flag(columns.no_window, slot) ? 1 : 0;
    bounded_count_ -= table_.flag(columns.bounded, slot) ? 1 : 0;
    table_.remove(slot, true);
    // Nothing was taken from a count that had not been added to it.
    PURVIEW_ASSERT(std::max(open_count_, no_window_count_) <= table_.index_end());
    PURVIEW_ASSERT(shown_count_ <= 3 * table_.index_end() && bounded_count_ <= table_.index_end());
}

void InterestData::leave_group(EntityId member) {
    splits_.rehang(member, groups_.remove(member));
}

// -- who has what of a group ---------------------------------------------------------------------

bool InterestData::is_visible(std::uint32_t o, EntityId entity) const noexcept {
    const EntityId unit = unit_of(entity);
    if (is_mixed(unit)) return views_.of(o, entity).seen;
    if (!is_seen(o, unit)) return false;
    return unit == entity || !has_cuts(unit) || !is_cut(o, unit, entity);
}

void InterestData::collect_views(std::span<const EntityId> who, ObserverRange whose,
                                 std::vector<View>& out) {
    for (std::uint32_t o = whose.begin; o < whose.end; ++o) {
        if (!observers_[o].ready) continue;
        pairs_asked += who.size();
        EntityId unit = EntityId::none;
        bool seen = false;
        for (std::uint32_t i = 0; i < who.size(); ++i) {
            if (!is_known(who[i])) continue;
            if (const EntityId its = unit_of(who[i]); its != unit) {
                unit = its;
                seen = is_seen(o, unit);
            }
            if (seen && (who[i] == unit || !has_cuts(unit) || !is_cut(o, unit, who[i])))
                out.push_back({o, i});
        }
    }
}

/// What observers have now of those whom they had before, and the other way round. Leaves from the
/// last to the first.
void InterestData::tell_views(std::span<const EntityId> who, ObserverRange whose,
                              const std::vector<View>& before) {
    PURVIEW_ASSERT(std::is_sorted(before.begin(), before.end()));  // is_in searches it
    views_after_.clear();
    collect_views(who, whose, views_after_);
    const auto is_in = [](const std::vector<View>& list, const View& one) {
        return std::binary_search(list.begin(), list.end(), one);
    };
    for (std::size_t i = before.size(); i > 0; --i) {
        const View& one = before[i - 1];
        if (!is_in(views_after_, one)) changes_.add(one.observer, who[one.member], false);
    }
    for (const View& one : views_after_) {
        if (!is_in(before, one)) changes_.add(one.observer, who[one.member], true);
    }
}

// -- members that are hidden, and members that show their group ----------------------------------

/// The observer owns the root, or somebody from `top` down; or one of those is allowed or shown.
bool InterestData::has_entry(std::uint32_t o, EntityId unit, EntityId top,
                             bool owners_only) const noexcept {
    const auto owns = [&](EntityId entity) { return ownership_.shows(entity, id_of(o)); };
    if (owns(unit)) return true;
    const std::span<const EntityId> members = groups_.members_of(unit);
    if (members.empty()) return false;
    if (splits_.any() && has_entry_below(o, unit, top, owners_only)) return true;
    for (const EntityId member : members) {
        bool counts = owns(member);
        if (!counts && !owners_only) {
            const PairEntry* pair = pairs_.find(o, member);
            const MemberMarks* marks = groups_.marks_of(member);
            counts = (pair != nullptr && pair->allow) || (marks != nullptr && marks->shows());
        }
        if (counts && groups_.is_below(member, top)) return true;
    }
    return false;
}

/// What hides this one member, and so all below it: denied, force_hidden or explicit_only; node:
/// nothing.
Stage InterestData::cut_of(std::uint32_t o, EntityId unit, EntityId one) const noexcept {
    const PairEntry* pair = pairs_.find(o, one);
    if (pair != nullptr && pair->deny) return Stage::denied;
    const MemberMarks* marks = groups_.marks_of(one);
    if (marks == nullptr || !marks->cuts()) return Stage::node;
    if (marks->force_hidden && !has_entry(o, unit, one, true)) return Stage::force_hidden;
    const bool is_explicit = marks->mode == EntityMode::explicit_only;
    return is_explicit && !has_entry(o, unit, one, false) ? Stage::explicit_only : Stage::node;
}

/// The member or one above it, below the root, that is hidden from the observer; or none.
EntityId InterestData::cut_by(std::uint32_t o, EntityId unit, EntityId member) const noexcept {
    EntityId found = EntityId::none;
    for (EntityId one = member; one != unit;) {
        if (cut_of(o, unit, one) != Stage::node) found = one;
        one = groups_.parent_of(one);
        if (one == EntityId::none) break;
    }
    return found;
}

/// Adds what is said of a member to its unit, or takes it away.
void InterestData::count_marks(EntityId unit, EntityId member, int delta) {
    PURVIEW_ASSERT(member != unit && unit_of(member) == unit);
    int cuts = 0, shows = 0;
    if (const MemberMarks* marks = groups_.marks_of(member)) {
        cuts = marks->cuts() ? 1 : 0;
        shows = marks->shows() ? 1 : 0;
    }
    std::vector<std::uint32_t> allowed;
    pairs_.for_each_of_entity(member, [&](std::uint32_t o, const PairEntry& pair) {
        ++pairs_asked;
        cuts += pair.deny ? 1 : 0;
        if (pair.allow) allowed.push_back(o);
    });
    for (const std::uint32_t o : allowed) add_member_allow(o, unit, delta);
    add_marks(unit, cuts * delta, shows * delta);
}

void InterestData::add_member_allow(std::uint32_t o, EntityId unit, int delta) {
    PairEntry& pair = pairs_.edit(o, unit);
    pair.member_allows = static_cast<std::uint16_t>(pair.member_allows + delta);
    pairs_.settle(o, pair);
}

void InterestData::add_marks(EntityId unit, int cuts, int shows) {
    if (cuts == 0 && shows == 0) return;
    const UnitMarks now = groups_.add_unit_marks(unit, cuts, shows);
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const std::uint32_t column = facts_table_.columns.shown_by_members;
    if (table_.flag(column, slot) == (now.shows > 0)) return;
    PURVIEW_ASSERT(now.shows > 0 || shown_count_ > 0);
    table_.set_flag(column, slot, now.shows > 0);
    shown_count_ += now.shows > 0 ? 1 : static_cast<std::uint32_t>(-1);
}

bool InterestData::is_hidden_by_root(std::uint32_t o, EntityId unit) const noexcept {
    const PairFacts facts = facts_of(o, unit, table_.slot_of(unit));
    return facts.denied || (facts.force_hidden && !facts.owned);
}

Status InterestData::mark_member(EntityId member, bool MemberMarks::*field, bool value) {
    const EntityId unit = unit_of(member);
    const MemberMarks* now = groups_.marks_of(member);
    if ((now != nullptr && now->*field) != value) {
        edit_groups({unit}, [&] {
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

Status InterestData::mark_mode(EntityId member, EntityMode mode) {
    const EntityId unit = unit_of(member);
    const MemberMarks* now = groups_.marks_of(member);
    edit_groups({unit}, [&] {
        count_marks(unit, member, -1);
        MemberMarks marks = now == nullptr ? MemberMarks{} : *now;
        marks.mode = mode;
        groups_.set_marks(member, marks);
        count_marks(unit, member, +1);
    });
    return Status::ok;
}

/// It was not said of the pair before, or was. Nobody is told.
void InterestData::set_member_pair(std::uint32_t o, EntityId member, PairMark mark, bool value) {
    PURVIEW_ASSERT(is_member(member));
    PURVIEW_ASSERT((pairs_.find(o, member) != nullptr && pairs_.find(o, member)->has(mark)) !=
                   value);
    pairs_.set(pairs_.edit(o, member), mark, value);
    pairs_.settle(o, member);
    const int delta = value ? 1 : -1;
    if (mark == PairMark::allow) {
        add_member_allow(o, unit_of(member), delta);
    } else {
        add_marks(unit_of(member), delta, 0);
    }
}

Status InterestData::edit_member_pair(std::uint32_t o, EntityId member, PairMark mark, bool value) {
    const EntityId unit = unit_of(member);
    const PairEntry* now = pairs_.find(o, member);
    if ((now != nullptr && now->has(mark)) != value)
        edit_group_of(o, unit, [&] { set_member_pair(o, member, mark, value); });
    return mark == PairMark::allow && value && is_hidden_by_root(o, unit) ? Status::hidden_by_root
                                                                          : Status::ok;
}

/// Its observer goes: nobody is to be told.
void InterestData::forget_member_pair(std::uint32_t o, EntityId member) {
    for (const PairMark mark : {PairMark::allow, PairMark::deny}) {
        const PairEntry* pair = pairs_.find(o, member);
        if (pair != nullptr && pair->has(mark)) set_member_pair(o, member, mark, false);
    }
}

/// Nothing is said of it that its unit must know.
bool InterestData::is_plain_member(EntityId entity) const noexcept {
    PURVIEW_ASSERT(is_known(entity));
    if (ownership_.owner_of(entity) != ObserverId::none || pairs_.has_any(entity)) return false;
    if (is_member(entity)) return groups_.marks_of(entity) == nullptr;
    const Slot slot = table_.slot_of(entity);
    const Columns& columns = facts_table_.columns;
    return !table_.flag(columns.no_window, slot) && !table_.flag(columns.shown, slot) &&
           !table_.flag(columns.global_mode, slot);
}

// -- joining and leaving --------------------------------------------------------------------------

/// What is said of a unit that becomes a member.
void InterestData::take_marks_along(EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    const Columns& columns = facts_table_.columns;
    MemberMarks marks;
    marks.force_hidden = table_.flag(columns.force_hidden, slot);
    marks.shown = table_.flag(columns.shown, slot);
    marks.mode = table_.flag(columns.global_mode, slot)     ? EntityMode::global
                 : table_.flag(columns.explicit_only, slot) ? EntityMode::explicit_only
                                                            : EntityMode::nodes;
    groups_.set_marks(unit, marks);
    std::vector<std::pair<std::uint32_t, PairEntry>> said;
    pairs_.for_each_of_entity(unit, [&](std::uint32_t o, const PairEntry& pair) {
        if (pair.allow || pair.deny) said.emplace_back(o, pair);
    });
    dissolve_unit(unit);
    for (const auto& [o, pair] : said) {
        PairEntry& its = pairs_.edit(o, unit);
        for (const PairMark mark : {PairMark::allow, PairMark::deny})
            pairs_.set(its, mark, pair.has(mark));
    }
}

/// A unit becomes a member: nobody is judged by its keys now, but who looks out of it has them.
void InterestData::keep_keys(EntityId unit) {
    GroupStore::Keys keys{};
    for (std::size_t d = 0; d < rules_.key_names.size(); ++d) keys[d] = key_of(unit, d);
    if (keys != GroupStore::Keys{}) groups_.set_keys(unit, keys);
}

void InterestData::join(EntityId member, EntityId root, EntityId parent) {
    const EntityId old_unit = unit_of(member);
    PURVIEW_ASSERT(!moving_.empty() && moving_.front() == member);  // parents come first
    PURVIEW_ASSERT(table_.slot_of(root) != no_slot && old_unit != root);
    const auto own = [&](EntityId unit, EntityId entity, int delta) {
        add_owned(unit, entity, ownership_.owner_of(entity), delta);
    };
    if (old_unit == member) {
        for (const EntityId entity : moving_) {
            if (entity != member) count_marks(member, entity, -1);
        }
        groups_.drop_list(member);
        keep_keys(member);
        take_marks_along(member);
        groups_.forget_unit(member);
    } else {
        count_marks(old_unit, member, -1);
        leave_group(member);
        own(old_unit, member, -1);
    }
    for (const EntityId entity : moving_) {
        own(root, entity, +1);
        const EntityId its = entity == member ? EntityId::none : groups_.parent_of(entity);
        groups_.add(entity, root, entity == member ? parent : its != EntityId::none ? its : member);
        count_marks(root, entity, +1);
    }
}

Status InterestData::join_unit(EntityId member, EntityId root, EntityId parent) {
    if (parent == EntityId::none) parent = root;
    if (!is_known(member) || !is_known(root)) return Status::stale_id;
    if (table_.slot_of(root) == no_slot) return Status::bad_argument;  // itself a member
    if (is_split_kind(member) && !is_member(member)) return join_split(member, root, parent);
    if (member == root || !is_known(parent) || top_of(parent) != root || is_under(parent, member))
        return Status::bad_argument;
    const EntityId unit = unit_of(parent);  // the root's, or a split member's
    const EntityId old_unit = unit_of(member);
    if (old_unit == unit) {  // moved within its unit: behind its new parent
        const auto move = [&] {
            groups_.move_within(member, parent,
                                [&](EntityId one) { return is_under(one, member); });
        };
        if (has_cuts(unit) || is_mixed(unit)) {
            edit_groups({unit}, move);
        } else {
            move();
        }
        return Status::ok;
    }
    moving_.assign(1, member);
    bool is_plain =
        !has_cuts(unit) && !has_cuts(old_unit) && !is_mixed(unit) && !is_mixed(old_unit);
    if (old_unit == member) {
        const std::span<const EntityId> below = groups_.members_of(member);
        moving_.insert(moving_.end(), below.begin(), below.end());
    }
    constexpr std::size_t members_most = 65'535;  // what is counted of a group has 16 bits
    if (groups_.members_of(unit).size() + moving_.size() > members_most) return Status::too_large;
    for (const EntityId entity : moving_) is_plain = is_plain && is_plain_member(entity);
    if (is_plain) {  // nobody else is concerned
        views_before_.clear();
        collect_views(moving_, everybody(), views_before_);
        join(member, unit, parent);
        tell_views(moving_, everybody(), views_before_);
    } else {
        edit_groups({old_unit, unit}, [&] { join(member, unit, parent); });
    }
    // Only now: what this changes is told of all members.
    const std::vector<EntityId> moved = moving_;
    for (const EntityId entity : moved) update_observers_of_main(entity);
    return Status::ok;
}

/// A unit of its own, with what was said of it as a member.
void InterestData::leave(EntityId member, const EntityDef& def) {
    const EntityId root = unit_of(member);
    PURVIEW_ASSERT(is_member(member));
    count_marks(root, member, -1);
    leave_group(member);
    const ObserverId owner = ownership_.owner_of(member);
    add_owned(root, member, owner, -1);
    set_kind(member, def.kind);
    MemberMarks marks;
    if (const MemberMarks* said = groups_.marks_of(member)) marks = *said;
    groups_.forget_member(member);
    const Slot slot = place_unit(member, def);
    const Columns& columns = facts_table_.columns;
    if (marks.force_hidden) table_.set_flag(columns.force_hidden, slot, true);
    if (marks.shown) {
        table_.set_flag(columns.shown, slot, true);
        ++shown_count_;
    }
    if (def.mode == EntityMode::nodes) {
        const bool is_global = marks.mode == EntityMode::global;
        if (table_.flag(columns.global_mode, slot) != is_global) {
            PURVIEW_ASSERT(is_global || shown_count_ > 0);
            shown_count_ += is_global ? 1 : static_cast<std::uint32_t>(-1);
            table_.set_flag(columns.global_mode, slot, is_global);
        }
        table_.set_flag(columns.explicit_only, slot, marks.mode == EntityMode::explicit_only);
    }
    update_no_window(member);
    update_special(member);
    add_owned(member, member, owner, +1);
}

/// Marks and denials of the entities above it become its own.
void InterestData::keep_hides(EntityId member) {
    const Columns& columns = facts_table_.columns;
    if (!is_known(member)) return;
    bool is_hidden = false, is_explicit = false;
    std::vector<std::uint32_t> denied;
    for (EntityId above = parent_of(member); above != EntityId::none; above = parent_of(above)) {
        if (is_member(above)) {
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
    const bool is_global = is_member(member)
                               ? groups_.marks_of(member) != nullptr &&
                                     groups_.marks_of(member)->mode == EntityMode::global
                               : table_.flag(columns.global_mode, table_.slot_of(member));
    if (is_explicit && !is_global) (void)set_mode(member, EntityMode::explicit_only);
    for (const std::uint32_t o : denied) (void)edit_pair(id_of(o), member, PairMark::deny, true);
}

Status InterestData::leave_unit(EntityId member, const EntityDef& def, bool is_orphan) {
    if (splits_.parent_of(member) != EntityId::none) {
        if (is_orphan) keep_hides(member);
        leave_split(member);
        return Status::ok;
    }
    if (!is_member(member)) return is_known(member) ? Status::not_found : Status::stale_id;
    if (const Status status = check_def(def); status != Status::ok) return status;
    if (is_orphan) keep_hides(member);
    const EntityId root = unit_of(member);
    if (is_plain_member(member) && !has_cuts(root) && !is_mixed(root)) {
        const std::array who{member};
        views_before_.clear();
        collect_views(who, everybody(), views_before_);
        leave(member, def);
        tell_views(who, everybody(), views_before_);
    } else {
        edit_groups({root}, [&] { leave(member, def); });
    }
    update_observers_of_main(member);
    return Status::ok;
}

/// It is gone.
void InterestData::forget_member(EntityId member) {
    const EntityId root = unit_of(member);
    count_marks(root, member, -1);
    drop_pairs(member);
    groups_.forget_member(member);
    leave_group(member);
    add_owned(root, member, ownership_.owner_of(member), -1);
}

}  // namespace purview
