// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entity table: who exists, of which kind, where, with which component values, under which
// parent, owned by whom; and the log of what changed since the last tick. One writer: the thread
// that runs the tick. The world knows nothing of observers' views; an owner is only a number here.
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

struct WorldDef {
    /// Not owned; must outlive the world and stay as it is.
    const Schema* schema = nullptr;
    std::uint32_t entities_max = 1U << 20;
    /// Members of one group, its root included (O6: refused, never cut).
    std::uint16_t group_members_max = 64;
    /// Generations under a root.
    std::uint16_t group_depth_max = 8;
};

/// Whose a subtree is while it is attached (O11). Whatever it is, it is as before after detach.
enum class OwnerPolicy : std::uint8_t {
    automatic = 0,  ///< keep where what is attached has an owner, else inherit
    keep = 1,       ///< a player who boards a vehicle stays his own
    inherit = 2,    ///< a turret is its vehicle's: it follows the owner of its parent
};

/// One entity of a hierarchy that is declared ahead: see World::spawn_group.
struct GroupPart {
    KindId kind{};
    /// Index of the part that it is attached to, which stands before it. The first one is the root.
    std::uint16_t parent = 0;
    Vec3 offset{};  ///< from its parent's position at the spawn, along the world's axes
    OwnerPolicy owner = OwnerPolicy::automatic;
};

/// What became of an entity's place in the forest between two ticks: one for each entity, however
/// often it changed. A root is its own root; of a despawned entity `new_root` is none.
struct GroupEvent {
    EntityId entity;
    EntityId old_root;
    EntityId new_root;
    EntityId old_parent;
    EntityId new_parent;
};

class WorldData;  // src/world: what the other rooms read
struct InternalAccess;

class World {
  public:
    /// Status::bad_configuration when the schema is missing or unsound.
    static Result<World> create(const WorldDef& def);
    World(World&&) noexcept;
    World& operator=(World&&) noexcept;
    ~World();

    const Schema& schema() const noexcept;

    /// A new entity with zeroed components. Its place, if the kind has one, is `position`.
    /// capacity: the table is full. bad_position: NaN or infinite. bad_argument: no such kind.
    /// Everything done to it before the tick ends is one step for observers (N42). Components are
    /// all zeros, whatever their struct's initialisers say.
    Result<EntityId> spawn(KindId kind, Vec3 position = {});
    /// Spawns a hierarchy in one step: the parts in this order, each attached to its parent at
    /// once, as spawn and attach would do one after the other. Returns the root; `members`, if not
    /// null, is replaced by the entities of all parts. bad_argument: no parts, a parent that does
    /// not stand before its part, or no such kind; bad_position; capacity; too_deep, too_large: of
    /// the group. Nothing is spawned then. `parts` is read during the call. O(parts).
    Result<EntityId> spawn_group(std::span<const GroupPart> parts, Vec3 position,
                                 std::vector<EntityId>* members = nullptr);
    /// Its children are detached and live on. Its index rests until the next tick. To observers a
    /// member of its group is an orphan then: what hid it in the group hides it from now on (see
    /// InterestManager::detach), so that the end of a hidden vehicle does not show the crew.
    Status despawn(EntityId entity);
    /// The entity and all below it, in one step: no entity is an orphan in between. Children of
    /// kinds that take no part in groups are despawned as well. O(number of them).
    Status despawn_group(EntityId entity);
    bool is_alive(EntityId entity) const noexcept;
    std::uint32_t entity_count() const noexcept;
    /// Kind of a live entity; asserts that it lives.
    KindId kind_of(EntityId entity) const noexcept;

    /// Sets the place. bad_position: NaN or infinite, the old place stays. bad_argument: the kind
    /// has no place.
    Status move(EntityId entity, Vec3 position);
    /// {0, 0, 0} for an entity without a place or a stale id. Of what is relative to a parent,
    /// where that has taken it by now; its component (get) is brought along at the end of the tick.
    Vec3 position_of(EntityId entity) const noexcept;

