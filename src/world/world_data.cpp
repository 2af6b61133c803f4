// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/world_data.hpp"

#include "core/finite.hpp"
#include "core/validate.hpp"

namespace purview {

WorldData::WorldData(const WorldDef& def)
    : entities(*def.schema, def.entities_max),
      components(entities),
      groups(entities, log, relation_work, {def.group_members_max, def.group_depth_max}),
      summary(entities, groups, log),
      positions(entities, components, groups, relation_work),
      bounds(entities, components, groups, positions, log),
      attributes(entities, components, summary) {}

Result<EntityId> WorldData::spawn(const SpawnDef& def) {
    if (index_of(def.kind) >= entities.schema().kinds().size()) return Status::bad_argument;
    if (!is_finite(def.position)) return Status::bad_position;
    if (def.id != EntityId::none && !entities.is_free(def.id)) return Status::duplicate;
    const EntityId entity = entities.add(def.kind, def.id);
    if (entity == EntityId::none) return Status::capacity;
    const std::uint32_t index = index_of(entity);
    groups.add(entity);
    summary.add(index);
    attributes.add(index);
    components.add(index, def.position);
    positions.add(index, def.position);
    log.add({WorldOp::Type::spawn, entity, entity});
    if (def.user_data != 0) user_data.set(entity, def.user_data);
    if (def.owner != ObserverId::none) (void)groups.set_owner(entity, def.owner);
    return entity;
}

Status WorldData::despawn(EntityId entity) {
    if (!entities.is_alive(entity)) return Status::stale_id;
    for (auto children = groups.children_at(index_of(entity)); !children.empty();
         children = groups.children_at(index_of(entity)))
        (void)detach(children.back());
    groups.remove(entity);
    log.add({WorldOp::Type::despawn, entity, entity});
    entities.remove(entity);
    PURVIEW_ASSERT(!entities.is_alive(entity));
    return Status::ok;
}

Status WorldData::spawn_group(std::span<const GroupPart> parts, Vec3 position,
                              std::vector<EntityId>& out) {
    out.clear();
    if (parts.empty()) return Status::bad_argument;
    std::vector<Vec3> positions_of_parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const GroupPart& part = parts[p];
        if (index_of(part.kind) >= entities.schema().kinds().size() || (p > 0 && part.parent >= p))
            return Status::bad_argument;
        const Vec3 from = p == 0 ? position : positions_of_parts[part.parent];
        positions_of_parts.push_back(
            {from.x + part.offset.x, from.y + part.offset.y, from.z + part.offset.z});
        if (!is_finite(positions_of_parts.back())) return Status::bad_position;
    }
    Status status = Status::ok;
    for (std::size_t p = 0; p < parts.size() && status == Status::ok; ++p) {
        const auto made = spawn({.kind = parts[p].kind, .position = positions_of_parts[p]});
        status = made.error();
        if (!made) break;
        out.push_back(*made);
        if (p > 0) status = attach(*made, out[parts[p].parent], parts[p].owner);
    }
    PURVIEW_ASSERT(status != Status::ok || out.size() == parts.size());
    if (status == Status::ok) return status;
    for (; !out.empty(); out.pop_back()) (void)despawn(out.back());
    return status;
}

Status WorldData::despawn_group(EntityId entity) {
    if (!entities.is_alive(entity)) return Status::stale_id;
    // Parents before their descendants, at any depth.
    std::vector<EntityId> removed{entity};
    for (std::size_t i = 0; i < removed.size(); ++i) {
        const auto children = groups.children_at(index_of(removed[i]));
        removed.insert(removed.end(), children.begin(), children.end());
    }
    for (; !removed.empty(); removed.pop_back()) (void)despawn(removed.back());
    PURVIEW_ASSERT(!entities.is_alive(entity));
    return Status::ok;
}

Status WorldData::attach(EntityId child, EntityId parent, OwnerPolicy policy) {
    if (const Status status = groups.check_attach(child, parent); status != Status::ok)
        return status;
    const std::uint32_t index = index_of(child);
    if (groups.parent_at(index) == parent) return Status::ok;
    positions.bring_along(index);
    groups.attach(child, parent, policy);
    positions.keep(index);
    return Status::ok;
}

Status WorldData::detach(EntityId child) {
    if (!entities.is_alive(child)) return Status::stale_id;
    const std::uint32_t index = index_of(child);
    if (groups.parent_at(index) == EntityId::none) return Status::not_found;
    positions.bring_along(index);
    groups.detach(child);
    positions.keep(index);
    return Status::ok;
}

Status WorldData::set_group_enabled(EntityId entity, bool enabled) {
    if (!entities.is_alive(entity)) return Status::stale_id;
    const std::uint32_t index = index_of(entity);
    if (groups.is_enabled(index) == enabled) return Status::ok;
    positions.bring_along(index);
    for (const EntityId child : groups.children_at(index)) positions.bring_along(index_of(child));
    const Status status = groups.set_enabled(index, enabled);
    if (status != Status::ok || !entities.kind_def_at(index).in_groups) return status;
    positions.keep(index);
    for (const EntityId child : groups.children_at(index)) positions.keep(index_of(child));
    return Status::ok;
}

void WorldData::settle(bool fresh) {
    const WordRange written = components.take_fresh_words();
    const WordRange among = fresh ? written : components.all_words();
    positions.settle(among, bounds.is_needed());
    bounds.settle();
    attributes.settle(among);
}

void WorldData::clear_changes() {
    groups.end_tick();
    log.clear();
    summary.clear();
    bounds.clear();
    attributes.clear_changes();
    components.clear_dirty();
    entities.recycle();
    PURVIEW_VALIDATE(entities);
    PURVIEW_VALIDATE(components);
    PURVIEW_VALIDATE(groups);
    PURVIEW_VALIDATE(positions);
    PURVIEW_VALIDATE(attributes);
}

}  // namespace purview
