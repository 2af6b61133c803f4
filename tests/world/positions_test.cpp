// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/positions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

namespace {

struct Ferry {
    Ferry() {
        const Component<Position> position = add_position(schema, 0, 200);
        ship = schema.kind("ship", {position.id});
        car = schema.kind("car", {position.id});
        note = schema.kind("note", {});
        schema.edit_kind(car).relative_position = true;
        REQUIRE(schema.problem().empty());
    }
    WorldDef def() const {
        WorldDef def;
        def.schema = &schema;
        return def;
    }
    Schema schema;
    KindId ship{}, car{}, note{};
};

}  // namespace

TEST_CASE("world: a member follows its parent when positions settle") {
    const Ferry ferry;
    WorldData data(ferry.def());
    const EntityId ship = data.spawn({.kind = ferry.ship, .position = {10, 10, 0}}).value();
    const EntityId car = data.spawn({.kind = ferry.car, .position = {12, 10, 0}}).value();
    CHECK_FALSE(data.positions.is_relative(index_of(car)));
    CHECK(data.positions.set_local_position(car, {1, 1, 0}) == Status::bad_argument);
    CHECK(data.attach(car, ship, OwnerPolicy::automatic) == Status::ok);
    data.positions.keep_carried(true);
    data.settle();
    data.clear_changes();
    REQUIRE(data.positions.is_relative(index_of(car)));
    CHECK(data.positions.local_position_at(index_of(car)) == Vec3{2, 0, 0});

    CHECK(data.positions.move(ship, {20, 30, 0}) == Status::ok);
    CHECK(data.positions.position_now(index_of(car)) == Vec3{22, 30, 0});
    CHECK(data.components.position_at(index_of(car)) == Vec3{12, 10, 0});
    data.settle();
    CHECK(data.components.position_at(index_of(car)) == Vec3{22, 30, 0});
    CHECK_FALSE(data.components.is_moved(index_of(car)));
    REQUIRE(data.positions.carried().size() == 1);
    CHECK(data.positions.carried()[0] == index_of(car));
    REQUIRE(data.positions.waves().size() == 2);
    CHECK(std::ranges::count(data.positions.waves()[1], index_of(car)) == 1);
    data.clear_changes();

    CHECK(data.positions.move(car, {25, 30, 0}) == Status::ok);
    CHECK(data.positions.local_position_now(index_of(car)) == Vec3{5, 0, 0});
    CHECK(data.positions.set_local_position(car, {0, 7, 0}) == Status::ok);
    CHECK(data.components.is_derived(index_of(car)));
    data.settle();
    CHECK(data.components.position_at(index_of(car)) == Vec3{20, 37, 0});
    CHECK(data.positions.carried().empty());
    data.positions.validate();
}

TEST_CASE("world: a position that is not finite is refused, or reset when positions settle") {
    const Ferry ferry;
    WorldData data(ferry.def());
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const EntityId ship = data.spawn({.kind = ferry.ship, .position = {10, 10, 0}}).value();
    const EntityId note = data.spawn({.kind = ferry.note}).value();
    CHECK(data.positions.move(ship, {nan, 0, 0}) == Status::bad_position);
    CHECK(data.positions.move(note, {1, 0, 0}) == Status::bad_argument);
    data.settle();
    data.components.put_position(index_of(ship), {nan, 0, 0});
    data.components.mark_dirty(index_of(ship), ferry.schema.position());
    data.settle();
    CHECK(data.components.position_at(index_of(ship)) == Vec3{10, 10, 0});
    CHECK(data.positions.bad_positions() == 1);
    CHECK(data.despawn(ship) == Status::ok);
    CHECK(data.positions.move(ship, {}) == Status::stale_id);
}

TEST_CASE("world: a member that is detached stays where its parent took it") {
    const Ferry ferry;
    WorldData data(ferry.def());
    const EntityId ship = data.spawn({.kind = ferry.ship, .position = {10, 10, 0}}).value();
    const EntityId car = data.spawn({.kind = ferry.car, .position = {12, 10, 0}}).value();
    CHECK(data.attach(car, ship, OwnerPolicy::automatic) == Status::ok);
    data.settle();
    data.clear_changes();
    CHECK(data.positions.move(ship, {20, 10, 0}) == Status::ok);
    CHECK(data.detach(car) == Status::ok);
    CHECK(data.components.position_at(index_of(car)) == Vec3{22, 10, 0});
    CHECK(data.components.is_moved(index_of(car)));  // clients have it relative to the ship
    CHECK(data.positions.move(ship, {50, 10, 0}) == Status::ok);
    data.settle();
    CHECK(data.components.position_at(index_of(car)) == Vec3{22, 10, 0});
}

}  // namespace purview::test
