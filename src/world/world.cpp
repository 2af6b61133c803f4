// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/world.hpp"

#include "world/world_data.hpp"

namespace purview {

World::World(std::unique_ptr<WorldData> data) noexcept : data_(std::move(data)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

Result<World> World::create(const WorldDef& def) {
    if (def.schema == nullptr || !def.schema->problem().empty()) {
        return Status::bad_configuration;
    }
    if (def.entities_max == 0 || def.group_members_max == 0) return Status::bad_configuration;
    return World(std::make_unique<WorldData>(def));
}

const Schema& World::schema() const noexcept {
    return data_->entities.schema();
}
EntityId World::spawn(const SpawnDef& def) {
    const Result<EntityId> made = data_->spawn(def);
    PURVIEW_ASSERT(made.error() != Status::bad_argument);  // no such kind
    PURVIEW_ASSERT(made.error() != Status::bad_position);
    PURVIEW_ASSERT(made.error() != Status::duplicate);  // def.id is not free
    return made ? *made : EntityId::none;
}
Result<EntityId> World::spawn_group(std::span<const GroupPart> parts, Vec3 position,
                                    std::vector<EntityId>* members) {
    std::vector<EntityId> made;
    const Status status = data_->spawn_group(parts, position, made);
    if (members != nullptr) *members = made;
    if (status != Status::ok) return status;
    return made.front();
}
Status World::despawn(EntityId entity) {
    return data_->despawn(entity);
}
Status World::despawn_group(EntityId entity) {
    return data_->despawn_group(entity);
}
bool World::is_alive(EntityId entity) const noexcept {
    return data_->entities.is_alive(entity);
}
std::uint32_t World::entity_count() const noexcept {
    return data_->entities.count();
}

KindId World::kind_of(EntityId entity) const noexcept {
    PURVIEW_ASSERT(is_alive(entity));
    return is_alive(entity) ? data_->entities.kind_at(index_of(entity)) : KindId::none;
}

std::uint64_t World::user_data(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->user_data.get(entity) : 0;
}

Status World::set_user_data(EntityId entity, std::uint64_t user_data) {
    if (!is_alive(entity)) return Status::stale_id;
    data_->user_data.set(entity, user_data);
    return Status::ok;
}

Status World::move(EntityId entity, Vec3 position) {
    return data_->positions.move(entity, position);
}

Vec3 World::position_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->positions.position_now(index_of(entity)) : Vec3{};
}

const void* World::read(EntityId entity, ComponentId component) const noexcept {
    if (!is_alive(entity) || index_of(component) >= schema().components().size()) return nullptr;
    if (!data_->entities.has(index_of(entity), component)) return nullptr;
    return std::as_const(*data_).components.component_at(index_of(entity), component);
}

void* World::write(EntityId entity, ComponentId component) noexcept {
    if (read(entity, component) == nullptr) return nullptr;
    data_->components.mark_dirty(index_of(entity), component);
    return data_->components.component_at(index_of(entity), component);
}

Status World::attach(EntityId child, EntityId parent, OwnerPolicy owner) {
    return data_->attach(child, parent, owner);
}
Status World::detach(EntityId child) {
    return data_->detach(child);
}

EntityId World::parent_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->groups.parent_at(index_of(entity)) : EntityId::none;
}

Status World::set_group_enabled(EntityId entity, bool enabled) {
    return data_->set_group_enabled(entity, enabled);
}

bool World::is_group_enabled(EntityId entity) const noexcept {
    return is_alive(entity) && data_->groups.is_enabled(index_of(entity));
}

EntityId World::group_parent_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->groups.group_parent_at(index_of(entity)) : EntityId::none;
}

std::span<const GroupEvent> World::group_events() const noexcept {
    return data_->groups.events();
}

Vec3 World::local_position_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->positions.local_position_at(index_of(entity)) : Vec3{};
}

Rotation World::orientation_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->positions.orientation_now(index_of(entity)) : Rotation{};
}

Status World::set_local_position(EntityId entity, Vec3 position) {
    return data_->positions.set_local_position(entity, position);
}

EntityId World::root_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->groups.root_at(index_of(entity)) : EntityId::none;
}

std::span<const EntityId> World::children_of(EntityId entity) const noexcept {
    if (!is_alive(entity)) return {};
    return data_->groups.children_at(index_of(entity));
}

void World::members_of(EntityId entity, std::vector<EntityId>& out) const {
    out.clear();
    if (!is_alive(entity)) return;
    data_->groups.for_each_in_group(index_of(data_->groups.root_at(index_of(entity))),
                                    [&](EntityId member) { out.push_back(member); });
}

Status World::set_owner(EntityId entity, ObserverId owner) {
    return data_->groups.set_owner(entity, owner);
}

ObserverId World::owner_of(EntityId entity) const noexcept {
    return is_alive(entity) ? data_->entities.owner_at(index_of(entity)) : ObserverId::none;
}

std::uint32_t World::index_end() const noexcept {
    return data_->entities.index_end();
}
EntityId World::at_index(std::uint32_t index) const noexcept {
    return data_->entities.at_index(index);
}

}  // namespace purview
