// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// The entity table: entities with kind, position, component values, parent and owner, and the log
/// of changes since the last tick. Only the thread of the tick may write. The world does not know
/// what is relevant to observers; an owner is only a number here. Errors are listed as "Errors:
/// status (condition)"; stale_id (no such entity) is not repeated. After an error nothing has
/// changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_server
/// @{

/// The configuration of a world.
struct WorldDef {
    /// Not owned; outlives the world and does not change.
    const Schema* schema = nullptr;
    /// Maximum number of entities; at least 1.
    std::uint32_t entities_max = 1U << 20;
    /// Members of one group, its root included; at least 1. A larger group is refused.
    std::uint16_t group_members_max = 64;
    /// Generations below a root.
    std::uint16_t group_depth_max = 8;
};

/// A new entity.
struct SpawnDef {
    /// none: the world assigns an id. Otherwise an id of your own. Its index is below
    /// WorldDef::entities_max; its generation is at least 1, and higher than earlier ones of the
    /// index. Keep indices dense: tables are as long as the largest index. The index of a despawned
    /// entity is free from the next tick on.
    EntityId id = EntityId::none;
    KindId kind = KindId::none;           ///< of the schema; required
    Vec3 position = {};                   ///< ignored for a kind without a position
    ObserverId owner = ObserverId::none;  ///< see World::set_owner
    std::uint64_t user_data = 0;  ///< returned in events, for example a handle of your own ECS
};

/// The owner of a subtree while it is attached. detach restores the previous owner.
enum class OwnerPolicy : std::uint8_t {
    automatic = 0,  ///< `keep` if the attached entity has an owner, otherwise `inherit`
    keep = 1,       ///< its own owner, for example a player who boards a vehicle
    inherit = 2,    ///< the owner of its parent, also when that changes; for example a turret
};

/// One entity of a predefined hierarchy: see World::spawn_group.
struct GroupPart {
    KindId kind{};  ///< of the schema; required
    /// Index of its parent, which comes before it. The first part is the root.
    std::uint16_t parent = 0;
    Vec3 offset{};  ///< from its parent's position at the spawn, along the world's axes
    OwnerPolicy owner = OwnerPolicy::automatic;  ///< as for World::attach; ignored for the root
};

/// The change of an entity's parent or root in a tick: one event per entity and tick. A root is its
/// own root. For a despawned entity `new_root` is none.
struct GroupEvent {
    EntityId entity;      ///< the entity; may be despawned by now
    EntityId old_root;    ///< its root before the tick
    EntityId new_root;    ///< its root after the tick
    EntityId old_parent;  ///< its parent before the tick, or none
    EntityId new_parent;  ///< its parent after the tick, or none
};

class WorldData;  // src/world
struct InternalAccess;

/// The entities of a server. A server creates its world itself (Server::world).
class World {
  public:
    /// Creates a world. Errors: bad_configuration (no schema, an unsound one, or an entities_max or
    /// group_members_max of 0).
    static Result<World> create(const WorldDef& def);
    /// Moves a world. The other one can then only be destroyed or assigned to.
    World(World&&) noexcept;
    /// Moves a world over this one.
    World& operator=(World&&) noexcept;
    /// Destroys the world with all entities.
    ~World();

    /// Returns the schema.
    const Schema& schema() const noexcept;

    /// @name Entities
    /// @{

    /// Adds an entity and returns its id. Its components are all zeros; the default initializers of
    /// the structs are not used. For observers, all edits until the end of the tick are one step.
    /// Returns none if the world is full (WorldDef::entities_max). Asserts, and returns none in
    /// release builds: an unknown kind; a position that is not finite; an id of your own that is
    /// not free. Amortized O(1).
    EntityId spawn(const SpawnDef& def);
    /// Spawns a hierarchy in one step, with the effect of spawn and attach for each part in this
    /// order. Returns the root. `members`, if not null, is replaced by the entities of all parts,
    /// in their order; it is empty after an error. `parts` is read during the call. Errors:
    /// bad_argument (no parts, a parent that does not come before its part, or an unknown kind),
    /// bad_position (not finite), capacity (the world is full), too_deep, too_large (the group).
    /// O(parts).
    Result<EntityId> spawn_group(std::span<const GroupPart> parts, Vec3 position,
                                 std::vector<EntityId>* members = nullptr);
    /// Removes an entity. Its children are detached and stay alive; its index is free from the next
    /// tick on. For observers, the children become orphans: the overrides that hid them in the
    /// group continue to hide them (see InterestManager::detach), so the despawn of a hidden
    /// vehicle does not reveal its crew.
    Status despawn(EntityId entity);
    /// Removes an entity and all below it in one step, so none of them becomes an orphan. This
    /// includes children of kinds that take no part in groups. O(removed entities).
    Status despawn_group(EntityId entity);
    /// Returns whether the entity exists.
    bool is_alive(EntityId entity) const noexcept;
    /// Returns the number of entities.
    std::uint32_t entity_count() const noexcept;
    /// Returns the kind of an entity. A stale id is asserted.
    KindId kind_of(EntityId entity) const noexcept;
    /// Returns the number that events return for the entity (ServerEvent::entity_data); 0 for a
    /// stale id.
    std::uint64_t user_data(EntityId entity) const noexcept;
    /// Sets the number that events return for the entity.
    Status set_user_data(EntityId entity, std::uint64_t user_data);
    /// @}

    /// @name Positions and components
    /// @{

