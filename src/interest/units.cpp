// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups as interest sees them: one unit with one slot, and members that are judged with it.
#include <algorithm>
#include <cmath>

#include "interest/interest_data.hpp"

namespace purview {

/// What each observer has of a unit right now; by observer index.
std::vector<std::uint8_t> InterestData::who_has(EntityId unit) const {
    std::vector<std::uint8_t> has(observers_.size());
    for (std::uint32_t o = 0; o < observers_.size(); ++o) has[o] = is_seen(o, unit) ? 1 : 0;
    return has;
}

/// The entity went from one unit to another: what that means for everybody.
void InterestData::log_change(EntityId entity, const std::vector<std::uint8_t>& before,
                              const std::vector<std::uint8_t>& after) {
    for (std::uint32_t o = 0; o < before.size(); ++o) {
        if (before[o] == after[o]) continue;
        log_fact(o, entity, after[o] != 0);
    }
}

/// A unit stops being one: no row, no pair, no slot; observers are told by whoever calls.
void InterestData::dissolve_unit(EntityId unit) {
    drop_rows(unit);
    drop_pairs(unit);
    drop_override(unit);
    dormant_.erase(index_of(unit));
    if (def_.rules.min_stay_ticks > 0) {  // its stays end with it
        if (hidden_at_.size() <= index_of(unit)) hidden_at_.resize(index_of(unit) + 1, 0);
        hidden_at_[index_of(unit)] = tick_ + 1;
    }
    const Slot slot = table_.slot_of(unit);
    const Columns& columns = facts_table_.columns;
    shown_count_ -= table_.flag(columns.shown, slot) ? 1 : 0;
    shown_count_ -= table_.flag(columns.global_mode, slot) ? 1 : 0;
    open_count_ -= table_.flag(columns.open, slot) ? 1 : 0;
    no_window_count_ -= table_.flag(columns.no_window, slot) ? 1 : 0;
    table_.remove(slot, true);
}

std::vector<EntityId>& InterestData::members_of(EntityId root) {
    if (const std::uint32_t* list = members_list_.find(index_of(root))) return members_[*list];
    if (free_members_.empty()) {
        free_members_.push_back(static_cast<std::uint32_t>(members_.size()));
        members_.emplace_back();
    }
    members_list_[index_of(root)] = free_members_.back();
    free_members_.pop_back();
    return members_[members_list_[index_of(root)]];
}

void InterestData::drop_members_list(EntityId root) {
    if (const std::uint32_t* list = members_list_.find(index_of(root))) {
        members_[*list].clear();
        free_members_.push_back(*list);
        members_list_.erase(index_of(root));
    }
}

void InterestData::leave_group(EntityId member, EntityId root) {
    auto& members = members_of(root);
    members.erase(std::find(members.begin(), members.end(), member));
    if (members.empty()) drop_members_list(root);
    unit_of_member_.erase(index_of(member));
    member_ids_.erase(index_of(member));
}

Status InterestData::join_unit(EntityId member, EntityId root) {
    if (!is_known(member) || table_.slot_of(root) == no_slot) return Status::stale_id;
    if (member == root) return Status::bad_argument;
    const EntityId old_unit = unit_of(member);
    if (old_unit == root) {  // moved within its group: behind its new parent
        auto& members = members_of(root);
        members.erase(std::find(members.begin(), members.end(), member));
        members.push_back(member);
        return Status::ok;
    }
    std::vector<EntityId> moving{member};
    const auto before = who_has(old_unit);
    if (old_unit == member) {
        if (const std::uint32_t* list = members_list_.find(index_of(member)))
            moving.insert(moving.end(), members_[*list].begin(), members_[*list].end());
        drop_members_list(member);
        dissolve_unit(member);
    } else {
        leave_group(member, old_unit);
        if (const ObserverId* owner = owners_.find(index_of(member))) {
            edit_unit(old_unit, [&] { add_owned(old_unit, member, *owner, -1); });
        }
    }
    for (const EntityId entity : moving) {
        if (const ObserverId* owner = owners_.find(index_of(entity))) {
            edit_unit(root, [&] { add_owned(root, entity, *owner, +1); });
        }
    }
    const auto after = who_has(root);
    for (const EntityId entity : moving) {
        members_of(root).push_back(entity);
        unit_of_member_[index_of(entity)] = root;
        member_ids_[index_of(entity)] = entity;
        log_change(entity, before, after);
    }
    // Only now: what this changes is told of all members.
    for (const EntityId entity : moving) update_observers_of_main(entity);
    return Status::ok;
}

Status InterestData::leave_unit(EntityId member, const EntityDef& def) {
    if (!is_member(member)) return is_known(member) ? Status::not_found : Status::stale_id;
    if (const Status status = check_def(def); status != Status::ok) return status;
    const EntityId root = unit_of(member);
    const auto before = who_has(root);
    leave_group(member, root);
    const ObserverId* owner = owners_.find(index_of(member));
    if (owner != nullptr) edit_unit(root, [&] { add_owned(root, member, *owner, -1); });
    set_kind(member, def.kind);
    place_unit(member, def);
    if (owner != nullptr) add_owned(member, member, *owner, +1);
    log_change(member, before, who_has(member));
    update_observers_of_main(member);
    return Status::ok;
}

}  // namespace purview
