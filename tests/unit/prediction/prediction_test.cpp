// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "../host/stage.hpp"
#include "core/rotation.hpp"
#include "drive_world.hpp"
#include "idle_game.hpp"

using namespace purview;
using namespace purview::test;

namespace {

/// 150 ms round trip, 20 ms of jitter, 5 % loss in either direction.
constexpr Faults bad_network{.loss = 0.05F, .delay_us = 65'000, .jitter_us = 20'000};

struct Car {
    EntityId vehicle, turret, jetpack;
};

Car make_car(DriveWorld& world, std::size_t player, Vec3 at = {}) {
    const ObserverId owner = world.player(player).observer;
    Car car{};
    car.vehicle = world.spawn(world.schema.vehicle, at, owner);
    car.turret = world.spawn_under(car.vehicle, world.schema.turret, owner, at);
    car.jetpack = world.spawn_under(car.vehicle, world.schema.jetpack, owner);
    world.world().edit(car.jetpack, world.schema.tank)->fuel = 100;
    return car;
}

/// Straight, then curves to both sides, with the turret turning and bursts of the jetpack.
void drive(DriveWorld& world, DriveWorld::Player& player, const Car& car, CommandTick tick) {
    const std::size_t who = static_cast<std::size_t>(player.address.port - 1);
    const GhostId vehicle = world.ghost(who, car.vehicle);
    if (vehicle == no_ghost) return;
    Drive input;
    input.throttle = 0.8F;
    input.steer = tick % 600 < 300 ? 0 : (tick % 600 < 450 ? 0.7F : -0.9F);
    input.jet = tick % 200 < 40;
    (void)player.prediction->set_part(vehicle, world.schema.drive, input);
    const GhostId turret = world.ghost(who, car.turret);
    if (turret != no_ghost)
        (void)player.prediction->set_part(turret, world.schema.turn, Turn{0.5F});
}

/// From now on, how far the first player's client has drawn it from there at most.
std::function<double()> farthest_from(DriveWorld& world, EntityId entity, Vec3 place) {
    const auto farthest = std::make_shared<double>(0);
    world.after_client = [&world, entity, place, farthest](auto& player, Micros at) {
        const Vec3 drawn = player.prediction->place_of(world.ghost(0, entity), at);
        *farthest = std::max<double>(*farthest, std::hypot(drawn.x - place.x, drawn.y - place.y));
    };
    return [farthest] { return *farthest; };
}

}  // namespace

TEST_CASE("prediction: what is shown keeps its distance to the server when that stood still") {
    DriveWorld world(1);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, CommandTick tick) {
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
    world.now += 1'200'000;  // the server did nothing
    world.run(3 * static_cast<int>(world.player().client.tick_hz()));
    CHECK(behind() == doctest::Approx(usual).epsilon(0.3));
}

