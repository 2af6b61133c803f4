// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/entity_lookup.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "core/prefetch.hpp"
#include "spatial/move.hpp"

namespace purview {

bool EntityLookup::is_known(EntityId entity) const noexcept {
    return table_.slot_of(entity) != no_slot || is_member(entity);
}

bool EntityLookup::is_split_kind(EntityId entity) const noexcept {
    const KindRules* kind = rules_of_kind(entity);
    return kind != nullptr && kind->culled_independently;
}

EntityId EntityLookup::parent_of(EntityId entity) const noexcept {
    if (!is_member(entity)) return splits_.parent_of(entity);
    return groups_.parent_of(entity);
}

/// Returns the root of the whole group.
EntityId EntityLookup::top_of(EntityId entity) const noexcept {
    EntityId unit = unit_of(entity);
    for (EntityId above = splits_.parent_of(unit); above != EntityId::none;
         above = splits_.parent_of(unit))
        unit = unit_of(above);
    return unit;
}

/// Returns whether the entity is `top` or below it. Searches the whole group, not only the cull
/// group.
bool EntityLookup::is_under(EntityId entity, EntityId top) const noexcept {
    while (entity != top && entity != EntityId::none) entity = parent_of(entity);
    return entity == top;
}

/// Returns whether the group of this cull group is partly split, or was so earlier in this tick.
bool EntityLookup::is_split_group_unit(EntityId unit) const noexcept {
    if (split_queue_.is_released(unit)) return true;
    if (!splits_.any() || table_.slot_of(unit) == no_slot) return false;
    if (splits_.parent_of(unit) != EntityId::none || !splits_.below(unit).empty()) return true;
    const std::span<const EntityId> members = groups_.members_of(unit);
    return std::any_of(members.begin(), members.end(),
                       [&](EntityId member) { return !splits_.below(member).empty(); });
}

Key EntityLookup::key_of(EntityId entity, std::size_t domain) const noexcept {
    const Slot slot = table_.slot_of(entity);
    if (slot != no_slot) return table_.key(static_cast<std::uint32_t>(domain), slot);
    const GroupStore::Keys* its = groups_.keys_of(entity);
    return its == nullptr ? Key::none : (*its)[domain];
}

Vec3 EntityLookup::position_of(EntityId entity) const noexcept {
    const Slot slot = table_.slot_of(unit_of(entity));
    if (slot == no_slot || !table_.will_be_positioned(slot)) return {};
    return exchanged(facts_table_.axes, table_.position(slot));
}

std::span<const NodeId> EntityLookup::nodes_of(EntityId entity) const noexcept {
    if (table_.slot_of(entity) == no_slot) return {};
    return facts_table_.bindings.nodes_of(entity);
}

bool EntityLookup::has_flag(EntityId entity, FlagId flag) const noexcept {
    const Slot slot = table_.slot_of(unit_of(entity));
    return slot != no_slot && index_of(flag) < rules_.flag_names.size() &&
           table_.flag(index_of(flag), slot);
}

Key EntityLookup::key_of(EntityId entity, KeyId domain) const noexcept {
    if (!is_known(entity) || index_of(domain) >= rules_.key_names.size()) return Key::none;
    return key_of(entity, std::size_t{index_of(domain)});
}

float EntityLookup::value_of(EntityId entity, ValueId value) const noexcept {
    const Slot slot = table_.slot_of(unit_of(entity));
    return slot == no_slot || index_of(value) >= rules_.value_names.size()
               ? 0
               : table_.number(index_of(value), slot);
}

ObserverId EntityLookup::owner_of(EntityId entity) const noexcept {
    const ObserverId owner = ownership_.owner_of(entity);
    return observers_.is_live(owner) ? owner : ObserverId::none;
}

KindId EntityLookup::kind_of(EntityId entity) const noexcept {
    return is_known(entity) ? kinds_.of(index_of(entity)) : KindId::none;
}

/// Returns whether a group, a position source or dormancy sets the entity's position in the table,
/// not `move`.
bool EntityLookup::is_routed(EntityId entity) const noexcept {
    return is_member(entity) || position_sources_.contains(entity) || dormant_.contains(entity);
}

bool EntityLookup::stands_with(EntityId entity, EntityId unit) const noexcept {
    // Groups may join chains of sources into longer ones.
    const std::size_t hops_max = position_sources_.size();
    for (std::size_t hops = 0; hops <= hops_max && entity != EntityId::none; ++hops) {
        if (unit_of(entity) == unit) return true;
        const PositionSource* next = position_sources_.find(unit_of(entity));
        entity = next == nullptr ? EntityId::none : next->other;
    }
    return false;
}

}  // namespace purview
