// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/attribute_edits.hpp"

#include <algorithm>
#include <cmath>

#include "core/finite.hpp"
#include "purview/status.hpp"

namespace purview {

Status AttributeEdits::set_flag(EntityId entity, FlagId flag, bool value) {
    if (index_of(flag) >= rules_.flag_names.size()) return Status::bad_argument;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.flag(index_of(flag), slot) == value) return Status::ok;
    edits_.edit_unit(entity, [&] {
        table_.set_flag(index_of(flag), slot, value);
        membership_.update_rows(entity);
    });
    return Status::ok;
}

Status AttributeEdits::set_key(EntityId entity, KeyId domain, Key key) {
    if (index_of(domain) >= rules_.key_names.size()) return Status::bad_argument;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    if (lookup_.key_of(entity, index_of(domain)) == key) return Status::ok;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) {
        groups_.set_key(entity, index_of(domain), key);
    } else {
        edits_.edit_unit(entity, [&] {
            table_.set_key(index_of(domain), slot, key);
            membership_.update_rows(entity);
        });
    }
    observer_edits_.update_observers_of_main(entity);
    return Status::ok;
}

Status AttributeEdits::edit_more_keys(EntityId entity, KeyId domain, Key key, bool adds) {
    if (index_of(domain) >= rules_.key_names.size() || key == Key::none)
        return Status::bad_argument;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    MoreKeys& keys = facts_table_.more_keys;
    const auto edit = [&] {
        if (adds) {
            (void)keys.add(index_of(entity), domain, key);
            return true;
        }
        return keys.remove(index_of(entity), domain, key) >= 0;
    };
    bool is_edited = false;
    if (lookup_.is_member(entity)) {
        is_edited = edit();
    } else {
        PURVIEW_ASSERT(table_.flag(facts_table_.columns.more_keys, table_.slot_of(entity)) ==
                       !keys.of(index_of(entity)).empty());
        edits_.edit_unit(entity, [&] {
            is_edited = edit();
            if (!is_edited) return;
            table_.set_flag(facts_table_.columns.more_keys, table_.slot_of(entity),
                            !keys.of(index_of(entity)).empty());
            membership_.update_rows(entity);
        });
    }
    if (!is_edited) return Status::not_found;
    observer_edits_.update_observers_of_main(entity);
    return Status::ok;
}

Status AttributeEdits::set_value(EntityId entity, ValueId value, float number) {
    if (index_of(value) >= rules_.value_names.size()) return Status::bad_argument;
    if (!std::isfinite(number)) return Status::bad_position;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.number(index_of(value), slot) == number) return Status::ok;
    edits_.edit_unit(entity, [&] {
        table_.set_number(index_of(value), slot, number);
        membership_.update_rows(entity);
    });
    return Status::ok;
}

Status AttributeEdits::set_range(EntityId entity, float range) {
    const auto& classes = rules_.range_classes;
    if (!(range >= 0) || range > (classes.empty() ? 0 : classes.back()))
        return Status::bad_argument;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::refused;
    table_.set_number(facts_table_.columns.range, slot, range);
    if (table_.will_be_positioned(slot)) table_.change_layer(entity, positions_.layer_of(entity));
    return Status::ok;
}

Status AttributeEdits::set_group_radius(EntityId entity, float radius) {
    const KindRules* kind = lookup_.rules_of_kind(entity);
    if (!(radius >= 0) || !std::isfinite(radius)) return Status::bad_argument;
    if (!lookup_.is_known(entity)) return Status::stale_id;
    if (kind == nullptr || !kind->uses_group_radius) return Status::bad_argument;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::refused;
    positions_.write_bounds(slot, std::min(radius, rules_.group_radius_max));
    if (table_.will_be_positioned(slot)) table_.change_layer(entity, layers_.bounds);
    return Status::ok;
}

Status AttributeEdits::set_velocity(EntityId entity, Vec3 velocity) {
    if (!lookup_.is_known(entity)) return Status::stale_id;
    if (!is_finite(velocity)) return Status::bad_position;
    auto& all = facts_table_.velocities;
    if (all.size() <= index_of(entity)) all.resize(index_of(entity) + 1 + index_of(entity) / 8);
    all[index_of(entity)] = lookup_.inner(velocity);
    return Status::ok;
}

}  // namespace purview
