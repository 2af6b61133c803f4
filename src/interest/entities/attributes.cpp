// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is said of an entity: flags, keys, values, ranges, owners. Whatever may change X runs inside
// edit_unit.
#include <algorithm>
#include <cmath>

#include "interest/edits.hpp"

namespace purview {

Status InterestData::set_flag(EntityId entity, FlagId flag, bool value) {
    if (index_of(flag) >= rules_.flag_names.size()) return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.flag(index_of(flag), slot) == value) return Status::ok;
    edit_unit(entity, [&] {
        table_.set_flag(index_of(flag), slot, value);
        update_rows(entity);
    });
    return Status::ok;
}

Status InterestData::set_key(EntityId entity, KeyId domain, Key key) {
    if (index_of(domain) >= rules_.key_names.size()) return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    if (key_of(entity, index_of(domain)) == key) return Status::ok;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) {
        groups_.set_key(entity, index_of(domain), key);
    } else {
        edit_unit(entity, [&] {
            table_.set_key(index_of(domain), slot, key);
            update_rows(entity);
        });
    }
    update_observers_of_main(entity);
    return Status::ok;
}

Status InterestData::edit_more_keys(EntityId entity, KeyId domain, Key key, bool adds) {
    if (index_of(domain) >= rules_.key_names.size() || key == Key::none)
        return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    MoreKeys& keys = facts_table_.more_keys;
    const auto edit = [&] {
        if (adds) {
            (void)keys.add(index_of(entity), domain, key);
            return true;
        }
        return keys.remove(index_of(entity), domain, key) >= 0;
    };
    bool is_edited = false;
    if (is_member(entity)) {
        is_edited = edit();
    } else {
        PURVIEW_ASSERT(table_.flag(facts_table_.columns.more_keys, table_.slot_of(entity)) ==
                       !keys.of(index_of(entity)).empty());
        edit_unit(entity, [&] {
            is_edited = edit();
            if (!is_edited) return;
            table_.set_flag(facts_table_.columns.more_keys, table_.slot_of(entity),
                            !keys.of(index_of(entity)).empty());
            update_rows(entity);
        });
    }
    if (!is_edited) return Status::not_found;
    update_observers_of_main(entity);
    return Status::ok;
}

Status InterestData::set_value(EntityId entity, ValueId value, float number) {
    if (index_of(value) >= rules_.value_names.size()) return Status::bad_argument;
    if (!std::isfinite(number)) return Status::bad_position;
    if (!is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.number(index_of(value), slot) == number) return Status::ok;
    edit_unit(entity, [&] {
        table_.set_number(index_of(value), slot, number);
        update_rows(entity);
    });
    return Status::ok;
}

Status InterestData::set_range(EntityId entity, float range) {
    const auto& classes = rules_.range_classes;
    if (!(range >= 0) || range > (classes.empty() ? 0 : classes.back()))
        return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::refused;
    table_.set_number(facts_table_.columns.range, slot, range);
    if (table_.will_be_positioned(slot)) table_.change_layer(entity, layer_of(entity));
    return Status::ok;
}

Status InterestData::set_group_radius(EntityId entity, float radius) {
    const KindRules* kind = rules_of_kind(entity);
    if (!(radius >= 0) || !std::isfinite(radius)) return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    if (kind == nullptr || !kind->uses_group_radius) return Status::bad_argument;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::refused;
    write_bounds(slot, std::min(radius, rules_.group_radius_max));
    if (table_.will_be_positioned(slot)) table_.change_layer(entity, bounds_layer_);
    return Status::ok;
}

Status InterestData::set_velocity(EntityId entity, Vec3 velocity) {
    if (!is_known(entity)) return Status::stale_id;
    if (!is_finite(velocity)) return Status::bad_position;
    auto& all = facts_table_.velocities;
    if (all.size() <= index_of(entity)) all.resize(index_of(entity) + 1 + index_of(entity) / 8);
    all[index_of(entity)] = inner(velocity);
    return Status::ok;
}

Status InterestData::set_mode(EntityId entity, EntityMode mode) {
    if (is_member(entity)) return mark_mode(entity, mode);
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    const Columns& columns = facts_table_.columns;
    edit_unit(entity, [&] {
        const bool is_global = mode == EntityMode::global;
        if (table_.flag(columns.global_mode, slot) != is_global) {
            PURVIEW_ASSERT(is_global || shown_count_ > 0);
            shown_count_ += is_global ? 1 : static_cast<std::uint32_t>(-1);
            table_.set_flag(columns.global_mode, slot, is_global);
        }
        table_.set_flag(columns.explicit_only, slot, mode == EntityMode::explicit_only);
        update_no_window(entity);
    });
    return Status::ok;
}

void InterestData::add_owned(EntityId unit, EntityId owned, ObserverId owner, int delta) {
    if (!is_observer(owner)) return;
    const bool is_blind = ownership_.is_blind(owned);
    PairEntry& pair = pairs_.edit(index_of(owner), unit);
    std::uint16_t& count = is_blind ? pair.owned_blind : pair.owned;
    PURVIEW_ASSERT(delta > 0 || count > 0);
    count = static_cast<std::uint16_t>(count + delta);
    pairs_.settle(index_of(owner), unit);
    if (program_.needs_owned) observers_.must_scan(index_of(owner));
}

Status InterestData::set_owner(EntityId entity, ObserverId owner) {
    if (!is_known(entity)) return Status::stale_id;
    if (owner != ObserverId::none && !is_observer(owner)) return Status::stale_id;
    const EntityId unit = unit_of(entity);
    const ObserverId old = ownership_.owner_of(entity);
    if (old == owner) return Status::ok;
    const auto edit_of = [&](ObserverId one, const auto& edit) {
        if (!is_observer(one)) return edit();
        const std::uint32_t o = index_of(one);
        if (has_cuts(unit) || is_mixed(unit)) return edit_group_of(o, unit, edit);
        // All of it is seen, or none: members need not be asked.
        ++pairs_asked;
        const bool before = x_holds(o, unit);
        edit();
        note_hide(unit);
        note(o, unit, before, x_holds(o, unit));
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
Status InterestData::mark(EntityId entity, bool MemberMarks::*of_member, std::uint32_t column,
                          bool value, Edit&& also) {
    if (is_member(entity)) return mark_member(entity, of_member, value);
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    if (table_.flag(column, slot) == value) return Status::ok;
    edit_unit(entity, [&] {
        table_.set_flag(column, slot, value);
        also();
    });
    return Status::ok;
}

Status InterestData::force_hide(EntityId entity, bool hidden) {
    return mark(entity, &MemberMarks::force_hidden, facts_table_.columns.force_hidden, hidden,
                [&] { update_no_window(entity); });
}

Status InterestData::show_to_all(EntityId entity, bool shown) {
    return mark(entity, &MemberMarks::shown, facts_table_.columns.shown, shown, [&] {
        PURVIEW_ASSERT(shown || shown_count_ > 0);
        shown_count_ += shown ? 1 : static_cast<std::uint32_t>(-1);
    });
}

}  // namespace purview
