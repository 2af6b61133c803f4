// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/world_data.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "small_game.hpp"

namespace purview::test {

TEST_CASE("world: a group that does not fit is not spawned, and leaves nothing behind") {
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    def.group_depth_max = 1;
    WorldData data(def);
    const std::vector<GroupPart> chain{{small.animal, 0, {}, OwnerPolicy::automatic},
                                       {small.animal, 0, {}, OwnerPolicy::automatic},
                                       {small.animal, 1, {}, OwnerPolicy::automatic}};
    std::vector<EntityId> made;
    CHECK(data.spawn_group(chain, {}, made) == Status::too_deep);
    CHECK(made.empty());
    CHECK(data.entities.count() == 0);
    (void)data.summary.track();
    data.clear_changes();
    CHECK(data.spawn_group(std::span(chain).first(2), {1, 2, 0}, made) == Status::ok);
    CHECK(data.groups.root_at(index_of(made[1])) == made[0]);
    CHECK(data.despawn_group(made[0]) == Status::ok);
    CHECK(data.entities.count() == 0);
    CHECK(data.despawn_group(made[0]) == Status::stale_id);
}

TEST_CASE("world: all tables treat a reused index as a new entity") {
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    WorldData data(def);
    const EntityId top = data.spawn({.kind = small.animal, .position = {1, 1, 0}}).value();
    const EntityId child = data.spawn({.kind = small.animal, .position = {2, 2, 0}}).value();
    CHECK(data.attach(child, top, OwnerPolicy::automatic) == Status::ok);
    CHECK(data.groups.set_owner(child, ObserverId{4}) == Status::ok);
    data.settle();
    (void)data.summary.track();
    data.clear_changes();
    CHECK(data.despawn(child) == Status::ok);
    data.settle();
    (void)data.summary.track();
    data.clear_changes();
    const EntityId next = data.spawn({.kind = small.animal, .position = {3, 3, 0}}).value();
    const std::uint32_t index = index_of(next);
    REQUIRE(index == index_of(child));
    CHECK(data.groups.is_alone(index));
    CHECK(data.groups.root_at(index) == next);
    CHECK(data.entities.owner_at(index) == ObserverId::none);
    CHECK_FALSE(data.summary.is_tracked(index));
    CHECK(data.components.position_at(index) == Vec3{3, 3, 0});
}

TEST_CASE("world: a member that leaves its group by set_group_enabled keeps its parent") {
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    WorldData data(def);
    const EntityId top = data.spawn({.kind = small.animal}).value();
    const EntityId child = data.spawn({.kind = small.animal}).value();
    CHECK(data.set_group_enabled(EntityId{99}, false) == Status::stale_id);
    CHECK(data.attach(child, child, OwnerPolicy::automatic) == Status::would_cycle);
    CHECK(data.attach(child, top, OwnerPolicy::automatic) == Status::ok);
    CHECK(data.set_group_enabled(child, false) == Status::ok);
    CHECK(data.groups.parent_at(index_of(child)) == top);
    CHECK(data.groups.group_parent_at(index_of(child)) == EntityId::none);
    CHECK(data.groups.members_at(index_of(top)) == 1);
    CHECK(data.set_group_enabled(child, true) == Status::ok);
    CHECK(data.groups.group_parent_at(index_of(child)) == top);
    CHECK(data.detach(child) == Status::ok);
    CHECK(data.detach(child) == Status::not_found);
    data.clear_changes();
    CHECK(data.groups.events().empty());  // no net change in the tick
}

}  // namespace purview::test
