// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Predicted passengers: boarding, changing seats, and carriers that turn or despawn.
#include "core/rotation.hpp"
#include "idle_game.hpp"
#include "support/car.hpp"

using namespace purview;
using namespace purview::test;

namespace {

/// Returns a function that reads the largest drawn distance from `position`. It covers the frames
/// of the first player's client from this call on.
std::function<double()> farthest_from(DriveWorld& world, EntityId entity, Vec3 position) {
    const auto farthest = std::make_shared<double>(0);
    world.after_client = [&world, entity, position, farthest](auto& player, Micros at) {
        const Vec3 drawn = player.prediction->position_of(world.ghost(0, entity), at);
        *farthest =
            std::max<double>(*farthest, std::hypot(drawn.x - position.x, drawn.y - position.y));
    };
    return [farthest] { return *farthest; };
}

}  // namespace

TEST_CASE("prediction: a passenger is drawn on the predicted vehicle and turns with it (O4)") {
    DriveWorld world(1, bad_network);
    const Car car = make_car(world, 0, {100, 100, 0});
    const EntityId rider = world.spawn(world.schema.rider, {97, 101, 0});
    REQUIRE(world.world().attach(rider, car.vehicle, OwnerPolicy::keep) == Status::ok);
    world.run(60);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    Prediction& prediction = *world.player().prediction;
    double worst = 0, furthest = 0, ahead = 0;
    world.after_client = [&](auto&, Micros at) {
        const GhostId vehicle = world.ghost(0, car.vehicle), its = world.ghost(0, rider);
        if (vehicle == GhostId::none || its == GhostId::none) return;
        const Vec3 position = prediction.position_of(vehicle, at),
                   on_it = prediction.position_of(its, at);
        const Rotation turn = prediction.orientation_of(vehicle, at);
        const double yaw = 2 * std::atan2(turn.z, turn.w);
        const double x = position.x - 3 * std::cos(yaw) - std::sin(yaw);
        const double y = position.y - 3 * std::sin(yaw) + std::cos(yaw);
        worst = std::max(worst, std::hypot(on_it.x - x, on_it.y - y));
        furthest = std::max(furthest, std::hypot(position.x - 100.0, position.y - 100.0));
        const Vec3 received = world.player().client.position_of(its, prediction.view_tick(at));
        ahead = std::max(ahead, std::hypot(received.x - x, received.y - y));
    };
    world.run(1500);
    CHECK(worst < 0.01);
    CHECK(furthest > 100);
    CHECK(ahead > 2);  // the unpredicted position is outside the car
    CHECK(prediction.stats().corrections == 0);
}

TEST_CASE("prediction: an owned passenger is predicted without corrections") {
    DriveWorld world(1);
    const Car car = make_car(world, 0, {100, 100, 0});
    world.spawn_under(car.vehicle, world.schema.rider, world.player().observer, {97, 101, 0});
    world.run(120);
    CHECK(world.player().prediction->stats().consumed > 60);
    CHECK(world.player().prediction->stats().corrections == 0);
}

