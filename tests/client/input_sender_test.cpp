// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The inputs of a player reach the vehicle, whatever else the player owns and whichever inputs were
// refused before.
#include <map>

#include "client/clocks.hpp"
#include "core/internal_access.hpp"
#include "protocol/predicted_layout.hpp"
#include "purview/limits.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "support/drive_world.hpp"
#include "support/stage.hpp"

namespace purview::test {

TEST_CASE("input sender: 60 frames per second issue all commands at any tick rate") {
    for (const std::uint32_t hz : {20U, 60U, 128U, 250U, 1'000U}) {
        CommandClock clock(hz, 2);
        Micros now = 1'000'000;
        (void)clock.advance(now, 1);
        double given = 0;
        for (int frame = 0; frame < 600; ++frame) given += clock.advance(now += 16'667, 1);
        CHECK(given > hz * 9.9);
        CHECK(given < hz * 10.1);
        CHECK(clock.advance(now + 60'000'000, 1) <= CommandClock::ticks_at_once_max);
    }
}

TEST_CASE("input sender: predicted state is reduced to its quantized fields") {
    struct Gun {
        float heat = 0;
        float charge = 0;  // not a schema field
    };
    Schema schema;
    const Component<Gun> gun =
        schema.component<Gun>("gun").quantized("heat", &Gun::heat, {0, 10, 0.5});
    (void)schema.kind("gun", {gun.id});
    schema.predict(gun.id);
    const PredictedLayout layout(schema);
    const PredictedPart& part = layout.parts(id_at<KindId>(0))[0];
    Gun one{1.3F, 7}, other{1.4F, 8};
    const std::uint64_t digest = settle_part(part, false, reinterpret_cast<std::byte*>(&one), 5);
    CHECK(settle_part(part, false, reinterpret_cast<std::byte*>(&other), 5) == digest);
    CHECK(one.heat == 1.5F);
    CHECK(one.charge == 0);
    CHECK(other.heat == one.heat);
    CHECK(other.charge == 0);
}

namespace {

std::map<Status, int> counted(const std::vector<Status>& statuses) {
    std::map<Status, int> count;
    for (const Status status : statuses) ++count[status];
    return count;
}

/// A vehicle that drives straight ahead. `meters` returns how far it moves in two seconds.
struct Driver {
    explicit Driver(DriveWorld& its_world) : world(its_world) {
        vehicle = world.spawn(world.schema.vehicle, {10, 10, 0}, world.player().observer);
        world.run(20);
        ghost = world.ghost(0, vehicle);
        REQUIRE(ghost != GhostId::none);
        world.player().control = [this](DriveWorld::Player& player, InputNumber) {
            (void)player.prediction->set_part(ghost, world.schema.drive, Drive{1, 0, false});
        };
    }
    float meters() {
        const float before = world.world().position_of(vehicle).x;
        world.run(120);
        return world.world().position_of(vehicle).x - before;
    }
    DriveWorld& world;
    EntityId vehicle{};
    GhostId ghost = GhostId::none;
};

}  // namespace

TEST_CASE("input sender: owned entities without inputs do not affect driving (O17)") {
    const auto meters = [](KindId DriveSchema::*kind, int count) {
        DriveWorld world(1);
        for (int i = 0; i < count; ++i)
            world.spawn(world.schema.*kind, {}, world.player().observer);
        world.run(20);
        Driver driver(world);
        return driver.meters();
    };
    const float alone = meters(&DriveSchema::shell, 0);
    CHECK(alone > 10);
    CHECK(meters(&DriveSchema::shell, 20) == alone);    // not predicted
    CHECK(meters(&DriveSchema::jetpack, 20) == alone);  // predicted, but takes no input
}

TEST_CASE("input sender: an input that does not fit into a command is refused when set") {
    DriveWorld world(1);
    for (std::uint32_t i = 0; i < limits::input_groups; ++i)
        world.spawn(world.schema.vehicle, {10, 10, 0}, world.player().observer);
    world.run(20);
    Driver driver(world);
    Status last = Status::ok;
    world.player().control = [&](DriveWorld::Player& player, InputNumber) {
        last = player.prediction->set_part(driver.ghost, world.schema.drive, Drive{1, 0, false});
    };
    world.run(20);
    CHECK(last == Status::capacity);
}

TEST_CASE("input sender: a command that is too large is dropped, and the next one is issued") {
    struct Wishes {
        float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    };
    Schema schema;
    const auto position = add_position(schema, 0, 1024);
    const Input<Wishes> wishes = schema.input<Wishes>("wishes")
                                     .real("a", &Wishes::a)
                                     .real("b", &Wishes::b)
                                     .real("c", &Wishes::c)
                                     .real("d", &Wishes::d)
                                     .real("e", &Wishes::e)
                                     .real("f", &Wishes::f)
                                     .real("g", &Wishes::g)
                                     .real("h", &Wishes::h);
    const KindId kind = schema.kind("kind", {position.id});
    schema.take_input(kind, wishes.id);
    schema.predict(position.id);
    Stage stage(schema, 1);
    struct Still final : GroupStep {
        void step(GroupState&, const GroupInput&) override {}
    } still;
    PredictionDef def;
    def.schema = &schema;
    def.step = &still;
    auto made = Prediction::create(stage.client(), def);
    REQUIRE(made);
    std::vector<EntityId> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(stage.spawn(kind, {1, 1, 0}));
        CHECK(stage.world().set_owner(all.back(), stage.observers[0]) == Status::ok);
    }
    stage.step(10);
    const auto statuses_with = [&](std::size_t parts, int ticks) {
        std::vector<Status> statuses;
        for (int t = 0; t < ticks; ++t) {
            for (unsigned due = made->ticks_due(stage.now); due > 0; --due) {
                for (std::size_t i = 0; i < parts; ++i) {
                    CHECK(made->set_part(stage.ghost(0, all[i]), wishes, Wishes{}) == Status::ok);
                }
                statuses.push_back(made->run_tick());
            }
            stage.step();
        }
        return counted(statuses);
    };
    CHECK(statuses_with(1, 50)[Status::ok] > 40);
    CHECK(statuses_with(8, 3)[Status::too_large] >= 1);
    auto after = statuses_with(1, 50);
    CHECK(after[Status::ok] > 40);
    CHECK(after[Status::too_large] == 0);
}

TEST_CASE("input sender: large commands cause no input starvation at a high latency") {
    DriveWorld world(1, Faults{.delay_us = 65'000});
    const auto& s = world.schema;
    std::vector<EntityId> cars, turrets;
    for (int i = 0; i < 20; ++i) {
        if (i % 10 == 0) {
            const Vec3 position{10.0F + static_cast<float>(i), 10, 0};
            cars.push_back(world.spawn(s.vehicle, position, world.player().observer));
        }
        turrets.push_back(world.spawn_under(cars.back(), s.turret, world.player().observer));
    }
    world.run(120);
    SplitMix random(3);
    const auto set = [&](EntityId member, auto input, const auto& value) {
        CHECK(world.player().prediction->set_part(world.ghost(0, member), input, value) ==
              Status::ok);
    };
    world.player().control = [&](DriveWorld::Player& player, InputNumber) {
        for (const EntityId car : cars)
            set(car, s.drive, Drive{random.between(-1, 1), random.between(-1, 1), false});
        for (const EntityId turret : turrets)
            set(turret, s.turn, Turn{random.between(-1, 1), false});
        // A raw command takes room in the same packets.
        (void)player.client.send_command(std::vector<std::byte>(limits::command_bytes));
    };
    world.run(300);
    const InputCounters before = internal(*world.server).inputs.counters();
    world.run(600);
    const InputCounters after = internal(*world.server).inputs.counters();
    CHECK(after.starved - before.starved < 10);
    CHECK(after.skipped == before.skipped);
    CHECK(world.player().client.stats().packets_malformed == 0);
    CHECK(internal(*world.server).drops.total() == 0);
}

TEST_CASE("input sender: a recreated prediction continues the commands of the last one") {
    DriveWorld world(1);
    Driver driver(world);
    const float before = driver.meters();
    CHECK(before > 10);
    PredictionDef def;
    def.schema = &world.schema.schema;
    def.step = world.player().step.get();
    def.view_delay_ticks = 4;
    auto made = Prediction::create(world.player().client, def);
    REQUIRE(made);
    *world.player().prediction = std::move(made).value();
    world.player().statuses.clear();
    const std::uint64_t repeated = internal(*world.server).inputs.counters().repeated;
    CHECK(driver.meters() > before / 2);
    CHECK(counted(world.player().statuses)[Status::ok] > 100);
    world.run(60);
    const float ahead = world.player().prediction->position_of(driver.ghost, world.now).x -
                        world.world().position_of(driver.vehicle).x;
    CHECK(std::abs(ahead) < 3);
    CHECK(internal(*world.server).inputs.counters().repeated - repeated < 2'000);
}

}  // namespace purview::test
