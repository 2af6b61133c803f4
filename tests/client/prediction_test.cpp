// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/internal_access.hpp"
#include "core/rotation.hpp"
#include "idle_game.hpp"
#include "protocol/schema_access.hpp"
#include "purview/limits.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "support/car.hpp"
#include "support/stage.hpp"

using namespace purview;
using namespace purview::test;

TEST_CASE("prediction: a corrected rotation is smoothed, also for passengers") {
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
    Vec3 seat = prediction.position_of(upon, world.now);
    double turned = 0, thrown = 0;
    for (int tick = 0; tick < 90; ++tick) {
        world.tick();
        for (const Micros later : {0, 4'000, 8'000, 12'000}) {
            const Rotation turn = prediction.orientation_of(ghost, world.now + later);
            const Vec3 at = prediction.position_of(upon, world.now + later);
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

TEST_CASE("prediction: without network faults, server and client compute the same state") {
    DriveWorld world(1);
    const Car car = make_car(world, 0);
    world.run(10);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    world.run(600);
    const PredictionStats stats = world.player().prediction->stats();
    MESSAGE("corrections " << stats.corrections << " confirmations " << stats.confirmations
                           << " consumed " << stats.consumed << " buffered inputs "
                           << stats.waiting);
    CHECK(stats.corrections == 0);
    CHECK(stats.consumed > 550);
    CHECK(world.world().position_of(car.vehicle).x > 50);
}

TEST_CASE("prediction: driving is never visibly corrected at 150 ms, 5 % loss, 20 ms jitter") {
    DriveWorld world(2, bad_network);
    const Car car = make_car(world, 0);
    world.run(60);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    world.run(3'600);
    const PredictionStats stats = world.player().prediction->stats();
    const InputCounters& counters = internal(*world.server).inputs.counters();
    MESSAGE("inputs " << stats.newest_input << " consumed " << stats.consumed << " corrections "
                      << stats.corrections << " largest error " << stats.largest_error_m
                      << " m, starved " << counters.starved << " caught up " << counters.caught_up
                      << " skipped " << counters.skipped << " buffered inputs " << stats.waiting);
    CHECK(stats.corrections == stats.invisible);
    CHECK(stats.largest_error_m < 0.02F);
    CHECK(counters.skipped == 0);
    CHECK(stats.consumed > 3'500);
    CHECK(world.world().position_of(car.vehicle).x != 0);
}

TEST_CASE("prediction: a wrong step is corrected once and smoothly, and burns no fuel (O18)") {
    DriveWorld world(1, Faults{.delay_us = 75'000});
    const Car car = make_car(world, 0);
    world.run(60);
    world.player().control = [&](auto& player, InputNumber) {
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
    Vec3 last_shown = prediction.position_of(vehicle, world.now);
    for (int i = 0; i < 120; ++i) {
        const InputNumber was = prediction.newest_input();
        world.tick();
        const float now = prediction.get(jetpack, world.schema.tank)->fuel;
        const float per_tick = 10.0F / 60;
        const auto ticks = static_cast<float>(prediction.newest_input() - was);
        largest_drop = std::max(largest_drop, fuel - now - per_tick * ticks);
        fuel = now;
        const Vec3 shown = prediction.position_of(vehicle, world.now);
        largest_jump =
            std::max(largest_jump, std::hypot(shown.x - last_shown.x, shown.y - last_shown.y));
        last_shown = shown;
    }
    const PredictionStats stats = prediction.stats();
    MESSAGE("corrections " << stats.corrections - before << ", replayed " << stats.replayed_inputs
                           << ", error " << stats.largest_error_m << " m, largest drop of fuel "
                           << largest_drop << ", largest jump " << largest_jump << " m");
    CHECK(stats.corrections - before == 1);
    CHECK(stats.largest_error_m == doctest::Approx(0.5).epsilon(0.05));
    CHECK(largest_jump < 1.3F);  // two steps with the jet and the error of the step, no more
    const float of_server = world.world().get(car.jetpack, world.schema.tank)->fuel;
    CHECK(fuel < of_server);
    CHECK(of_server - fuel < 4);
    CHECK(largest_drop < 0.01F);
}

TEST_CASE("prediction: stored group states equal the server state of each command (O41)") {
    DriveWorld world(1, bad_network);
    const Car car = make_car(world, 0);
    world.run(60);
    struct State {
        Vec3 at;
        float fuel;
    };
    std::vector<State> of_server(10'000);
    world.when_input = [&](Server&, ObserverId, GroupState& group, const GroupInput& command) {
        // The state already contains the result of the previous command.
        of_server[command.tick() - 1] = {group.get(0, world.schema.position)->at, 0};
        for (std::size_t m = 0; m < group.size(); ++m) {
            if (const Tank* tank = group.get(m, world.schema.tank))
                of_server[command.tick() - 1].fuel = tank->fuel;
        }
    };
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    world.run(300);
    Prediction& prediction = *world.player().prediction;
    const InputNumber consumed = prediction.stats().consumed;
    REQUIRE(consumed > 100);
    for (InputNumber tick = consumed - 40; tick < consumed; ++tick) {
        const Spot* spot =
            prediction.state_at(world.ghost(0, car.vehicle), world.schema.position, tick);
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

TEST_CASE("prediction: predicted state reaches its owner by corrections only (O29)") {
    const auto drive_for_a_while = [](bool by_corrections) {
        DriveWorld world(2, bad_network, 60, {}, {}, nullptr, by_corrections);
        const Car car = make_car(world, 0);
        Client& owner = world.player(0).client;
        Client& other = world.player(1).client;
        const auto is_replicated = [&](EntityId entity, ComponentId component) {
            const GhostId ghost = world.ghost(0, entity);
            return ghost != GhostId::none && owner.is_replicated(ghost, component);
        };
        const auto knows_position = [&](std::size_t index, EntityId entity) {
            const GhostId ghost = world.ghost(index, entity);
            if (ghost == GhostId::none) return false;
            const Client& client = world.player(index).client;
            const Vec3 at = world.world().position_of(entity);
            return client.value_of(ghost, world.schema.position.id, 0) == at.x &&
                   client.value_of(ghost, world.schema.position.id, 1) == at.y;
        };
        world.player().is_silent = true;
        world.run(60);
        CHECK(is_replicated(car.vehicle, world.schema.position.id));  // no commands were sent yet
        world.player().is_silent = false;
        world.player().control = [&](auto& player, InputNumber tick) {
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
            CHECK(is_replicated(car.vehicle, world.schema.position.id) != by_corrections);
            CHECK(is_replicated(car.jetpack, world.schema.tank.id) != by_corrections);
            const GhostId ghost = world.ghost(1, car.vehicle);
            CHECK(other.is_replicated(ghost, world.schema.position.id));
        }
        CHECK(world.player().prediction->stats().corrections == 0);
        const auto bytes = bytes_sent() - before;  // in ten seconds
        // A wrong step is corrected, and no other state is sent.
        world.player().step->bias = 0.5F;
        world.run(40);
        CHECK(world.player().prediction->stats().corrections == 1);
        CHECK(world.player().prediction->stats().last_error_m ==
              doctest::Approx(0.5F).epsilon(0.01));
        // A client that stops sending commands gets the whole state, even if nothing moves.
        world.player().is_silent = true;
        world.run(60);
        CHECK(is_replicated(car.vehicle, world.schema.position.id));
        for (const EntityId entity : {car.vehicle, car.turret}) CHECK(knows_position(0, entity));
        CHECK(knows_position(1, car.vehicle));
        CHECK(owner.value_of(world.ghost(0, car.jetpack), world.schema.tank.id, 0) ==
              doctest::Approx(world.world().get(car.jetpack, world.schema.tank)->fuel));
        return bytes;
    };
    const auto usual = drive_for_a_while(false), less = drive_for_a_while(true);
    MESSAGE("bytes to the owner: " << usual << ", with corrections only " << less);
    CHECK(less < usual * 3 / 4);
}

TEST_CASE("prediction: an entity that leaves a commanded group is sent at once (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    const auto is_replicated = [&](EntityId entity) {
        return world.player().client.is_replicated(world.ghost(0, entity),
                                                   world.schema.position.id);
    };
    world.run(100);
    CHECK_FALSE(is_replicated(car.vehicle));
    CHECK_FALSE(is_replicated(car.turret));
    // The detached turret is a group of its own, which the client does not predict yet.
    CHECK(world.world().detach(car.turret) == Status::ok);
    CHECK(world.world().move(car.turret, {7, 8, 0}) == Status::ok);
    world.run(3);
    CHECK(is_replicated(car.turret));
    world.run(60);
    CHECK_FALSE(is_replicated(car.turret));
    CHECK_FALSE(is_replicated(car.vehicle));
    // Hidden and shown again: the ghost resumes from its retained state and gets its position.
    const auto deny = [&](bool value) {
        CHECK(world.server->visibility().deny(world.player().observer, car.vehicle, value) ==
              Status::ok);
    };
    world.player().is_silent = true;  // no command reports the changed group meanwhile
    world.run(6);
    CHECK_FALSE(is_replicated(car.vehicle));
    deny(true);
    world.run(4);
    CHECK(world.ghost(0, car.vehicle) == GhostId::none);
    deny(false);
    world.run(2);
    CHECK(is_replicated(car.vehicle));
    CHECK(
        world.player().client.value_of(world.ghost(0, car.vehicle), world.schema.position.id, 0) ==
        doctest::Approx(world.world().position_of(car.vehicle).x));
    world.player().is_silent = false;
    world.run(300);
    CHECK_FALSE(is_replicated(car.vehicle));
    // Once it has no owner, the client draws the vehicle at its actual position.
    CHECK(world.world().set_owner(car.vehicle, ObserverId::none) == Status::ok);
    for (int i = 0; i < 30; ++i) {
        world.run(1);
        const Vec3 there = world.world().position_of(car.vehicle);
        const Vec3 shown =
            world.player().prediction->position_of(world.ghost(0, car.vehicle), world.now);
        CHECK(std::hypot(there.x - shown.x, there.y - shown.y) < 3);
    }
    CHECK(is_replicated(car.vehicle));
    CHECK_FALSE(is_replicated(car.turret));
}

TEST_CASE("prediction: a client that stops before a correction gets the state again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    world.run(100);
    // A passenger boards: the client's knowledge of the group is outdated, and it sends no more
    // commands.
    CHECK(world.world().attach(world.spawn(world.schema.player), car.vehicle) == Status::ok);
    world.run(3);
    world.player().is_silent = true;
    world.run(60);
    const GhostId ghost = world.ghost(0, car.vehicle);
    CHECK(world.player().client.is_replicated(ghost, world.schema.position.id));
    CHECK(world.player().client.value_of(ghost, world.schema.position.id, 0) ==
          world.world().position_of(car.vehicle).x);
}

TEST_CASE("prediction: a mispredicting client that stops again gets the state again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const Car car = make_car(world, 0);
    world.player().control = [&](auto& player, InputNumber tick) {
        drive(world, player, car, tick);
    };
    world.run(100);
    const GhostId ghost = world.ghost(0, car.vehicle);
    const auto is_replicated = [&] {
        return world.player().client.is_replicated(ghost, world.schema.position.id);
    };
    CHECK_FALSE(is_replicated());
    world.player().is_silent = true;
    world.run(200);
    CHECK(is_replicated());
    world.when_tick = [&](Server& server, Tick tick) {
        Vec3 at = server.world().position_of(car.vehicle);
        at.y += 1;
        CHECK(server.world().move(car.vehicle, at) == Status::ok);
        CHECK(server.visibility().set_viewpoint(world.player().observer,
                                                tick % 2 == 0 ? car.vehicle : EntityId::none) ==
              Status::ok);
    };
    world.run(5);
    // All its commands are mispredicted from now on, and all audiences are evaluated again.
    world.player().is_silent = false;
    world.run(40);
    world.player().is_silent = true;
    world.when_tick = nullptr;
    world.run(200);
    CHECK(is_replicated());
    CHECK(world.player().prediction->stats().corrections > 5);
}

TEST_CASE("prediction: a group displaced from the commanded groups is sent again (O29)") {
    DriveWorld world(1, {}, 60, {}, {}, nullptr, true);
    const ObserverId owner = world.player().observer;
    std::vector<EntityId> fillers;
    for (std::size_t i = 0; i < limits::input_groups; ++i)
        fillers.push_back(world.spawn(world.schema.shell));
    world.run(10);
    // The vehicle with the highest index is the first one that the client commands.
    const EntityId last = world.spawn(world.schema.vehicle, {}, owner);
    world.run(60);
    const auto replace = [&](std::size_t count) {
        for (; count > 0; --count) {
            CHECK(world.world().despawn(fillers.back()) == Status::ok);
            fillers.pop_back();
            world.run(20);  // its index is free again
            world.spawn(world.schema.vehicle, {}, owner);
        }
        world.run(60);
    };
    const auto is_replicated = [&] {
        return world.player().client.is_replicated(world.ghost(0, last), world.schema.position.id);
    };
    replace(limits::input_groups - 1);
    CHECK_FALSE(is_replicated());
    // One more vehicle with a smaller index: a client commands only the first eight.
    replace(1);
    CHECK(is_replicated());
    CHECK(world.world().move(last, {7, 0, 0}) == Status::ok);
    world.run(10);
    CHECK(world.player().client.value_of(world.ghost(0, last), world.schema.position.id, 0) == 7);
}

namespace {

/// A car that its player drives, in a world that exceeds the player's byte budget.
struct Crowded {
    explicit Crowded(bool by_corrections = false)
        : world(1, {}, 60, {}, small_budget(), nullptr, by_corrections), car(make_car(world, 0)) {
        // Without the jet: it would burn the fuel of members that the client has not received.
        world.player().control = [&](auto& player, InputNumber) {
            const GhostId vehicle = world.ghost(0, car.vehicle);
            if (vehicle != GhostId::none)
                (void)player.prediction->set_part(vehicle, world.schema.drive, Drive{0.8F, 0.1F});
        };
        for (int i = 0; i < 1'000; ++i)
            others.push_back(world.spawn(world.schema.vehicle, {static_cast<float>(i), 5, 0}));
        world.when_tick = [&](Server& server, Tick tick) {
            for (const EntityId other : others) {
                const Vec3 at = server.world().position_of(other);
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
    std::uint64_t corrections() const {
        return internal(*world.server).inputs.counters().corrections;
    }
    /// Runs until the enter of `late` is sent. Expects no correction before that and exactly one
    /// after it.
    void wait_for(EntityId late) {
        const std::uint64_t before = corrections();
        const auto is_sent = [&] {
            const GhostTable& ghosts =
                internal(*world.server).sessions.find(world.player().observer)->ghosts;
            const LocalId slot = ghosts.slots().find(late);
            return slot != no_local_id && ghosts.sends().was_sent(slot);
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
        REQUIRE(ghost != GhostId::none);
        CHECK(world.player().prediction->is_predicted(ghost));
        world.run(100);
        CHECK(corrections() == before + 1);
    }

    DriveWorld world;
    Car car;
    std::vector<EntityId> others;
};

}  // namespace

TEST_CASE("prediction: a late correction is not applied to a ghost that reuses the id") {
    ServerDef def;
    def.budget_bytes_per_tick = 300;
    DriveWorld world(1, {}, 60, {}, def);
    const ObserverId owner = world.player().observer;
    const EntityId before = world.spawn(world.schema.vehicle, {-500, 0, 0}, owner);
    world.run(60);
    const GhostId id = world.ghost(0, before);
    REQUIRE(id != GhostId::none);
    // The correction is queued behind a message that takes three seconds to send.
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
        if (world.ghost(0, after) == GhostId::none) continue;
        CHECK(world.ghost(0, after) == id);
        CHECK(world.player().prediction->position_of(id, world.now).x == doctest::Approx(300));
    }
    CHECK(world.player().prediction->stats().too_late > too_late);
}

TEST_CASE("prediction: a step finds every member of its groups and the parent of each") {
    ServerDef def;
    def.group_members_max = 512;
    DriveWorld world(1, {}, 60, {}, def);
    DriveWorld::Player& player = world.player();
    const auto& s = world.schema;
    SplitMix random(11);
    // Two interleaved trees, so that their ids are not in the order of input.
    std::array<std::vector<EntityId>, 2> groups;
    for (auto& group : groups) group.push_back(world.spawn(s.vehicle, {}, player.observer));
    for (std::uint32_t i = 0; i < 400; ++i) {
        auto& group = groups[i % 2];
        const auto at = random.below(static_cast<std::uint32_t>(
            std::min<std::size_t>(group.size(), 40)));  // within the depth limit of groups
        const EntityId parent = group[at / 8];
        const Vec3 position{static_cast<float>(i), 0, 0};
        group.push_back(world.spawn_under(parent, s.walker, ObserverId::none, position));
    }
    world.run(120);
    Prediction& prediction = *player.prediction;
    const InputNumber newest = prediction.newest_input();
    for (const auto& group : groups) {
        const GroupState state = prediction.state_at(world.ghost(0, group[0]), newest);
        REQUIRE(state.size() == group.size());
        CHECK(state.parent(0) == state.size());
        for (std::size_t m = 0; m < state.size(); ++m) {
            CHECK(prediction.state_at(state.ghost(m), s.position, newest) ==
                  state.get(m, s.position));
            if (m == 0) continue;
            REQUIRE(state.parent(m) < m);
            CHECK(state.ghost(state.parent(m)) == player.client.parent_of(state.ghost(m)));
        }
        for (const EntityId member : group) {
            const Spot* const position = prediction.get(world.ghost(0, member), s.position);
            REQUIRE(position != nullptr);
            const Vec3 expected = world.world().local_position_of(member);
            CHECK(position->at.x == doctest::Approx(expected.x).epsilon(0.001));
        }
    }
}

TEST_CASE("prediction: a ghost inherits no state from the previous ghost with its id") {
    DriveWorld world(1, {}, 60, {.error_half_life_ms = 60'000});
    DriveWorld::Player& player = world.player();
    Prediction& prediction = *player.prediction;
    const auto& s = world.schema;
    const EntityId before = world.spawn(s.vehicle, {-500, 0, 0}, player.observer);
    world.run(60);
    const GhostId id = world.ghost(0, before);
    const InputNumber then = prediction.newest_input();
    CHECK(prediction.state_at(id, then).size() == 1);
    player.step->bias = 3;  // mispredicted: it glides to the server position
    world.run(20);
    REQUIRE(world.server->set_in_input(before, false) == Status::ok);
    world.run(20);
    CHECK(prediction.error_of(id).x == doctest::Approx(3).epsilon(0.1));
    CHECK(prediction.set_part(id, s.drive, Drive{}) == Status::refused);
    player.is_silent = true;  // all changes happen between two client ticks
    REQUIRE(world.world().despawn(before) == Status::ok);
    world.run(20);
    const EntityId after = world.spawn(s.vehicle, {300, 0, 0}, player.observer);
    world.run(20);
    REQUIRE(world.ghost(0, after) == id);
    CHECK(prediction.error_of(id) == Vec3{});
    CHECK(prediction.get(id, s.position) == nullptr);
    CHECK(prediction.state_at(id, then).size() == 0);
    CHECK(prediction.set_part(id, s.drive, Drive{}) == Status::ok);
    player.is_silent = false;
    world.run(1);
    CHECK(prediction.position_of(id, world.now).x == doctest::Approx(300));
    REQUIRE(prediction.get(id, s.position) != nullptr);
    CHECK(prediction.get(id, s.position)->at.x == doctest::Approx(300));
}

TEST_CASE("prediction: a new member causes no correction before its enter is sent") {
    Crowded crowded;
    DriveWorld& world = crowded.world;
    crowded.wait_for(
        world.spawn_under(crowded.car.vehicle, world.schema.jetpack, world.player().observer, {}));
}

TEST_CASE("prediction: a retained member causes no correction before it resumes") {
    Crowded crowded(true);
    DriveWorld& world = crowded.world;
    const ObserverId index = world.player().observer;
    const EntityId trailer =
        world.spawn_under(crowded.car.vehicle, world.schema.vehicle, index, {-4, 0, 0});
    crowded.wait_for(trailer);
    CHECK(world.world().detach(trailer) == Status::ok);
    CHECK(world.server->visibility().deny(index, trailer, true) == Status::ok);
    world.run(100);
    REQUIRE(internal(*world.server).sessions.find(index)->ghosts.retained().is_retained(trailer));
    CHECK(world.server->visibility().deny(index, trailer, false) == Status::ok);
    CHECK(world.world().attach(trailer, crowded.car.vehicle) == Status::ok);
    crowded.wait_for(trailer);
}

TEST_CASE("prediction: the unpredicted audience requires a predicted component (O29)") {
    Schema schema;
    const auto spot = schema.component<Spot>("place");
    Schema wrong = schema;
    wrong.audience(spot.id(), {AudienceType::unpredicted});
    CHECK(!wrong.problem().empty());
    DriveSchema right(true);
    CHECK(right.schema.problem().empty());
    // The audience survives serialization, and a schema that contradicts itself is refused.
    const auto read_back = [](const Schema& sent) {
        std::vector<std::byte> bytes(60'000);
        BitWriter out(bytes);
        write_schema(sent, out);
        BitReader in(out.written());
        return read_schema(in);
    };
    const auto read = read_back(right.schema);
    REQUIRE(read);
    CHECK(read->hash() == right.schema.hash());
    CHECK(read->components()[0].audience.keeps_values);
    Schema unsound;
    ComponentDef position;
    position.name = "place";
    position.size_bytes = sizeof(Spot);
    position.audience = {AudienceType::unpredicted, KeyId::none, nullptr, true};
    unsound.set_position(SchemaAccess::add_component(unsound, position));
    CHECK(unsound.problem().empty());
    CHECK_FALSE(read_back(unsound));
    // A position must not be relative to a parent position that may not be sent.
    right.schema.edit_kind(right.rider).relative_position = true;
    CHECK_FALSE(read_back(right.schema));
    IdleGame idle;
    ServerDef def;
    def.schema = &right.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    CHECK(Server::create(def, idle).error() == Status::bad_configuration);
    right.schema.edit_kind(right.rider).relative_position = false;
    CHECK(Server::create(def, idle));
    right.schema.audience(right.motion.id, {AudienceType::owner});
    CHECK(!right.schema.problem().empty());  // it is the orientation of vehicles
}