TEST_CASE("prediction: passengers move with the vehicle, predicted or not (O4 O33)") {
    for (const bool is_bad : {false, true}) {
        CAPTURE(is_bad);
        DriveWorld world(2, is_bad ? bad_network : Faults{});
        const auto& s = world.schema;
        const Car car = make_car(world, 0, {100, 100, 0});
        // The first passenger belongs to the driver, the others to the other player. The first two
        // can walk, the last one only sits.
        std::array<EntityId, 3> index{};
        for (std::size_t i = 0; i < index.size(); ++i) {
            const KindId kind = i == 2 ? s.rider : s.walker;
            index[i] = world.spawn(kind, {98 + static_cast<float>(i), 101, 0},
                                   world.player(i == 0 ? 0 : 1).observer);
            REQUIRE(world.world().attach(index[i], car.vehicle, OwnerPolicy::keep) == Status::ok);
        }
        world.run(120);
        const auto local = [&](std::size_t i) { return world.world().local_position_of(index[i]); };
        const std::array<Vec3, 3> before{local(0), local(1), local(2)};
        const std::uint64_t corrected[] = {world.player(0).prediction->stats().corrections,
                                           world.player(1).prediction->stats().corrections};
        world.player(0).control = [&](auto& player, InputNumber tick) {
            drive(world, player, car, tick);
        };
        bool walks = true;
        world.player(1).control = [&](auto& player, InputNumber) {
            const GhostId ghost = world.ghost(1, index[1]);
            if (ghost != GhostId::none)
                (void)player.prediction->set_part(
                    ghost, s.drive, Drive{walks ? 0.05F : 0, walks ? 0.02F : 0, false});
        };
        double apart =
            0;  // largest change of the drawn distance between the seated passenger and the car
        world.after_client = [&](auto& player, Micros at) {
            if (&player != &world.player(1)) return;
            const GhostId ghost = world.ghost(1, index[2]), vehicle = world.ghost(1, car.vehicle);
            if (ghost == GhostId::none || vehicle == GhostId::none) return;
            const Vec3 a = player.prediction->position_of(ghost, at);
            const Vec3 b = player.prediction->position_of(vehicle, at);
            apart = std::max(apart, std::abs(std::hypot(a.x - b.x, a.y - b.y) -
                                             std::hypot(before[2].x, before[2].y)) +
                                        0.0);
        };
        world.run(900);
        CHECK(std::hypot(world.world().position_of(car.vehicle).x - 100.0,
                         world.world().position_of(car.vehicle).y - 100.0) > 50);
        CHECK(local(0) == before[0]);
        CHECK(local(2) == before[2]);
        CHECK(std::hypot(local(1).x - before[1].x, local(1).y - before[1].y) > 5);
        CHECK(apart < 0.02);
        // Neither player is corrected while the other one drives or walks.
        CHECK(world.player(0).prediction->stats().corrections == corrected[0]);
        CHECK(world.player(1).prediction->stats().corrections == corrected[1]);
        // Once nothing moves, the predicted local position equals that of the server.
        walks = false;
        world.player(0).control = [&](auto& player, InputNumber) {
            (void)player.prediction->set_part(world.ghost(0, car.vehicle), s.drive, Drive{});
        };
        world.run(600);
        const GhostId ghost = world.ghost(1, index[1]);
        const Prediction& own = *world.player(1).prediction;
        const auto* position =
            static_cast<const Spot*>(own.read(ghost, s.position.id, own.newest_input()));
        REQUIRE(position != nullptr);
        CHECK(position->at == local(1));
        // The passenger leaves and boards the car again. Its drawn position must not jump.
        Vec3 last = own.position_of(ghost, world.now);
        double farthest = 0;
        world.after_client = [&](auto& player, Micros at) {
            if (&player != &world.player(1)) return;
            const Vec3 drawn = player.prediction->position_of(ghost, at);
            farthest = std::max<double>(farthest, std::hypot(drawn.x - last.x, drawn.y - last.y));
            last = drawn;
        };
        for (const bool is_on : {false, true, false}) {
            const Status status =
                is_on ? world.world().attach(index[1], car.vehicle, OwnerPolicy::keep)
                      : world.world().detach(index[1]);
            REQUIRE(status == Status::ok);
            world.run(120);
            const Vec3 expected = is_on ? local(1) : world.world().position_of(index[1]);
            position = static_cast<const Spot*>(own.read(ghost, s.position.id, own.newest_input()));
            REQUIRE(position != nullptr);
            CHECK(position->at == expected);
        }
        CHECK(farthest < 0.05);
    }
}

TEST_CASE("prediction: a passenger keeps its position when its carrier despawns") {
    for (const bool is_silent : {false, true}) {
        CAPTURE(is_silent);
        DriveWorld world(1);
        DriveWorld::Player& player = world.player();
        const EntityId ship = world.spawn(world.schema.vehicle, {500, 500, 0});
        const EntityId rider =
            world.spawn_under(ship, world.schema.walker, player.observer, {503, 501, 0});
        world.run(60);
        REQUIRE(player.prediction->is_predicted(world.ghost(0, rider)));
        double farthest = 0;
        world.after_client = [&](auto&, Micros at) {
            player.client.clear_events();
            const Vec3 drawn = player.prediction->position_of(world.ghost(0, rider), at);
            farthest = std::max<double>(farthest, std::hypot(drawn.x - 503, drawn.y - 501));
        };
        player.is_silent = is_silent;  // a silent client runs no ticks
        REQUIRE(world.world().despawn(ship) == Status::ok);
        world.run(20);
        CHECK(farthest < 0.05);
        player.is_silent = false;
        world.run(60);
        CHECK(farthest < 0.05);
    }
}