    /// Sets the position. Errors: bad_position (not finite), bad_argument (the kind has no
    /// position).
    Status move(EntityId entity, Vec3 position);
    /// Returns the position; {0, 0, 0} for an entity without a position or a stale id. A relative
    /// position includes the moves of the parent so far; the component (get) is updated at the end
    /// of the tick.
    Vec3 position_of(EntityId entity) const noexcept;

    /// Returns a component; null for a stale id or a kind without it. Valid until the entity is
    /// despawned.
    template <class T>
    const T* get(EntityId entity, Component<T> component) const noexcept {
        return static_cast<const T*>(read(entity, component.id));
    }
    /// Returns a component to write; null as for get. The component counts as written in this tick
    /// only: call this function in each tick in which you write. A value that is equal after
    /// quantization is not sent. A position that is not finite is reverted at the end of the tick.
    template <class T>
    T* edit(EntityId entity, Component<T> component) noexcept {
        return static_cast<T*>(write(entity, component.id));
    }
    /// Sets a component. Errors: bad_argument (the kind does not have it).
    template <class T>
    Status set(EntityId entity, Component<T> component, const T& value) noexcept {
        T* target = edit(entity, component);
        if (target == nullptr) return is_alive(entity) ? Status::bad_argument : Status::stale_id;
        *target = value;
        return Status::ok;
    }
    /// Returns a component as get does.
    const void* read(EntityId entity, ComponentId component) const noexcept;
    /// Returns a component as edit does.
    void* write(EntityId entity, ComponentId component) noexcept;
    /// @}

    /// @name Groups
    /// A group is a root with all descendants that are connected through enabled members of kinds
    /// that take part (KindDef::in_groups). An entity that does not take part keeps its parent and
    /// children, but its children are roots of groups of their own.
    /// @{

    /// Attaches a child, with its descendants, to a parent in one step. A child of another parent
    /// changes its parent; a child of this parent is not changed and keeps its policy. Errors:
    /// would_cycle, too_deep, too_large (the resulting group). O(descendants + ancestors +
    /// siblings).
    Status attach(EntityId child, EntityId parent, OwnerPolicy owner = OwnerPolicy::automatic);
    /// Detaches an entity, with its descendants. Errors: not_found (no parent). O(descendants +
    /// siblings).
    Status detach(EntityId child);
    /// Takes an entity out of its group, or back into it. It keeps its parent; its children are
    /// roots while it is out. Errors: too_deep, too_large (the resulting group).
    Status set_group_enabled(EntityId entity, bool enabled);
    /// Returns whether the entity takes part in groups, if its kind does (set_group_enabled); false
    /// for a stale id.
    bool is_group_enabled(EntityId entity) const noexcept;
    /// Returns the parent; none for an entity without a parent or a stale id. O(1).
    EntityId parent_of(EntityId entity) const noexcept;
    /// Returns the parent if both are in one group, otherwise none. This is the parent that clients
    /// know. O(1).
    EntityId group_parent_of(EntityId entity) const noexcept;
    /// Returns the root of its group; the entity itself for a root, none for a stale id. O(1).
    EntityId root_of(EntityId entity) const noexcept;
    /// Returns the direct children in attach order. Valid until the next attach, detach or despawn.
    std::span<const EntityId> children_of(EntityId entity) const noexcept;
    /// Replaces `out` by the members of its group in attach order: the root first, then depth
    /// first. Empty for a stale id. Input order: Server::input_order. O(members).
    void members_of(EntityId entity, std::vector<EntityId>& out) const;
    /// Returns the group events of the last tick, in the order of the first change. Valid until the
    /// end of the next tick.
    std::span<const GroupEvent> group_events() const noexcept;
    /// @}

    /// @name Poses in groups
    /// @{

    /// Returns the position relative to the parent; the position in the world if there is no
    /// parent, or for kinds without KindDef::relative_position. A `move` changes it at the end of
    /// the tick.
    Vec3 local_position_of(EntityId entity) const noexcept;
    /// Sets the position relative to the parent. Errors: bad_position (not finite), bad_argument
    /// (the position is not relative to a parent).
    Status set_local_position(EntityId entity, Vec3 position);
    /// Returns the orientation in the world, from the replicated value (Schema::set_orientation);
    /// no rotation for an entity without an orientation or a stale id.
    Rotation orientation_of(EntityId entity) const noexcept;
    /// @}

    /// @name Owners
    /// @{

    /// Sets the owner; none: no owner. The entity no longer inherits an owner; members that inherit
    /// from it get the new one. The world does not check that the observer exists, and keeps an
    /// owner that is gone.
    Status set_owner(EntityId entity, ObserverId owner);
    /// Returns the owner, or none.
    ObserverId owner_of(EntityId entity) const noexcept;
    /// @}

    /// @name All entities
    /// @{

    /// Calls visit(EntityId) for all entities in index order. An entity that a visit spawns at the
    /// end of the table is not visited. O(index_end()).
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::uint32_t i = 0, end = index_end(); i < end; ++i) {
            if (const EntityId entity = at_index(i); entity != EntityId::none) visit(entity);
        }
    }
    /// Returns one past the largest index in use, for tables of your own.
    std::uint32_t index_end() const noexcept;
    /// Returns the entity at an index, or none.
    EntityId at_index(std::uint32_t index) const noexcept;
    /// @}

  private:
    friend struct InternalAccess;
    explicit World(std::unique_ptr<WorldData> data) noexcept;
    std::unique_ptr<WorldData> data_;
};

/// @}

}  // namespace purview
