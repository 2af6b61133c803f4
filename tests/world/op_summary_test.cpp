// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/op_summary.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

namespace {

struct SummaryWorld {
    SummaryWorld() : data(def()) {}
    WorldDef def() const {
        WorldDef def;
        def.schema = &small.schema;
        return def;
    }
    EntityId spawn() { return data.spawn({.kind = small.animal}).value(); }
    void end_tick() {
        (void)data.summary.track();
        data.clear_changes();
    }
    SmallSchema small;
    WorldData data;
};

std::vector<EntityId> entities_of(std::span<const WorldOp> ops) {
    std::vector<EntityId> entities;
    for (const WorldOp& op : ops) entities.push_back(op.entity);
    return entities;
}

}  // namespace

TEST_CASE("world: a summary lists spawns, joins with parents first, then all other edits") {
    SummaryWorld world;
    const EntityId old = world.spawn();
    world.end_tick();
    CHECK_FALSE(world.data.summary.has_untracked());
    const EntityId a = world.spawn(), b = world.spawn(), c = world.spawn();
    CHECK_FALSE(world.data.summary.is_tracked(index_of(a)));
    CHECK(world.data.attach(c, b, OwnerPolicy::automatic) == Status::ok);
    CHECK(world.data.despawn(old) == Status::ok);
    CHECK(world.data.groups.set_owner(a, ObserverId{3}) == Status::ok);
    CHECK(world.data.attach(b, a, OwnerPolicy::keep) == Status::ok);
    CHECK(world.data.summary.has_untracked());
    const auto ops = world.data.summary.track();
    CHECK(entities_of(ops) == std::vector<EntityId>{a, b, c, b, c, old, a});
    CHECK(ops[3].parent == a);
    CHECK(ops[4].parent == b);
    CHECK(ops[4].root == a);
    CHECK(world.data.summary.is_tracked(index_of(a)));
    CHECK(world.data.summary.track().empty());
}

TEST_CASE("world: a summary omits an entity that is back in its old group") {
    SummaryWorld world;
    const EntityId a = world.spawn(), b = world.spawn(), c = world.spawn();
    CHECK(world.data.attach(b, a, OwnerPolicy::automatic) == Status::ok);
    world.end_tick();
    CHECK(world.data.detach(b) == Status::ok);
    CHECK(world.data.attach(b, c, OwnerPolicy::automatic) == Status::ok);
    CHECK(world.data.attach(b, a, OwnerPolicy::automatic) == Status::ok);
    CHECK_FALSE(world.data.log.ops().empty());
    CHECK(world.data.summary.track().empty());
}

TEST_CASE("world: a summary includes all entities below one that joins another group") {
    SummaryWorld world;
    const EntityId a = world.spawn(), b = world.spawn(), c = world.spawn();
    CHECK(world.data.attach(c, b, OwnerPolicy::automatic) == Status::ok);
    world.end_tick();
    CHECK(world.data.attach(b, a, OwnerPolicy::automatic) == Status::ok);
    CHECK(entities_of(world.data.summary.track()) == std::vector<EntityId>{b, c});
    world.end_tick();
    CHECK(world.data.despawn(a) == Status::ok);
    const auto ops = world.data.summary.track();
    REQUIRE(entities_of(ops) == std::vector<EntityId>{b, c, a});
    CHECK(ops[0].is_orphan);
    CHECK(ops[0].root == b);
    CHECK(ops[1].parent == b);
}

}  // namespace purview::test
