// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The last values of a ghost stay readable until the program clears its leave event.
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Rocket {
    std::int32_t fuel = 0;
    EntityId at = EntityId::none;
};

struct RocketSchema {
    RocketSchema() {
        position = schema.component<Vec3>("place")
                       .quantized("x", &Vec3::x, {-128, 128, 0.25})
                       .quantized("y", &Vec3::y, {-128, 128, 0.25})
                       .quantized("z", &Vec3::z, {-128, 128, 0.25});
        rocket = schema.component<Rocket>("rocket")
                     .integer("fuel", &Rocket::fuel, 0, 1000)
                     .reference("at", &Rocket::at);
        schema.set_position(position.id);
        kind = schema.kind("rocket", {position.id, rocket.id});
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(1);
        def.rules.kinds[0].mode = EntityMode::explicit_only;
    }
    Schema schema;
    Component<Vec3> position;
    Component<Rocket> rocket;
    KindId kind{};
    ServerDef def;
};

}  // namespace

TEST_CASE("client: the last values of a ghost are readable until its leave event is cleared") {
    const RocketSchema setup;
    for (const bool despawns : {true, false}) {
        CAPTURE(despawns);
        Stage stage(setup.schema, 1, setup.def);
        Client& client = stage.client();
        const EntityId rocket = stage.spawn(setup.kind, {3, 4, 0}), other = stage.spawn(setup.kind);
        show(stage, 0, rocket);
        show(stage, 0, other);
        stage.world().edit(rocket, setup.rocket)->fuel = 70;
        stage.world().edit(rocket, setup.rocket)->at = other;
        stage.step(3);
        const GhostId ghost = stage.ghost(0, rocket);
        REQUIRE(ghost != GhostId::none);
        client.clear_events();
        if (despawns) {
            REQUIRE(stage.world().despawn(rocket) == Status::ok);
        } else {
            show(stage, 0, rocket, false);
        }
        stage.step();
        REQUIRE(lifetimes_of(client).size() == 1);
        CHECK(lifetimes_of(client)[0].is_leave());
        CHECK_FALSE(client.is_held(ghost));
        CHECK(client.ghost_count() == 1);
        const auto fuel = [&] { return client.value_of(ghost, setup.rocket.id, 0); };
        CHECK(client.position_of(ghost, client.newest_tick()) == Vec3{3, 4, 0});
        CHECK(client.kind_of(ghost) == setup.kind);
        CHECK(fuel() == 70);
        CHECK(client.reference_of(ghost, setup.rocket.id, 1) == stage.ghost(0, other));
        // The referenced entity despawns as well.
        REQUIRE(stage.world().despawn(other) == Status::ok);
        stage.step();
        CHECK(client.reference_of(ghost, setup.rocket.id, 1) == GhostId::none);
        CHECK(fuel() == 70);
        client.clear_events();
        CHECK(fuel() == 0);
        CHECK(client.position_of(ghost, client.newest_tick()) == Vec3{});
        CHECK(client.updated_of(ghost) == 0);
    }
}

TEST_CASE("client: a reused ghost id reads the values of the new ghost") {
    const RocketSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    Client& client = stage.client();
    const EntityId first = stage.spawn(setup.kind);
    show(stage, 0, first);
    stage.world().edit(first, setup.rocket)->fuel = 70;
    stage.step(3);
    const GhostId ghost = stage.ghost(0, first);
    REQUIRE(stage.world().despawn(first) == Status::ok);
    stage.step(4);  // its id is free again
    const EntityId second = stage.spawn(setup.kind);
    show(stage, 0, second);
    stage.world().edit(second, setup.rocket)->fuel = 20;
    stage.step(2);
    REQUIRE(stage.ghost(0, second) == ghost);
    CHECK(client.value_of(ghost, setup.rocket.id, 0) == 20);
    client.clear_events();
    CHECK(client.value_of(ghost, setup.rocket.id, 0) == 20);
    REQUIRE(stage.world().despawn(second) == Status::ok);
    stage.step();
    CHECK(client.value_of(ghost, setup.rocket.id, 0) == 20);
    client.clear_events();
    CHECK(client.value_of(ghost, setup.rocket.id, 0) == 0);
}

}  // namespace purview::test