TEST_CASE("prediction: a passenger keeps its position if a new carrier reuses the ghost id") {
    DriveWorld world(1);
    DriveWorld::Player& player = world.player();
    const EntityId first = world.spawn(world.schema.vehicle, {500, 500, 0});
    const EntityId rider =
        world.spawn_under(first, world.schema.walker, player.observer, {503, 501, 0});
    world.run(60);
    const GhostId id = world.ghost(0, first);
    player.is_silent = true;  // all changes happen between two client ticks
    REQUIRE(world.world().despawn(first) == Status::ok);
    world.run(20);
    const EntityId second = world.spawn(world.schema.vehicle, {520, 500, 0});
    REQUIRE(world.world().attach(rider, second, OwnerPolicy::keep) == Status::ok);
    world.run(20);
    REQUIRE(world.ghost(0, second) == id);
    const auto farthest = farthest_from(world, rider, {503, 501, 0});
    world.run(1);
    player.is_silent = false;
    world.run(60);
    CHECK(farthest() < 0.05);
}

TEST_CASE("prediction: a passenger that changes seats keeps its position uncorrected") {
    for (const Micros delay_us : {0, 40'000}) {
        CAPTURE(delay_us);
        DriveWorld world(1, Faults{.delay_us = delay_us});
        DriveWorld::Player& player = world.player();
        const auto& s = world.schema;
        const EntityId ship = world.spawn(s.vehicle, {500, 500, 0});
        const EntityId first = world.spawn_under(ship, s.vehicle, ObserverId::none, {500, 500, 0});
        const EntityId second = world.spawn_under(ship, s.vehicle, ObserverId::none, {520, 500, 0});
        const EntityId rider = world.spawn_under(first, s.walker, player.observer, {503, 501, 0});
        world.run(120);
        REQUIRE(player.prediction->is_predicted(world.ghost(0, rider)));
        const std::uint64_t corrected = player.prediction->stats().corrections;
        const auto farthest = farthest_from(world, rider, {503, 501, 0});
        REQUIRE(world.world().attach(rider, second, OwnerPolicy::keep) == Status::ok);
        world.run(60);
        CHECK(world.world().parent_of(rider) == second);
        CHECK(farthest() < 0.05);
        CHECK(player.prediction->stats().corrections == corrected);
    }
}

TEST_CASE("prediction: a passenger keeps its orientation when it boards or leaves a carrier") {
    for (const Micros delay_us : {0, 40'000}) {
        CAPTURE(delay_us);
        DriveWorld world(1, Faults{.delay_us = delay_us});
        DriveWorld::Player& player = world.player();
        const auto& s = world.schema;
        const EntityId car = world.spawn(s.vehicle, {500, 500, 0});
        world.world().edit(car, s.motion)->heading = 1.5F;
        const EntityId straight = world.spawn(s.vehicle, {500, 510, 0});
        const EntityId rider = world.spawn(s.walker, {503, 501, 0}, player.observer);
        world.world().edit(rider, s.motion)->heading = 0.3F;
        world.run(120);
        const GhostId ghost = world.ghost(0, rider);
        REQUIRE(player.prediction->is_predicted(ghost));
        const Rotation before = player.prediction->orientation_of(ghost, world.now);
        const std::uint64_t corrected = player.prediction->stats().corrections;
        double farthest = 0, turned = 0;
        world.after_client = [&](auto&, Micros at) {
            const Vec3 drawn = player.prediction->position_of(ghost, at);
            farthest = std::max<double>(farthest, std::hypot(drawn.x - 503, drawn.y - 501));
            const Rotation turn = player.prediction->orientation_of(ghost, at);
            turned = std::max(turned, angle_between(turn, before));
        };
        for (const EntityId below : {car, EntityId::none, straight, car, EntityId::none}) {
            const Status status = below == EntityId::none
                                      ? world.world().detach(rider)
                                      : world.world().attach(rider, below, OwnerPolicy::keep);
            REQUIRE(status == Status::ok);
            world.run(60);
            CHECK(angle_between(world.world().orientation_of(rider), before) < 0.001);
        }
        // First under a parent without a position, then on a seat that the client has not received
        // yet.
        const EntityId jetpack = world.spawn_under(car, s.jetpack, ObserverId::none);
        REQUIRE(world.world().attach(rider, jetpack, OwnerPolicy::keep) == Status::ok);
        world.run(60);
        const EntityId other = world.spawn_under(car, s.vehicle, ObserverId::none, {480, 500, 0});
        world.world().edit(other, s.motion)->heading = -1;
        REQUIRE(world.world().attach(rider, other, OwnerPolicy::keep) == Status::ok);
        world.run(60);
        CHECK(player.client.parent_of(ghost) == world.ghost(0, other));
        CHECK(farthest < 0.05);
        CHECK(turned < 0.01);
        CHECK(player.prediction->stats().corrections == corrected);
    }
}