    /// Null for a stale id or a kind without the component. Valid until the entity is despawned.
    template <class T>
    const T* get(EntityId entity, Component<T> component) const noexcept {
        return static_cast<const T*>(read(entity, component.id));
    }
    /// As get, and the component counts as written this tick, not later: ask again in each tick
    /// that writes. What is equal after quantisation costs observers nothing. A place that is not
    /// finite is put back when the tick is tracked.
    template <class T>
    T* edit(EntityId entity, Component<T> component) noexcept {
        return static_cast<T*>(write(entity, component.id));
    }
    /// stale_id, or bad_argument when the kind lacks the component.
    template <class T>
    Status set(EntityId entity, Component<T> component, const T& value) noexcept {
        T* target = edit(entity, component);
        if (target == nullptr) return is_alive(entity) ? Status::bad_argument : Status::stale_id;
        *target = value;
        return Status::ok;
    }
    const void* read(EntityId entity, ComponentId component) const noexcept;
    void* write(EntityId entity, ComponentId component) noexcept;

    // -- groups. A group is a root with all descendants that are connected through enabled members
    //    of kinds that take part (KindDef::in_groups). Whoever does not take part keeps its parent
    //    all the same, and cuts: its children are roots of groups of their own. -------------------
    /// Puts child (with its descendants) under parent, in one step. would_cycle; too_deep,
    /// too_large: of the group that would come of it; stale_id: nothing was changed. A child that
    /// had another parent changes it; one that has this parent stays as it is, with the policy that
    /// was said first.
    Status attach(EntityId child, EntityId parent, OwnerPolicy owner = OwnerPolicy::automatic);
    /// With its descendants. not_found when it has no parent.
    Status detach(EntityId child);
    /// Takes it out of its group, or back into it; its parent stays. Its children are roots while
    /// it is out (O5, O13, O43). too_deep, too_large: nothing was changed.
    Status set_group_enabled(EntityId entity, bool enabled);
    bool is_group_enabled(EntityId entity) const noexcept;
    /// none for an entity without a parent or a stale id. O(1).
    EntityId parent_of(EntityId entity) const noexcept;
    /// The parent, where both are in one group; or none. What clients know. O(1).
    EntityId group_parent_of(EntityId entity) const noexcept;
    /// The root of its group, itself for a root. O(1).
    EntityId root_of(EntityId entity) const noexcept;
    /// Direct children in attach order. Valid until the next attach, detach or despawn.
    std::span<const EntityId> children_of(EntityId entity) const noexcept;
    /// Replaces `out` by the members of its group in attach order: the root first, then depth
    /// first, children in the order in which they were attached. Server::input_order has them in
    /// the order of their input. Empty for a stale id. O(members).
    void members_of(EntityId entity, std::vector<EntityId>& out) const;
    /// Of the tick that ended last, in the order in which they began to change (O42). Valid until
    /// the next one ends.
    std::span<const GroupEvent> group_events() const noexcept;

    /// Where it stands as seen from its parent: its own place while it has none, or is of a kind
    /// without relative places (KindDef::relative_position). What `move` makes of it counts from
    /// the end of the tick on.
    Vec3 local_position_of(EntityId entity) const noexcept;
    /// Moves it within its parent. bad_position; bad_argument: it has no place relative to a
    /// parent.
    Status set_local_position(EntityId entity, Vec3 position);
    /// How it is turned in the world, by what clients are told (Schema::set_orientation); of an
    /// entity without an orientation or a stale id: not at all.
    Rotation orientation_of(EntityId entity) const noexcept;

    /// The observer who owns it; none takes it away. From now on it inherits from nobody; members
    /// that inherit from it are his, too. To a world an owner is a number: whether there is such an
    /// observer is not asked, and who goes remains the owner.
    Status set_owner(EntityId entity, ObserverId owner);
    ObserverId owner_of(EntityId entity) const noexcept;

    /// Calls visit(EntityId) for all live entities in index order; not for those whose index only a
    /// visit has made the largest.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::uint32_t i = 0, end = index_end(); i < end; ++i) {
            if (const EntityId entity = at_index(i); entity != EntityId::none) visit(entity);
        }
    }
    /// One past the largest index in use; for tables kept beside the world.
    std::uint32_t index_end() const noexcept;
    /// The live entity at an index, or none.
    EntityId at_index(std::uint32_t index) const noexcept;

  private:
    friend struct InternalAccess;
    explicit World(std::unique_ptr<WorldData> data) noexcept;
    std::unique_ptr<WorldData> data_;
};

}  // namespace purview
