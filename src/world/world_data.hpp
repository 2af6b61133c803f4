// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The data behind purview::World: its parts, and the edits that affect several of them. Other
// modules read the parts. The constructor of each part takes references to the parts that it may
// use, so the members are declared in dependency order.
//
// Invariants: every part has an entry for every index below entities.index_end(); the log refers to
// an entity only by the id that it had when it was logged.
//
// Must not depend on observers' views, slots or ghosts.
#pragma once

#include <span>
#include <vector>

#include "purview/world.hpp"
#include "world/attributes.hpp"
#include "world/bounds.hpp"
#include "world/component_table.hpp"
#include "world/entity_table.hpp"
#include "world/groups.hpp"
#include "world/op_log.hpp"
#include "world/op_summary.hpp"
#include "world/positions.hpp"
#include "world/user_data.hpp"

namespace purview {

class WorldData {
  public:
    explicit WorldData(const WorldDef& def);
    WorldData(const WorldData&) = delete;  // parts reference each other
    WorldData& operator=(const WorldData&) = delete;

    /// Errors: capacity; bad_argument: no such kind; bad_position; duplicate: the id is not free.
    Result<EntityId> spawn(const SpawnDef& def);
    Status despawn(EntityId entity);
    /// Spawns the parts in this order and lists them in `out`, which is empty on failure.
    Status spawn_group(std::span<const GroupPart> parts, Vec3 position, std::vector<EntityId>& out);
    /// Also despawns all descendants, deepest first.
    Status despawn_group(EntityId entity);
    Status attach(EntityId child, EntityId parent, OwnerPolicy policy);
    Status detach(EntityId child);
    Status set_group_enabled(EntityId entity, bool enabled);

    /// Restores positions that are not finite, moves members with their parents, and reads
    /// attributes and bounds. May be called several times in a tick. `fresh`: processes only what
    /// was written since the last call, and what depends on it.
    void settle(bool fresh = false);
    /// Ends the tick: clears the log and the dirty bits, and allows released indices to be reused.
    void clear_changes();

    RelationWork relation_work;
    EntityTable entities;
    WorldUserData user_data;
    ComponentTable components;
    OpLog log;
    GroupForest groups;
    OpSummary summary;
    WorldPositions positions;
    BoundsUpdate bounds;
    AttributeTable attributes;
};

}  // namespace purview
