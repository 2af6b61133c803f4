// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote entities are drawn where they were one interpolation delay ago.
#include "idle_game.hpp"
#include "support/car.hpp"
#include "support/stage.hpp"

using namespace purview;
using namespace purview::test;

namespace {

/// Runs two seconds. Returns the largest error along x of the position that the first player's
/// client draws, compared with the position of the entity in the viewed tick.
double farthest_from_truth(DriveWorld& world, EntityId entity, std::map<Tick, float>& positions) {
    const GhostId ghost = world.ghost(0, entity);
    double farthest = 0;
    world.after_client = [&](DriveWorld::Player& player, Micros at) {
        const double tick = player.prediction->view_tick(at);
        const auto before = static_cast<Tick>(tick);
        const double expected =
            positions[before] + (positions[before + 1] - positions[before]) * (tick - before);
        farthest =
            std::max(farthest, std::abs(player.prediction->position_of(ghost, at).x - expected));
    };
    world.run(120);
    world.after_client = nullptr;
    return farthest;
}

}  // namespace

TEST_CASE("prediction: the interpolation delay recovers after a server stall") {
    DriveWorld world(1);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    Prediction& prediction = *world.player().prediction;
    const auto behind = [&] {
        return world.player().client.newest_tick() - prediction.view_tick(world.now);
    };
    world.run(40);
    const double usual = behind();
    CHECK(usual > 0);
    CHECK(usual < 4);
    world.now += 1'200'000;  // the server stalls
    world.run(3 * static_cast<int>(world.player().client.tick_hz()));
    CHECK(behind() == doctest::Approx(usual).epsilon(0.3));
}

