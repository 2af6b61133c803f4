// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/group_edits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "purview/status.hpp"

namespace purview {

/// Dissolves a cull group: removes its rows, pairs and slot. The caller reports the difference.
void GroupEdits::dissolve_unit(EntityId unit) {
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot && !groups_.has_members(unit));
    // Not for independently culled members.
    PURVIEW_ASSERT(splits_.parent_of(unit) == EntityId::none);
    custom_nodes_.notify_nodes(unit, NodeNotice::Type::removed);
    membership_.drop_rows(unit);
    overrides_.drop_pairs(unit);
    position_sources_.erase(unit);
    dormant_.erase(unit);
    if (explicit_.has_minimum_relevance()) {  // ends the minimum relevance time of its pairs
        minimum_relevance_.note_hidden(unit, tick_ + 1);
    }
    const Slot slot = table_.slot_of(unit);
    const Columns& columns = facts_table_.columns;
    counts_.shown -= table_.flag(columns.shown, slot) ? 1 : 0;
    counts_.shown -= table_.flag(columns.global_mode, slot) ? 1 : 0;
    counts_.shown -= table_.flag(columns.shown_by_members, slot) ? 1 : 0;
    counts_.open -= table_.flag(columns.open, slot) ? 1 : 0;
    counts_.no_window -= table_.flag(columns.no_window, slot) ? 1 : 0;
    counts_.bounded -= table_.flag(columns.bounded, slot) ? 1 : 0;
    table_.remove(slot, true);
    // No count was decremented more often than incremented.
    PURVIEW_ASSERT(std::max(counts_.open, counts_.no_window) <= table_.index_end());
    PURVIEW_ASSERT(counts_.shown <= 3 * table_.index_end() &&
                   counts_.bounded <= table_.index_end());
}

void GroupEdits::leave_group(EntityId member) {
    splits_.reparent(member, groups_.remove(member));
}

/// Dissolves a cull group that becomes a member. Keeps its flags as marks of the member, and keeps
/// its allowed and denied pairs.
void GroupEdits::dissolve_into_member(EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    const Columns& columns = facts_table_.columns;
    MemberMarks marks;
    marks.force_hidden = table_.flag(columns.force_hidden, slot);
    marks.shown = table_.flag(columns.shown, slot);
    marks.mode = table_.flag(columns.global_mode, slot)     ? EntityMode::global
                 : table_.flag(columns.explicit_only, slot) ? EntityMode::explicit_only
                                                            : EntityMode::nodes;
    groups_.set_marks(unit, marks);
    std::vector<std::pair<std::uint32_t, PairEntry>> overrides;
    pairs_.for_each_of_entity(unit, [&](std::uint32_t o, const PairEntry& pair) {
        if (pair.allow || pair.deny) overrides.emplace_back(o, pair);
    });
    dissolve_unit(unit);
    for (const auto& [o, pair] : overrides) {
        PairEntry& its = pairs_.edit(o, unit);
        for (const PairMark mark : {PairMark::allow, PairMark::deny})
            pairs_.set(its, mark, pair.has(mark));
    }
}

/// Keeps the keys of a cull group that becomes a member. They then apply only to observers that
/// view from it.
void GroupEdits::keep_keys(EntityId unit) {
    GroupStore::Keys keys{};
    for (std::size_t d = 0; d < rules_.key_names.size(); ++d) keys[d] = lookup_.key_of(unit, d);
    if (keys != GroupStore::Keys{}) groups_.set_keys(unit, keys);
}

void GroupEdits::join(EntityId member, EntityId root, EntityId parent) {
    const EntityId old_unit = lookup_.unit_of(member);
    PURVIEW_ASSERT(!moving_.empty() && moving_.front() == member);  // parents come first
    PURVIEW_ASSERT(table_.slot_of(root) != no_slot && old_unit != root);
    const auto own = [&](EntityId unit, EntityId entity, int delta) {
        overrides_.add_owned(unit, entity, ownership_.owner_of(entity), delta);
    };
    if (old_unit == member) {
        for (const EntityId entity : moving_) {
            if (entity != member) overrides_.count_marks(member, entity, -1);
        }
        groups_.drop_list(member);
        keep_keys(member);
        dissolve_into_member(member);
        groups_.forget_unit(member);
    } else {
        overrides_.count_marks(old_unit, member, -1);
        leave_group(member);
        own(old_unit, member, -1);
    }
    for (const EntityId entity : moving_) {
        own(root, entity, +1);
        const EntityId its = entity == member ? EntityId::none : groups_.parent_of(entity);
        groups_.add(entity, root, entity == member ? parent : its != EntityId::none ? its : member);
        overrides_.count_marks(root, entity, +1);
    }
}

