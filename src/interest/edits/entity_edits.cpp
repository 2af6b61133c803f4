// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/entity_edits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "purview/status.hpp"

namespace purview {

Status EntityEdits::spawn(EntityId entity, const EntityDef& def) {
    if (generation_of(entity) == 0 || index_of(entity) >= entity_index_end)
        return Status::bad_argument;
    if (const Status status = placement_.check_def(def); status != Status::ok) return status;
    if (table_.entity_at(index_of(entity)) != EntityId::none ||
        groups_.is_member_index(index_of(entity))) {
        return Status::duplicate;
    }
    // All state stored by this index was dropped with its previous entity.
    PURVIEW_ASSERT(!pairs_.has_any(entity) && facts_table_.bindings.is_unbound(entity));
    PURVIEW_ASSERT(facts_table_.more_keys.of(index_of(entity)).empty());
    PURVIEW_ASSERT(kinds_.of(index_of(entity)) == KindId::none);
    placement_.set_kind(entity, def.kind);
    edits_.edit_unit(entity, [&] { placement_.place_unit(entity, def); });
    spawned_.add(index_of(entity));
    return Status::ok;
}

/// Drops all state of the entity except that of its cull group.
void EntityEdits::forget_entity(EntityId entity) {
    const std::uint32_t index = index_of(entity);
    PURVIEW_ASSERT(!lookup_.is_known(entity) && !pairs_.has_any(entity));
    ownership_.forget(entity);
    position_sources_.erase(entity);
    dormant_.erase(entity);
    facts_table_.more_keys.clear(index);
    facts_table_.bindings.set_unbound(entity);
    if (index < facts_table_.velocities.size()) facts_table_.velocities[index] = {};
    kinds_.set(index, KindId::none);
}

Status EntityEdits::despawn(EntityId entity) {
    if (lookup_.is_member(entity)) {
        const EntityId root = lookup_.unit_of(entity);
        if (overrides_.is_plain_member(entity) && !lookup_.has_cuts(root) &&
            !lookup_.is_split_group(root)) {
            const std::array entities{entity};
            views_before_.clear();
            edits_.collect_views(entities, edits_.all_observers(), views_before_);
            group_edits_.forget_member(entity);
            edits_.report_views(entities, edits_.all_observers(), views_before_);
        } else {
            edits_.edit_groups({root}, [&] { group_edits_.forget_member(entity); });
        }
        forget_entity(entity);
        observer_edits_.update_observers_of_main(entity);
        return Status::ok;
    }
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    if (groups_.has_members(entity)) return Status::refused;
    if (!splits_.below(entity).empty()) return Status::refused;
    if (splits_.parent_of(entity) != EntityId::none) split_groups_.leave_split(entity);
    if (lookup_.is_split_group(entity)) split_queue_.add_gone(entity);
    custom_nodes_.notify_nodes(entity, NodeNotice::Type::removed);
    edits_.edit_unit(entity, [&] {
        membership_.drop_rows(entity);
        overrides_.drop_pairs(entity);
        const Columns& columns = facts_table_.columns;
        counts_.shown -= table_.flag(columns.shown, slot) ? 1 : 0;
        counts_.shown -= table_.flag(columns.global_mode, slot) ? 1 : 0;
        counts_.shown -= table_.flag(columns.shown_by_members, slot) ? 1 : 0;
        counts_.open -= table_.flag(columns.open, slot) ? 1 : 0;
        counts_.no_window -= table_.flag(columns.no_window, slot) ? 1 : 0;
        groups_.forget_unit(entity);
        counts_.bounded -= table_.flag(columns.bounded, slot) ? 1 : 0;
        table_.remove(slot, false);
    });
    // No count was decremented more often than incremented.
    PURVIEW_ASSERT(std::max(counts_.open, counts_.no_window) <= table_.index_end());
    PURVIEW_ASSERT(counts_.shown <= 3 * table_.index_end() &&
                   counts_.bounded <= table_.index_end());
    forget_entity(entity);
    observer_edits_.update_observers_of_main(entity);
    return Status::ok;
}

}  // namespace purview