TEST_CASE(
    "prediction: what is told with every tick is drawn as it was, as far behind as is looked") {
    for (const float delay : {2.0F, 7.0F, 12.0F, 15.0F}) {
        CAPTURE(delay);
        PredictionDef def;
        def.view_delay_ticks = delay;
        DriveWorld world(1, Faults{.delay_us = 30'000}, 60, def);
        DriveWorld::Player& player = world.player();
        const EntityId car = world.spawn(world.schema.vehicle);
        std::map<Tick, float> was;
        world.on_simulate = [&](Server& its, Tick tick) {
            const float x = its.world().place_of(car).x + 20.0F / 60;
            REQUIRE(its.world().move(car, {x, 0, 0}) == Status::ok);
            was[tick] = x;
        };
        world.spawn(world.schema.vehicle, {0, 50, 0}, player.observer);
        world.run(100);
        const GhostId ghost = world.ghost(0, car);
        double worst = 0;
        world.after_client = [&](auto&, Micros at) {
            const double tick = player.prediction->view_tick(at);
            const auto before = static_cast<Tick>(tick);
            const float x = player.prediction->place_of(ghost, at).x;
            const double is = was[before] + (was[before + 1] - was[before]) * (tick - before);
            worst = std::max(worst, std::abs(x - is));
        };
        world.run(120);
        CHECK(worst < 0.01);
    }
}

TEST_CASE(
    "prediction: who rests longer than the view is behind is drawn at rest until he goes, whatever "
    "else is told of him") {
    for (const bool is_told_of : {false, true}) {
        CAPTURE(is_told_of);
        PredictionDef def;
        def.view_delay_ticks = 6;
        DriveWorld world(1, Faults{.delay_us = 30'000}, 60, def);
        DriveWorld::Player& player = world.player();
        const EntityId car = world.spawn(world.schema.vehicle);
        std::map<Tick, float> was;
        world.on_simulate = [&](Server& its, Tick tick) {
            float x = its.world().place_of(car).x;
            if (tick % 30 < 10) REQUIRE(its.world().move(car, {x += 1, 0, 0}) == Status::ok);
            if (is_told_of && tick % 3 == 2)
                its.world().edit(car, world.schema.motion)->speed = static_cast<float>(tick);
            was[tick] = x;
        };
        world.spawn(world.schema.vehicle, {0, 50, 0}, player.observer);
        world.run(100);
        const GhostId ghost = world.ghost(0, car);
        double worst = 0;
        world.after_client = [&](auto&, Micros at) {
            const double tick = player.prediction->view_tick(at);
            const auto before = static_cast<Tick>(tick);
            const float x = player.prediction->place_of(ghost, at).x;
            const double is = was[before] + (was[before + 1] - was[before]) * (tick - before);
            worst = std::max(worst, std::abs(x - is));
        };
        world.run(120);
        CHECK(worst < 0.01);
    }
}

TEST_CASE("prediction: what is ours stands in an outage in which no more commands have room") {
    DriveWorld world(1, Faults{.delay_us = 40'000});
    const EntityId vehicle = world.spawn(world.schema.vehicle, {}, world.player().observer);
    world.run(60);
    const GhostId ghost = world.ghost(0, vehicle);
    world.player().control = [&](auto& player, CommandTick) {
        (void)player.prediction->set_part(ghost, world.schema.drive, Drive{0.8F, 0, false});
    };
    world.run(120);
    world.player().statuses.clear();
    world.player().up.blackout = world.player().down.blackout = true;
    float last = 0, back = 0;
    for (int tick = 0; tick < 150; ++tick) {
        world.tick();
        for (const Micros later : {0, 4'000, 8'000, 12'000}) {
            const float drawn = world.player().prediction->place_of(ghost, world.now + later).x;
            back = std::max(back, last - drawn);
            last = drawn;
        }
    }
    const auto& statuses = world.player().statuses;
    CHECK(std::find(statuses.begin(), statuses.end(), Status::capacity) != statuses.end());
    CHECK(back < 0.001F);
}

TEST_CASE(
    "prediction: a turn that is corrected glides, with whoever sits upon it, and is visible") {
    DriveWorld world(1, Faults{.delay_us = 40'000}, 60);
    const EntityId vehicle = world.spawn(world.schema.vehicle, {}, world.player().observer);
    const EntityId rider =
        world.spawn_under(vehicle, world.schema.rider, ObserverId::none, {10, 0, 0});
    world.run(120);
    const GhostId ghost = world.ghost(0, vehicle), upon = world.ghost(0, rider);
    const Prediction& prediction = *world.player().prediction;
    const std::uint64_t invisible = prediction.stats().invisible;
    world.world().edit(vehicle, world.schema.motion)->heading = 0.4F;
    Rotation last = prediction.orientation_of(ghost, world.now);
    Vec3 seat = prediction.place_of(upon, world.now);
    double turned = 0, thrown = 0;
    for (int tick = 0; tick < 90; ++tick) {
        world.tick();
        for (const Micros later : {0, 4'000, 8'000, 12'000}) {
            const Rotation turn = prediction.orientation_of(ghost, world.now + later);
            const Vec3 at = prediction.place_of(upon, world.now + later);
            turned = std::max(turned, angle_between(last, turn));
            thrown = std::max(thrown, std::hypot<double>(at.x - seat.x, at.y - seat.y));
            last = turn;
            seat = at;
        }
    }
    CHECK(prediction.stats().corrections == 1);
    CHECK(prediction.stats().invisible == invisible);
    CHECK(turned < 0.05);
    CHECK(thrown < 0.5);
    CHECK(angle_between(last, about_axis(0.4, 2)) < 0.01);
}

TEST_CASE("prediction: without inputs there is nothing to run, and what is shown has its clock") {
    Schema schema;
    const Component<Place> place = add_place(schema, 0, 100);
    const KindId kind = schema.kind("one", {place.id});
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
    const Vec3 newest = stage.client().place_of(ghost, stage.client().newest_tick());
    const Vec3 shown = prediction.place_of(ghost, stage.now);
    CHECK(newest.x - shown.x == doctest::Approx(behind).epsilon(0.05));
    // Between two ticks it goes on.
    CHECK(prediction.place_of(ghost, stage.now + 25'000).x - shown.x ==
          doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("prediction: a client goes as slowly as a server that cannot keep its rate") {
    DriveWorld world(1, {.loss = 0.02F, .delay_us = 30'000, .jitter_us = 15'000});
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    Prediction& prediction = *world.player().prediction;
    const int second = static_cast<int>(world.player().client.tick_hz());
    world.run(3 * second);
    for (const double pace : {0.45, 0.8, 1.0}) {
        CAPTURE(pace);
        world.pace = pace;
        world.run(6 * second);  // it learns
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
        // Two ticks are the delay, the rest is jitter and what a lost packet lacks.
        CHECK(behind_least > -2);
        CHECK(behind_most < 5);
        const PredictionStats after = prediction.stats();
        CHECK(after.starved - before.starved < 20);
        CHECK(after.waiting < 8);
        CHECK(after.corrections - after.invisible == before.corrections - before.invisible);
        MESSAGE("pace " << pace << ": behind " << behind_least << " to " << behind_most
                        << ", starved " << after.starved - before.starved << ", waiting "
                        << after.waiting << ", corrections "
                        << after.corrections - before.corrections);
    }
}

TEST_CASE("prediction: a passenger is drawn on the predicted vehicle and turns with it (O4)") {
    DriveWorld world(1, bad_network);
    const Car car = make_car(world, 0, {100, 100, 0});
    const EntityId rider = world.spawn(world.schema.rider, {97, 101, 0});
    REQUIRE(world.world().attach(rider, car.vehicle, OwnerPolicy::keep) == Status::ok);
    world.run(60);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    Prediction& prediction = *world.player().prediction;
    double worst = 0, furthest = 0, ahead = 0;
    world.after_client = [&](auto&, Micros at) {
        const GhostId vehicle = world.ghost(0, car.vehicle), its = world.ghost(0, rider);
        if (vehicle == no_ghost || its == no_ghost) return;
        const Vec3 place = prediction.place_of(vehicle, at), on_it = prediction.place_of(its, at);
        const Rotation turn = prediction.orientation_of(vehicle, at);
        const double yaw = 2 * std::atan2(turn.z, turn.w);
        const double x = place.x - 3 * std::cos(yaw) - std::sin(yaw);
        const double y = place.y - 3 * std::sin(yaw) + std::cos(yaw);
        worst = std::max(worst, std::hypot(on_it.x - x, on_it.y - y));
        furthest = std::max(furthest, std::hypot(place.x - 100.0, place.y - 100.0));
        const Vec3 heard = world.player().client.place_of(its, prediction.view_tick(at));
        ahead = std::max(ahead, std::hypot(heard.x - x, heard.y - y));
    };
    world.run(1500);
    CHECK(worst < 0.01);
    CHECK(furthest > 100);
    CHECK(ahead > 2);  // as the server last had him he would be out of the car
    CHECK(prediction.stats().corrections == 0);
}

TEST_CASE("prediction: an own passenger is predicted where he is in the world") {
    DriveWorld world(1);
    const Car car = make_car(world, 0, {100, 100, 0});
    world.spawn_under(car.vehicle, world.schema.rider, world.player().observer, {97, 101, 0});
    world.run(120);
    CHECK(world.player().prediction->stats().consumed > 60);
    CHECK(world.player().prediction->stats().corrections == 0);
}

TEST_CASE(
    "prediction: who is carried goes along, whoever drives, also if his client predicts him (O4 "
    "O33)") {
    for (const bool is_bad : {false, true}) {
        CAPTURE(is_bad);
        DriveWorld world(2, is_bad ? bad_network : Faults{});
        const auto& s = world.schema;
        const Car car = make_car(world, 0, {100, 100, 0});
        // One of the driver's own and two of the other one's: who walks about, and who only sits.
        std::array<EntityId, 3> who{};
        for (std::size_t i = 0; i < who.size(); ++i) {
            const KindId kind = i == 2 ? s.rider : s.walker;
            who[i] = world.spawn(kind, {98 + static_cast<float>(i), 101, 0},
                                 world.player(i == 0 ? 0 : 1).observer);
            REQUIRE(world.world().attach(who[i], car.vehicle, OwnerPolicy::keep) == Status::ok);
        }
        world.run(120);
        const auto local = [&](std::size_t i) { return world.world().local_place_of(who[i]); };
        const std::array<Vec3, 3> before{local(0), local(1), local(2)};
        const std::uint64_t corrected[] = {world.player(0).prediction->stats().corrections,
                                           world.player(1).prediction->stats().corrections};
        world.player(0).control = [&](auto& player, CommandTick tick) {
            drive(world, player, car, tick);
        };
        bool walks = true;
        world.player(1).control = [&](auto& player, CommandTick) {
            const GhostId ghost = world.ghost(1, who[1]);
            if (ghost != no_ghost)
                (void)player.prediction->set_part(
                    ghost, s.drive, Drive{walks ? 0.05F : 0, walks ? 0.02F : 0, false});
        };
        double apart =
            0;  // of where the sitting one is drawn and where the car is, less their distance
        world.after_client = [&](auto& player, Micros at) {
            if (&player != &world.player(1)) return;
            const GhostId ghost = world.ghost(1, who[2]), vehicle = world.ghost(1, car.vehicle);
            if (ghost == no_ghost || vehicle == no_ghost) return;
            const Vec3 a = player.prediction->place_of(ghost, at);
            const Vec3 b = player.prediction->place_of(vehicle, at);
            apart = std::max(apart, std::abs(std::hypot(a.x - b.x, a.y - b.y) -
                                             std::hypot(before[2].x, before[2].y)) +
                                        0.0);
        };
        world.run(900);
        CHECK(std::hypot(world.world().place_of(car.vehicle).x - 100.0,
                         world.world().place_of(car.vehicle).y - 100.0) > 50);
        CHECK(local(0) == before[0]);
        CHECK(local(2) == before[2]);
        CHECK(std::hypot(local(1).x - before[1].x, local(1).y - before[1].y) > 5);
        CHECK(apart < 0.02);
        // Neither is corrected because the other one drives or walks about.
        CHECK(world.player(0).prediction->stats().corrections == corrected[0]);
        CHECK(world.player(1).prediction->stats().corrections == corrected[1]);
        // At rest what he predicts is what the server has, as seen from the car.
        walks = false;
        world.player(0).control = [&](auto& player, CommandTick) {
            (void)player.prediction->set_part(world.ghost(0, car.vehicle), s.drive, Drive{});
        };
        world.run(600);
        const GhostId ghost = world.ghost(1, who[1]);
        const Prediction& his = *world.player(1).prediction;
        const auto* place =
            static_cast<const Spot*>(his.read(ghost, s.place.id, his.newest_command()));
        REQUIRE(place != nullptr);
        CHECK(place->at == local(1));
        // He gets off and on again: there he stands, and is not drawn elsewhere for a moment.
        Vec3 last = his.place_of(ghost, world.now);
        double farthest = 0;
        world.after_client = [&](auto& player, Micros at) {
            if (&player != &world.player(1)) return;
            const Vec3 drawn = player.prediction->place_of(ghost, at);
            farthest = std::max<double>(farthest, std::hypot(drawn.x - last.x, drawn.y - last.y));
            last = drawn;
        };
        for (const bool is_on : {false, true, false}) {
            const Status status = is_on
                                      ? world.world().attach(who[1], car.vehicle, OwnerPolicy::keep)
                                      : world.world().detach(who[1]);
            REQUIRE(status == Status::ok);
            world.run(120);
            const Vec3 is = is_on ? local(1) : world.world().place_of(who[1]);
            place = static_cast<const Spot*>(his.read(ghost, s.place.id, his.newest_command()));
            REQUIRE(place != nullptr);
            CHECK(place->at == is);
        }
        CHECK(farthest < 0.05);
    }
}

TEST_CASE("prediction: whose carrier is despawned stands where he stood") {
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
            const Vec3 drawn = player.prediction->place_of(world.ghost(0, rider), at);
            farthest = std::max<double>(farthest, std::hypot(drawn.x - 503, drawn.y - 501));
        };
        player.is_silent = is_silent;  // no tick is due
        REQUIRE(world.world().despawn(ship) == Status::ok);
        world.run(20);
        CHECK(farthest < 0.05);
        player.is_silent = false;
        world.run(60);
        CHECK(farthest < 0.05);
    }
}

TEST_CASE("prediction: who sits on another carrier with the id of the last stands where he stood") {
    DriveWorld world(1);
    DriveWorld::Player& player = world.player();
    const EntityId first = world.spawn(world.schema.vehicle, {500, 500, 0});
    const EntityId rider =
        world.spawn_under(first, world.schema.walker, player.observer, {503, 501, 0});
    world.run(60);
    const GhostId id = world.ghost(0, first);
    player.is_silent = true;  // all of it between two of its ticks
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

TEST_CASE("prediction: who changes the seat stands where he stood, and is not corrected") {
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

TEST_CASE("prediction: whose carrier is turned is turned as he was when he boards and leaves") {
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
            const Vec3 drawn = player.prediction->place_of(ghost, at);
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
        // Below what has no place he is in the world; then in a seat of which he has not heard yet.
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

TEST_CASE("prediction: on a perfect line the server does exactly what the client has predicted") {
    DriveWorld world(1);
    const Car car = make_car(world, 0);
    world.run(10);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    world.run(600);
    const PredictionStats stats = world.player().prediction->stats();
    MESSAGE("corrections " << stats.corrections << " confirmations " << stats.confirmations
                           << " consumed " << stats.consumed << " waiting " << stats.waiting);
    CHECK(stats.corrections == 0);
    CHECK(stats.consumed > 550);
    CHECK(world.world().place_of(car.vehicle).x > 50);
}

TEST_CASE(
    "prediction: 150 ms, 5 % loss and 20 ms of jitter: driving straight and in curves is never "
    "visibly corrected") {
    DriveWorld world(2, bad_network);
    const Car car = make_car(world, 0);
    world.run(60);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    world.run(3'600);
    const PredictionStats stats = world.player().prediction->stats();
    const InputCounters& counters = world.server->input_counters();
    MESSAGE("commands " << stats.newest_command << " consumed " << stats.consumed << " corrections "
                        << stats.corrections << " largest error " << stats.largest_error_m
                        << " m, starved " << counters.starved << " caught up " << counters.caught_up
                        << " skipped " << counters.skipped << " waiting " << stats.waiting);
    CHECK(stats.corrections == stats.invisible);
    CHECK(stats.largest_error_m < 0.02F);
    CHECK(counters.skipped == 0);
    CHECK(stats.consumed > 3'500);
    CHECK(world.world().place_of(car.vehicle).x != 0);
}

TEST_CASE(
    "prediction: a wrong step is corrected once, glides, and takes no fuel (O18, the RFC's bug "
    "1)") {
    const auto run = [](bool root_only) {
        PredictionDef def;
        def.corrects_root_only = root_only;
        DriveWorld world(1, Faults{.delay_us = 75'000}, 60, def);
        const Car car = make_car(world, 0);
        world.run(60);
        world.player().control = [&](auto& player, CommandTick) {
            const GhostId vehicle = world.ghost(0, car.vehicle);
            (void)player.prediction->set_part(vehicle, world.schema.drive, Drive{1, 0.2F, true});
        };
        world.run(120);
        const GhostId jetpack = world.ghost(0, car.jetpack);
        const GhostId vehicle = world.ghost(0, car.vehicle);
        Prediction& prediction = *world.player().prediction;
        const std::uint64_t before = prediction.stats().corrections;
        world.player().step->bias = 0.5F;
        float fuel = prediction.get(jetpack, world.schema.tank)->fuel;
        float largest_drop = 0;
        float largest_jump = 0;
        Vec3 last_shown = prediction.place_of(vehicle, world.now);
        for (int i = 0; i < 120; ++i) {
            const CommandTick was = prediction.newest_command();
            world.tick();
            const float now = prediction.get(jetpack, world.schema.tank)->fuel;
            const float per_tick = 10.0F / 60;
            const auto ticks = static_cast<float>(prediction.newest_command() - was);
            largest_drop = std::max(largest_drop, fuel - now - per_tick * ticks);
            fuel = now;
            const Vec3 shown = prediction.place_of(vehicle, world.now);
            largest_jump =
                std::max(largest_jump, std::hypot(shown.x - last_shown.x, shown.y - last_shown.y));
            last_shown = shown;
        }
        const PredictionStats stats = prediction.stats();
        MESSAGE("root only: " << root_only << ", corrections " << stats.corrections - before
                              << ", replayed " << stats.replayed_commands << ", error "
                              << stats.largest_error_m << " m, largest drop of fuel "
                              << largest_drop << ", largest jump " << largest_jump << " m");
        if (!root_only) {
            CHECK(stats.corrections - before == 1);
            CHECK(stats.largest_error_m == doctest::Approx(0.5).epsilon(0.05));
            CHECK(largest_jump < 1.3F);  // two steps with the jet, the step's own error, no more
            const float of_server = world.world().get(car.jetpack, world.schema.tank)->fuel;
            CHECK(fuel < of_server);
            CHECK(of_server - fuel < 4);
        }
        return largest_drop;
    };
    CHECK(run(false) < 0.01F);
    CHECK_MESSAGE(run(true) > 0.5F, "the bug of the RFC must show when only the root is put back");
}

TEST_CASE(
    "prediction: the state of a group at any remembered command is what the server came to (O41)") {
    DriveWorld world(1, bad_network);
    const Car car = make_car(world, 0);
    world.run(60);
    struct State {
        Vec3 at;
        float fuel;
    };
    std::vector<State> of_server(10'000);
    world.on_input = [&](Server&, ObserverId, GroupState& group, const GroupCommand& command) {
        // What the last command came to is there when the next one is given.
        of_server[command.tick() - 1] = {group.get(0, world.schema.place)->at, 0};
        for (std::size_t m = 0; m < group.size(); ++m) {
            if (const Tank* tank = group.get(m, world.schema.tank))
                of_server[command.tick() - 1].fuel = tank->fuel;
        }
    };
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    world.run(300);
    Prediction& prediction = *world.player().prediction;
    const CommandTick consumed = prediction.stats().consumed;
    REQUIRE(consumed > 100);
    for (CommandTick tick = consumed - 40; tick < consumed; ++tick) {
        const Spot* spot =
            prediction.state_at(world.ghost(0, car.vehicle), world.schema.place, tick);
        REQUIRE(spot != nullptr);
        CHECK(spot->at == of_server[tick].at);
        CHECK(prediction.state_at(world.ghost(0, car.jetpack), world.schema.tank, tick)->fuel ==
              of_server[tick].fuel);
    }
    const GroupState group = prediction.state_at(world.ghost(0, car.vehicle), consumed - 3);
    REQUIRE(group.size() == 3);
    CHECK(group.kind(0) == world.schema.vehicle);
    CHECK(group.ghost(1) == world.ghost(0, car.turret));
    CHECK(group.parent(1) == 0);
    CHECK(prediction.state_at(world.ghost(0, car.vehicle), consumed + 500).size() == 0);
    CHECK(prediction.state_at(world.ghost(0, car.turret), consumed).size() == 0);
}

TEST_CASE(
    "prediction: an owner hears of what he predicts by corrections alone, others as ever (O29)") {
    const auto drive_for_a_while = [](bool by_corrections) {
        DriveWorld world(2, bad_network, 60, {}, {}, nullptr, by_corrections);
        const Car car = make_car(world, 0);
        Client& owner = world.player(0).client;
        Client& other = world.player(1).client;
        const auto is_told = [&](EntityId entity, ComponentId component) {
            const GhostId ghost = world.ghost(0, entity);
            return ghost != no_ghost && owner.is_told(ghost, component);
        };
        const auto knows_place = [&](std::size_t who, EntityId entity) {
            const GhostId ghost = world.ghost(who, entity);
            if (ghost == no_ghost) return false;
            const Client& client = world.player(who).client;
            const Vec3 at = world.world().place_of(entity);
            return client.value_of(ghost, world.schema.place.id, 0) == at.x &&
                   client.value_of(ghost, world.schema.place.id, 1) == at.y;
        };
        world.player().is_silent = true;
        world.run(60);
        CHECK(is_told(car.vehicle, world.schema.place.id));  // he has not given commands yet
        world.player().is_silent = false;
        world.player().control = [&](auto& player, CommandTick tick) {
            drive(world, player, car, tick);
        };
        world.run(60);
        const auto bytes_sent = [&] {
            std::vector<SessionStats> sessions;
            world.server->sessions(sessions);
            return sessions[0].bytes_sent;
        };
        const auto before = bytes_sent();
        for (int i = 0; i < 600; ++i) {
            world.run(1);
            CHECK(is_told(car.vehicle, world.schema.place.id) != by_corrections);
            CHECK(is_told(car.jetpack, world.schema.tank.id) != by_corrections);
            const GhostId ghost = world.ghost(1, car.vehicle);
            CHECK(other.is_told(ghost, world.schema.place.id));
        }
        CHECK(world.player().prediction->stats().corrections == 0);
        const auto bytes = bytes_sent() - before;  // of ten seconds
        // A wrong step is corrected, and nothing else is told.
        world.player().step->bias = 0.5F;
        world.run(40);
        CHECK(world.player().prediction->stats().corrections == 1);
        CHECK(world.player().prediction->stats().last_error_m ==
              doctest::Approx(0.5F).epsilon(0.01));
        // Who says nothing any more is told all of it, though nothing moves.
        world.player().is_silent = true;
        world.run(60);
        CHECK(is_told(car.vehicle, world.schema.place.id));
        for (const EntityId entity : {car.vehicle, car.turret}) CHECK(knows_place(0, entity));
        CHECK(knows_place(1, car.vehicle));
        CHECK(owner.value_of(world.ghost(0, car.jetpack), world.schema.tank.id, 0) ==
              doctest::Approx(world.world().get(car.jetpack, world.schema.tank)->fuel));
        return bytes;
    };
    const auto usual = drive_for_a_while(false), less = drive_for_a_while(true);
    MESSAGE("bytes to the owner: " << usual << ", by corrections alone " << less);
    CHECK(less < usual * 3 / 4);
}

TEST_CASE("prediction: who is not of a commanded group any more is told again at once (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    const auto is_told = [&](EntityId entity) {
        return world.player().client.is_told(world.ghost(0, entity), world.schema.place.id);
    };
    world.run(100);
    CHECK_FALSE(is_told(car.vehicle));
    CHECK_FALSE(is_told(car.turret));
    // Off the vehicle: a group of its own, which he has not come to know as one.
    CHECK(world.world().detach(car.turret) == Status::ok);
    CHECK(world.world().move(car.turret, {7, 8, 0}) == Status::ok);
    world.run(3);
    CHECK(is_told(car.turret));
    world.run(60);
    CHECK_FALSE(is_told(car.turret));
    CHECK_FALSE(is_told(car.vehicle));
    // Hidden and shown again: he goes on with his copy, and hears where it is.
    const auto deny = [&](bool value) {
        CHECK(world.server->interest().deny(world.player().observer, car.vehicle, value) ==
              Status::ok);
    };
    world.player().is_silent = true;  // no command says that it is another group meanwhile
    world.run(6);
    CHECK_FALSE(is_told(car.vehicle));
    deny(true);
    world.run(4);
    CHECK(world.ghost(0, car.vehicle) == no_ghost);
    deny(false);
    world.run(2);
    CHECK(is_told(car.vehicle));
    CHECK(world.player().client.value_of(world.ghost(0, car.vehicle), world.schema.place.id, 0) ==
          doctest::Approx(world.world().place_of(car.vehicle).x));
    world.player().is_silent = false;
    world.run(300);
    CHECK_FALSE(is_told(car.vehicle));
    // Not his any more: he sees it where it is, not where he got on.
    CHECK(world.world().set_owner(car.vehicle, ObserverId::none) == Status::ok);
    for (int i = 0; i < 30; ++i) {
        world.run(1);
        const Vec3 there = world.world().place_of(car.vehicle);
        const Vec3 shown =
            world.player().prediction->place_of(world.ghost(0, car.vehicle), world.now);
        CHECK(std::hypot(there.x - shown.x, there.y - shown.y) < 3);
    }
    CHECK(is_told(car.vehicle));
    CHECK_FALSE(is_told(car.turret));
}

TEST_CASE("prediction: who falls silent before he has taken a correction is told again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    world.run(100);
    // Somebody gets on: what he knows of the group is not so any more, and he never says more.
    CHECK(world.world().attach(world.spawn(world.schema.player), car.vehicle) == Status::ok);
    world.run(3);
    world.player().is_silent = true;
    world.run(60);
    const GhostId ghost = world.ghost(0, car.vehicle);
    CHECK(world.player().client.is_told(ghost, world.schema.place.id));
    CHECK(world.player().client.value_of(ghost, world.schema.place.id, 0) ==
          world.world().place_of(car.vehicle).x);
}

TEST_CASE("prediction: who comes back with a wrong prediction and goes again is told again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, CommandTick tick) {
        drive(world, player, car, tick);
    };
    world.run(100);
    const GhostId ghost = world.ghost(0, car.vehicle);
    const auto is_told = [&] {
        return world.player().client.is_told(ghost, world.schema.place.id);
    };
    CHECK_FALSE(is_told());
    world.player().is_silent = true;
    world.run(200);
    CHECK(is_told());
    world.on_simulate = [&](Server& server, Tick tick) {
        Vec3 at = server.world().place_of(car.vehicle);
        at.y += 1;
        CHECK(server.world().move(car.vehicle, at) == Status::ok);
        CHECK(server.interest().set_main_entity(world.player().observer,
                                                tick % 2 == 0 ? car.vehicle : EntityId::none) ==
              Status::ok);
    };
    world.run(5);
    // What he says then is wrong from the first command on, and all audiences are asked anew.
    world.player().is_silent = false;
    world.run(40);
    world.player().is_silent = true;
    world.on_simulate = nullptr;
    world.run(200);
    CHECK(is_told());
    CHECK(world.player().prediction->stats().corrections > 5);
}

TEST_CASE("prediction: a group that makes room for others is told again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const ObserverId owner = world.player().observer;
    std::vector<EntityId> fillers;
    for (std::size_t i = 0; i < command_groups_max; ++i)
        fillers.push_back(world.spawn(world.schema.shell));
    world.run(10);
    // The one with the highest number is the first that he comes to know.
    const EntityId last = world.spawn(world.schema.vehicle, {}, owner);
    world.run(60);
    const auto replace = [&](std::size_t count) {
        for (; count > 0; --count) {
            CHECK(world.world().despawn(fillers.back()) == Status::ok);
            fillers.pop_back();
            world.run(20);  // its number is free again
            world.spawn(world.schema.vehicle, {}, owner);
        }
        world.run(60);
    };
    const auto is_told = [&] {
        return world.player().client.is_told(world.ghost(0, last), world.schema.place.id);
    };
    replace(command_groups_max - 1);
    CHECK_FALSE(is_told());
    // One more, with a smaller number: a client commands the first eight.
    replace(1);
    CHECK(is_told());
    CHECK(world.world().move(last, {7, 0, 0}) == Status::ok);
    world.run(10);
    CHECK(world.player().client.value_of(world.ghost(0, last), world.schema.place.id, 0) == 7);
}

namespace {

/// A car that its player drives, in a world where his budget binds.
struct Crowded {
    explicit Crowded(bool by_corrections = false)
        : world(1, {}, 60, {}, small_budget(), nullptr, by_corrections), car(make_car(world, 0)) {
        // Without the jet: a member with an engine burns fuel of the others, also unseen.
        world.player().control = [&](auto& player, CommandTick) {
            const GhostId vehicle = world.ghost(0, car.vehicle);
            if (vehicle != no_ghost)
                (void)player.prediction->set_part(vehicle, world.schema.drive, Drive{0.8F, 0.1F});
        };
        for (int i = 0; i < 1'000; ++i)
            others.push_back(world.spawn(world.schema.vehicle, {static_cast<float>(i), 5, 0}));
        world.on_simulate = [&](Server& server, Tick tick) {
            for (const EntityId other : others) {
                const Vec3 at = server.world().place_of(other);
                (void)server.world().move(other, {at.x, tick % 2 == 0 ? 5.0F : 6.0F, 0});
            }
        };
        world.run(300);
    }
    static ServerDef small_budget() {
        ServerDef def;
        def.budget_bytes_per_tick = 200;
        return def;
    }
    std::uint64_t corrections() const { return world.server->input_counters().corrections; }
    /// Until the player is sent that the entity is there; in none of the ticks before is there one
    /// correction more, and then there is one.
    void wait_for(EntityId late) {
        const std::uint64_t before = corrections();
        const auto is_sent = [&] {
            const GhostTable& ghosts =
                world.server->data().find_session(world.player().observer)->ghosts;
            const LocalId lane = ghosts.find(late);
            return lane != no_local_id && ghosts.was_sent(lane);
        };
        int waited = 0;
        for (; waited < 600 && !is_sent(); ++waited) {
            CHECK(corrections() == before);
            world.run(1);
        }
        CAPTURE(waited);
        CHECK(waited > 8);
        CHECK(waited < 600);
        world.run(20);  // longer than a round trip
        CHECK(corrections() == before + 1);
        const GhostId ghost = world.ghost(0, late);
        REQUIRE(ghost != no_ghost);
        CHECK(world.player().prediction->is_predicted(ghost));
        world.run(100);
        CHECK(corrections() == before + 1);
    }

    DriveWorld world;
    Car car;
    std::vector<EntityId> others;
};

}  // namespace

TEST_CASE("prediction: a correction that comes too late is not taken for another ghost's") {
    ServerDef def;
    def.budget_bytes_per_tick = 300;
    DriveWorld world(1, {}, 60, {}, def);
    const ObserverId owner = world.player().observer;
    const EntityId before = world.spawn(world.schema.vehicle, {-500, 0, 0}, owner);
    world.run(60);
    const GhostId id = world.ghost(0, before);
    REQUIRE(id != no_ghost);
    // What corrects it waits behind a message of three seconds.
    const std::vector<std::byte> message(60'000);
    CHECK(world.server->send_message(owner, message) == Status::ok);
    world.run(2);
    CHECK(world.world().move(before, {-400, 0, 0}) == Status::ok);
    world.run(4);
    CHECK(world.world().despawn(before) == Status::ok);
    world.run(30);
    const EntityId after = world.spawn(world.schema.vehicle, {300, 0, 0}, owner);
    const std::uint64_t too_late = world.player().prediction->stats().too_late;
    for (int i = 0; i < 600; ++i) {
        world.tick();
        if (world.ghost(0, after) == no_ghost) continue;
        CHECK(world.ghost(0, after) == id);
        CHECK(world.player().prediction->place_of(id, world.now).x == doctest::Approx(300));
    }
    CHECK(world.player().prediction->stats().too_late > too_late);
}

TEST_CASE("prediction: a step finds every member of its groups, and its parent") {
    ServerDef def;
    def.group_members_max = 512;
    DriveWorld world(1, {}, 60, {}, def);
    DriveWorld::Player& player = world.player();
    const auto& s = world.schema;
    SplitMix random(11);
    // Two forests into one another, so that their ids do not come in the order of input.
    std::array<std::vector<EntityId>, 2> groups;
    for (auto& group : groups) group.push_back(world.spawn(s.vehicle, {}, player.observer));
    for (std::uint32_t i = 0; i < 400; ++i) {
        auto& group = groups[i % 2];
        const auto at = random.below(static_cast<std::uint32_t>(
            std::min<std::size_t>(group.size(), 40)));  // no deeper than groups may be
        const EntityId parent = group[at / 8];
        const Vec3 place{static_cast<float>(i), 0, 0};
        group.push_back(world.spawn_under(parent, s.walker, ObserverId::none, place));
    }
    world.run(120);
    Prediction& prediction = *player.prediction;
    const CommandTick newest = prediction.newest_command();
    for (const auto& group : groups) {
        const GroupState state = prediction.state_at(world.ghost(0, group[0]), newest);
        REQUIRE(state.size() == group.size());
        CHECK(state.parent(0) == state.size());
        for (std::size_t m = 0; m < state.size(); ++m) {
            CHECK(prediction.state_at(state.ghost(m), s.place, newest) == state.get(m, s.place));
            if (m == 0) continue;
            REQUIRE(state.parent(m) < m);
            CHECK(state.ghost(state.parent(m)) == player.client.parent_of(state.ghost(m)));
        }
        for (const EntityId member : group) {
            const Spot* const place = prediction.get(world.ghost(0, member), s.place);
            REQUIRE(place != nullptr);
            const Vec3 is = world.world().local_place_of(member);
            CHECK(place->at.x == doctest::Approx(is.x).epsilon(0.001));
        }
    }
}

TEST_CASE("prediction: a ghost has nothing of the one who had its id before") {
    DriveWorld world(1, {}, 60, {.error_half_life_ms = 60'000});
    DriveWorld::Player& player = world.player();
    Prediction& prediction = *player.prediction;
    const auto& s = world.schema;
    const EntityId before = world.spawn(s.vehicle, {-500, 0, 0}, player.observer);
    world.run(60);
    const GhostId id = world.ghost(0, before);
    const CommandTick then = prediction.newest_command();
    CHECK(prediction.state_at(id, then).size() == 1);
    player.step->bias = 3;  // predicted wrongly: it glides to where the server has it
    world.run(20);
    REQUIRE(world.server->set_in_input(before, false) == Status::ok);
    world.run(20);
    CHECK(prediction.error_of(id).x == doctest::Approx(3).epsilon(0.1));
    CHECK(prediction.set_part(id, s.drive, Drive{}) == Status::refused);
    player.is_silent = true;  // all of it between two of its ticks
    REQUIRE(world.world().despawn(before) == Status::ok);
    world.run(20);
    const EntityId after = world.spawn(s.vehicle, {300, 0, 0}, player.observer);
    world.run(20);
    REQUIRE(world.ghost(0, after) == id);
    CHECK(prediction.error_of(id) == Vec3{});
    CHECK(prediction.get(id, s.place) == nullptr);
    CHECK(prediction.state_at(id, then).size() == 0);
    CHECK(prediction.set_part(id, s.drive, Drive{}) == Status::ok);
    player.is_silent = false;
    world.run(1);
    CHECK(prediction.place_of(id, world.now).x == doctest::Approx(300));
    REQUIRE(prediction.get(id, s.place) != nullptr);
    CHECK(prediction.get(id, s.place)->at.x == doctest::Approx(300));
}

TEST_CASE("prediction: a member that waits for its enter makes no correction before it was sent") {
    Crowded crowded;
    DriveWorld& world = crowded.world;
    crowded.wait_for(
        world.spawn_under(crowded.car.vehicle, world.schema.jetpack, world.player().observer, {}));
}

TEST_CASE("prediction: a member whose copy was kept makes no correction before that goes on") {
    Crowded crowded(true);
    DriveWorld& world = crowded.world;
    const ObserverId who = world.player().observer;
    const EntityId trailer =
        world.spawn_under(crowded.car.vehicle, world.schema.vehicle, who, {-4, 0, 0});
    crowded.wait_for(trailer);
    CHECK(world.world().detach(trailer) == Status::ok);
    CHECK(world.server->interest().deny(who, trailer, true) == Status::ok);
    world.run(100);
    REQUIRE(world.server->data().find_session(who)->ghosts.is_lingering(trailer));
    CHECK(world.server->interest().deny(who, trailer, false) == Status::ok);
    CHECK(world.world().attach(trailer, crowded.car.vehicle) == Status::ok);
    crowded.wait_for(trailer);
}

TEST_CASE("prediction: what is unpredicted must be predicted, and may be a place (O29)") {
    Schema schema;
    const auto spot = schema.component<Spot>("place");
    Schema wrong = schema;
    wrong.audience(spot.id(), {AudienceType::unpredicted});
    CHECK(wrong.status() == Status::bad_configuration);
    DriveSchema right(true);
    CHECK(right.schema.status() == Status::ok);
    // On its way to a client, too; where what it says contradicts itself it is refused.
    const auto read_back = [](const Schema& said) {
        std::vector<std::byte> bytes(60'000);
        BitWriter out(bytes);
        write_schema(said, out);
        BitReader in(out.written());
        return read_schema(in);
    };
    const auto read = read_back(right.schema);
    REQUIRE(read);
    CHECK(read->hash() == right.schema.hash());
    CHECK(read->components()[0].audience.keeps_values);
    Schema unsound;
    ComponentDef place;
    place.name = "place";
    place.size_bytes = sizeof(Spot);
    place.audience = {AudienceType::unpredicted, KeyDomain::none, nullptr, true};
    unsound.set_place(unsound.add_component(place));
    CHECK(unsound.status() == Status::ok);
    CHECK_FALSE(read_back(unsound));
    // Nobody is told as seen from what may not be told.
    right.schema.edit_kind(right.rider).relative_place = true;
    CHECK_FALSE(read_back(right.schema));
    IdleGame idle;
    ServerDef def;
    def.schema = &right.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    CHECK(Server::create(def, idle).error() == Status::bad_configuration);
    right.schema.edit_kind(right.rider).relative_place = false;
    CHECK(Server::create(def, idle));
    right.schema.audience(right.motion.id, {AudienceType::owner});
    CHECK(right.schema.status() == Status::bad_configuration);  // it turns vehicles
}