Status GroupEdits::join_unit(EntityId member, EntityId root, EntityId parent) {
    if (parent == EntityId::none) parent = root;
    if (!lookup_.is_known(member) || !lookup_.is_known(root)) return Status::stale_id;
    if (table_.slot_of(root) == no_slot) return Status::bad_argument;  // itself a member
    if (lookup_.is_split_kind(member) && !lookup_.is_member(member))
        return split_groups_.join_split(member, root, parent);
    if (member == root || !lookup_.is_known(parent) || lookup_.top_of(parent) != root ||
        lookup_.is_under(parent, member))
        return Status::bad_argument;
    const EntityId unit = lookup_.unit_of(parent);  // root or independently culled member
    const EntityId old_unit = lookup_.unit_of(member);
    if (old_unit == unit) {  // moves within its cull group, after its new parent
        const auto move = [&] {
            groups_.move_within(member, parent,
                                [&](EntityId one) { return lookup_.is_under(one, member); });
        };
        if (lookup_.has_cuts(unit) || lookup_.is_split_group(unit)) {
            edits_.edit_groups({unit}, move);
        } else {
            move();
        }
        return Status::ok;
    }
    moving_.assign(1, member);
    bool is_plain = !lookup_.has_cuts(unit) && !lookup_.has_cuts(old_unit) &&
                    !lookup_.is_split_group(unit) && !lookup_.is_split_group(old_unit);
    if (old_unit == member) {
        const std::span<const EntityId> below = groups_.members_of(member);
        moving_.insert(moving_.end(), below.begin(), below.end());
    }
    constexpr std::size_t members_most = 65'535;  // per-group counts have 16 bits
    if (groups_.members_of(unit).size() + moving_.size() > members_most) return Status::too_large;
    for (const EntityId entity : moving_) is_plain = is_plain && overrides_.is_plain_member(entity);
    if (is_plain) {  // no other entity is affected
        views_before_.clear();
        edits_.collect_views(moving_, edits_.all_observers(), views_before_);
        join(member, unit, parent);
        edits_.report_views(moving_, edits_.all_observers(), views_before_);
    } else {
        edits_.edit_groups({old_unit, unit}, [&] { join(member, unit, parent); });
    }
    // Last, when the group is complete: the changes are reported for all its members.
    const std::vector<EntityId> moved = moving_;
    for (const EntityId entity : moved) observer_edits_.update_observers_of_main(entity);
    return Status::ok;
}

/// Makes the member a cull group of its own and keeps its overrides.
void GroupEdits::leave(EntityId member, const EntityDef& def) {
    const EntityId root = lookup_.unit_of(member);
    PURVIEW_ASSERT(lookup_.is_member(member));
    overrides_.count_marks(root, member, -1);
    leave_group(member);
    const ObserverId owner = ownership_.owner_of(member);
    overrides_.add_owned(root, member, owner, -1);
    placement_.set_kind(member, def.kind);
    MemberMarks marks;
    if (const MemberMarks* found = groups_.marks_of(member)) marks = *found;
    groups_.forget_member(member);
    const Slot slot = placement_.place_unit(member, def);
    const Columns& columns = facts_table_.columns;
    if (marks.force_hidden) table_.set_flag(columns.force_hidden, slot, true);
    if (marks.shown) {
        table_.set_flag(columns.shown, slot, true);
        ++counts_.shown;
    }
    if (def.mode == EntityMode::nodes) {
        const bool is_global = marks.mode == EntityMode::global;
        if (table_.flag(columns.global_mode, slot) != is_global) {
            PURVIEW_ASSERT(is_global || counts_.shown > 0);
            counts_.shown += is_global ? 1 : static_cast<std::uint32_t>(-1);
            table_.set_flag(columns.global_mode, slot, is_global);
        }
        table_.set_flag(columns.explicit_only, slot, marks.mode == EntityMode::explicit_only);
    }
    overrides_.update_no_window(member);
    overrides_.update_special(member);
    overrides_.add_owned(member, member, owner, +1);
}

Status GroupEdits::leave_unit(EntityId member, const EntityDef& def, bool is_orphan) {
    if (splits_.parent_of(member) != EntityId::none) {
        if (is_orphan) overrides_.keep_hides(member);
        split_groups_.leave_split(member);
        return Status::ok;
    }
    if (!lookup_.is_member(member))
        return lookup_.is_known(member) ? Status::not_found : Status::stale_id;
    if (const Status status = placement_.check_def(def); status != Status::ok) return status;
    if (is_orphan) overrides_.keep_hides(member);
    const EntityId root = lookup_.unit_of(member);
    if (overrides_.is_plain_member(member) && !lookup_.has_cuts(root) &&
        !lookup_.is_split_group(root)) {
        const std::array entities{member};
        views_before_.clear();
        edits_.collect_views(entities, edits_.all_observers(), views_before_);
        leave(member, def);
        edits_.report_views(entities, edits_.all_observers(), views_before_);
    } else {
        edits_.edit_groups({root}, [&] { leave(member, def); });
    }
    observer_edits_.update_observers_of_main(member);
    return Status::ok;
}

/// Drops a member that despawns.
void GroupEdits::forget_member(EntityId member) {
    const EntityId root = lookup_.unit_of(member);
    overrides_.count_marks(root, member, -1);
    overrides_.drop_pairs(member);
    groups_.forget_member(member);
    leave_group(member);
    overrides_.add_owned(root, member, ownership_.owner_of(member), -1);
}

}  // namespace purview