TEST_CASE("prediction: an entity updated every tick is drawn exactly at the delayed tick") {
    for (const float delay : {2.0F, 7.0F, 12.0F, 15.0F}) {
        CAPTURE(delay);
        PredictionDef def;
        def.view_delay_ticks = delay;
        DriveWorld world(1, Faults{.delay_us = 30'000}, 60, def);
        const EntityId car = world.spawn(world.schema.vehicle);
        std::map<Tick, float> positions;
        world.when_tick = [&](Server& its, Tick tick) {
            const float x = its.world().position_of(car).x + 20.0F / 60;
            REQUIRE(its.world().move(car, {x, 0, 0}) == Status::ok);
            positions[tick] = x;
        };
        world.spawn(world.schema.vehicle, {0, 50, 0}, world.player().observer);
        world.run(100);
        CHECK(farthest_from_truth(world, car, positions) < 0.01);
    }
}

TEST_CASE("prediction: an idle entity stands until it moves, whatever other updates it gets") {
    for (const bool is_replicated_too : {false, true}) {
        CAPTURE(is_replicated_too);
        PredictionDef def;
        def.view_delay_ticks = 6;
        DriveWorld world(1, Faults{.delay_us = 30'000}, 60, def);
        const EntityId car = world.spawn(world.schema.vehicle);
        std::map<Tick, float> positions;
        world.when_tick = [&](Server& its, Tick tick) {
            float x = its.world().position_of(car).x;
            if (tick % 30 < 10) REQUIRE(its.world().move(car, {x += 1, 0, 0}) == Status::ok);
            if (is_replicated_too && tick % 3 == 2)
                its.world().edit(car, world.schema.motion)->speed = static_cast<float>(tick);
            positions[tick] = x;
        };
        world.spawn(world.schema.vehicle, {0, 50, 0}, world.player().observer);
        world.run(100);
        CHECK(farthest_from_truth(world, car, positions) < 0.01);
    }
}

TEST_CASE("prediction: a moving entity is extrapolated in an outage after unrelated packets") {
    // Updates are sent every fourth tick, or beside messages that take packets of their own.
    for (const bool has_messages : {false, true}) {
        for (int phase = 0; phase < 4; ++phase) {
            CAPTURE(has_messages);
            CAPTURE(phase);
            PredictionDef prediction;
            prediction.view_delay_ticks = has_messages ? 2 : 6;
            ServerDef def;
            def.rules.nodes.resize(1);
            def.rules.nodes[0].name = "all";
            if (!has_messages) def.rules.nodes[0].replication.every_ticks = 4;
            DriveWorld world(1, {}, 60, prediction, def);
            const EntityId car = world.spawn(world.schema.vehicle);
            const std::vector<std::byte> message(4'000);
            world.when_tick = [&](Server& its, Tick) {
                const float x = its.world().position_of(car).x + 0.2F;
                REQUIRE(its.world().move(car, {x, 0, 0}) == Status::ok);
                if (has_messages) (void)its.send_message(world.player().observer, message);
            };
            world.run(120 + phase);
            world.player().down.blackout = true;
            world.run(2);
            const GhostId ghost = world.ghost(0, car);
            const float newest =
                world.player().client.position_of(ghost, world.player().client.newest_tick()).x;
            world.run(30);
            const float drawn = world.player().prediction->position_of(ghost, world.now).x;
            CHECK(drawn - newest ==
                  doctest::Approx(0.2F * prediction.extrapolate_ticks_max).epsilon(0.02));
        }
    }
}

TEST_CASE("prediction: an owned entity does not move back when commands run out of room") {
    DriveWorld world(1, Faults{.delay_us = 40'000});
    const EntityId vehicle = world.spawn(world.schema.vehicle, {}, world.player().observer);
    world.run(60);
    const GhostId ghost = world.ghost(0, vehicle);
    world.player().control = [&](auto& player, InputNumber) {
        (void)player.prediction->set_part(ghost, world.schema.drive, Drive{0.8F, 0, false});
    };
    world.run(120);
    world.player().statuses.clear();
    world.player().up.blackout = world.player().down.blackout = true;
    float last = 0, back = 0;
    for (int tick = 0; tick < 150; ++tick) {
        world.tick();
        for (const Micros later : {0, 4'000, 8'000, 12'000}) {
            const float drawn = world.player().prediction->position_of(ghost, world.now + later).x;
            back = std::max(back, last - drawn);
            last = drawn;
        }
    }
    const auto& statuses = world.player().statuses;
    CHECK(std::find(statuses.begin(), statuses.end(), Status::capacity) != statuses.end());
    CHECK(back < 0.001F);
}

TEST_CASE("prediction: without inputs no ticks are due, but the view time advances") {
    Schema schema;
    const Component<Position> position = add_position(schema, 0, 100);
    const KindId kind = schema.kind("one", {position.id});
    test::Stage stage(schema, 1);
    Prediction prediction =
        Prediction::create(stage.client(), {.schema = &schema, .step = nullptr}).value();
    const EntityId one = stage.spawn(kind, {10, 10, 0});
    for (int tick = 0; tick < 60; ++tick) {
        REQUIRE(stage.world().move(one, {10 + static_cast<float>(tick), 10, 0}) == Status::ok);
        stage.step();
        REQUIRE(prediction.ticks_due(stage.now) == 0);
    }
    CHECK(prediction.run_tick() == Status::not_ready);
    const double behind = stage.client().newest_tick() - prediction.view_tick(stage.now);
    CHECK(behind > 1);
    CHECK(behind < 4);
    const GhostId ghost = stage.ghost(0, one);
    const Vec3 newest = stage.client().position_of(ghost, stage.client().newest_tick());
    const Vec3 shown = prediction.position_of(ghost, stage.now);
    CHECK(newest.x - shown.x == doctest::Approx(behind).epsilon(0.05));
    // The drawn position also advances between two ticks.
    CHECK(prediction.position_of(ghost, stage.now + 25'000).x - shown.x ==
          doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("prediction: a client slows down with a server that cannot keep its tick rate") {
    DriveWorld world(1, {.loss = 0.02F, .delay_us = 30'000, .jitter_us = 15'000});
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    Prediction& prediction = *world.player().prediction;
    const int second = static_cast<int>(world.player().client.tick_hz());
    world.run(3 * second);
    for (const double pace : {0.45, 0.8, 1.0}) {
        CAPTURE(pace);
        world.pace = pace;
        world.run(6 * second);  // the client adapts
        const PredictionStats before = prediction.stats();
        double behind_most = -100;
        double behind_least = 100;
        for (int i = 0; i < 10 * second; ++i) {
            world.tick();
            const double behind =
                world.player().client.newest_tick() - prediction.view_tick(world.now);
            behind_most = std::max(behind_most, behind);
            behind_least = std::min(behind_least, behind);
        }
        // The delay is two ticks. The rest is jitter and lost packets.
        CHECK(behind_least > -2);
        CHECK(behind_most < 5);
        const PredictionStats after = prediction.stats();
        CHECK(after.starved - before.starved < 20);
        CHECK(after.waiting < 8);
        CHECK(after.corrections - after.invisible == before.corrections - before.invisible);
        MESSAGE("tick rate factor " << pace << ": interpolation delay " << behind_least << " to "
                                    << behind_most << ", starved " << after.starved - before.starved
                                    << ", buffered inputs " << after.waiting << ", corrections "
                                    << after.corrections - before.corrections);
    }
}
