// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <deque>
#include <functional>

#include "client/client_data.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "protocol/rpc_args.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "support/drive_world.hpp"

using namespace purview;
using namespace purview::test;

namespace {

InputFrame frame_of(InputNumber tick) {
    InputFrame frame;
    frame.tick = tick;
    return frame;
}

}  // namespace

TEST_CASE("input queue: it consumes at most one input per elapsed tick, as a simple model does") {
    SplitMix random(7);
    for (int round = 0; round < 200; ++round) {
        InputSettings settings;
        settings.buffer_target = 1 + random.below(4);
        settings.catch_up_max = random.below(6);
        settings.lead_max = settings.buffer_target + 1 + random.below(20);
        InputQueue queue;
        InputCounters counters;
        // The model: a sorted list of buffered inputs, and the catch-up credit.
        std::vector<InputNumber> waits;
        InputNumber consumed = 0;
        std::uint32_t credit = 0;
        std::uint64_t ticks = 0;
        InputNumber next = 1;
        std::uint64_t model_consumed = 0;
        bool began = false;
        for (int tick = 0; tick < 300; ++tick) {
            for (std::uint32_t n = random.below(random.chance(0.1F) ? 12 : 3); n > 0; --n) {
                const InputNumber pushed =
                    random.chance(0.1F) ? 1 + random.below(next + 5) : next++;
                InputFrame frame = frame_of(pushed);
                const Status status = queue.push(frame, settings, counters);
                const bool is_there = std::find(waits.begin(), waits.end(), pushed) != waits.end();
                const Status expected = pushed <= consumed || is_there          ? Status::duplicate
                                        : pushed > consumed + settings.lead_max ? Status::capacity
                                                                                : Status::ok;
                REQUIRE(status == expected);
                if (expected != Status::ok) continue;
                waits.push_back(pushed);
                std::sort(waits.begin(), waits.end());
                began = true;
            }
            if (began) ++ticks;
            std::vector<InputNumber> taken;
            if (waits.empty()) {
                if (began) credit = std::min(credit + 1, settings.catch_up_max);
            } else {
                taken.push_back(waits.front());
                waits.erase(waits.begin());
                while (credit > 0 && waits.size() > settings.buffer_target) {
                    --credit;
                    taken.push_back(waits.front());
                    waits.erase(waits.begin());
                }
                consumed = taken.back();
            }
            model_consumed += taken.size();
            queue.begin_tick();
            for (const InputNumber one : taken) {
                REQUIRE(queue.take(settings, counters) != nullptr);
                REQUIRE(queue.consumed() == one);
            }
            REQUIRE(queue.take(settings, counters) == nullptr);
            REQUIRE(queue.waiting() == waits.size());
            REQUIRE(model_consumed <= ticks);
        }
        CHECK(counters.consumed == model_consumed);
    }
}

TEST_CASE("input queue: inputs too far ahead, over or too large are refused, with no effect") {
    const InputSettings settings;
    InputQueue queue;
    InputCounters counters;
    InputFrame first = frame_of(1);
    CHECK(queue.push(first, settings, counters) == Status::ok);
    InputFrame far = frame_of(settings.lead_max + 1);
    CHECK(queue.push(far, settings, counters) == Status::capacity);
    InputFrame again = frame_of(1);
    CHECK(queue.push(again, settings, counters) == Status::duplicate);
    InputFrame large = frame_of(2);
    large.is_too_large = true;
    CHECK(queue.push(large, settings, counters) == Status::too_large);
    CHECK(queue.waiting() == 1);
    queue.begin_tick();
    CHECK(queue.take(settings, counters) != nullptr);
    InputFrame over = frame_of(1);
    CHECK(queue.push(over, settings, counters) == Status::duplicate);
    CHECK(queue.waiting() == 0);
    CHECK(counters.too_far_ahead == 1);
    CHECK(counters.too_large == 1);
    CHECK(counters.repeated == 2);
}

TEST_CASE("input: the order is the root, its children depth first, then inner roots (O16)") {
    for (const InputOrder order : {InputOrder::depth_first, InputOrder::breadth_first}) {
        ServerDef def;
        def.input.order = order;
        DriveWorld world(1, {}, 60, {}, def);
        const auto& s = world.schema;
        const EntityId root = world.spawn(s.vehicle);
        const EntityId boarder = world.spawn_under(root, s.player, ObserverId::none);
        const EntityId pack = world.spawn_under(boarder, s.jetpack, ObserverId::none);
        const EntityId turret = world.spawn_under(root, s.turret, ObserverId::none);
        const EntityId gun = world.spawn_under(turret, s.shell, ObserverId::none);
        const EntityId gunner = world.spawn_under(turret, s.player, ObserverId::none);
        const EntityId lamp = world.spawn_under(root, s.shell, ObserverId::none);
        const auto members = world.server->input_order(gun);
        const std::vector<EntityId> expected =
            order == InputOrder::depth_first
                ? std::vector<EntityId>{root, turret, gun, lamp, boarder, pack, gunner}
                : std::vector<EntityId>{root, boarder, turret, lamp, pack, gun, gunner};
        CHECK(std::vector<EntityId>(members.begin(), members.end()) == expected);
    }
}

TEST_CASE("input: members are listed when a relation changes, never for an input (O14)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const ObserverId owner = world.player().observer;
    const EntityId car = world.spawn(s.vehicle, {}, owner);
    const EntityId turret = world.spawn_under(car, s.turret, owner);
    const EntityId other = world.spawn(s.vehicle);
    world.run(60);
    const std::uint64_t walked = internal(*world.server).inputs.counters().members_walked;
    const std::uint64_t given = internal(*world.server).inputs.counters().groups;
    world.run(100);
    CHECK(internal(*world.server).inputs.counters().groups >= given + 99);
    CHECK(internal(*world.server).inputs.counters().members_walked == walked);
    const EntityId crate = world.spawn_under(other, s.shell, ObserverId::none);
    world.run(10);
    CHECK_MESSAGE(internal(*world.server).inputs.counters().members_walked == walked,
                  "a group of another owner");
    REQUIRE(world.world().attach(crate, car) == Status::ok);
    world.run(10);
    CHECK(internal(*world.server).inputs.counters().members_walked == walked + 3);
    REQUIRE(world.world().despawn(turret) == Status::ok);
    world.run(10);
    CHECK(internal(*world.server).inputs.counters().members_walked == walked + 5);
}

TEST_CASE("input: one input per owner, group and tick, with owned members only (O11 O17)") {
    DriveWorld world(2);
    const auto& s = world.schema;
    const ObserverId driver = world.player(0).observer;
    const ObserverId gunner = world.player(1).observer;
    const EntityId car = world.spawn(s.vehicle, {}, driver);
    const EntityId turret = world.spawn_under(car, s.turret, gunner);
    const EntityId pack = world.spawn_under(car, s.jetpack, driver);
    world.run(20);
    struct Seen {
        std::uint64_t commands = 0, parts = 0, foreign = 0;
    };
    Seen seen[2];
    std::map<std::pair<std::uint32_t, InputNumber>, int> times;
    world.when_input = [&](Server&, ObserverId observer, GroupState& group,
                           const GroupInput& command) {
        const std::size_t index = observer == driver ? 0 : 1;
        ++seen[index].commands;
        ++times[{static_cast<std::uint32_t>(index), command.tick()}];
        REQUIRE(group.size() == 3);
        CHECK(group.entity(0) == car);
        CHECK(group.entity(2) == pack);
        CHECK(group.edit(1, s.aim) == (index == 1 ? group.get(1, s.aim) : nullptr));
        for (std::size_t m = 0; m < 3; ++m) {
            const bool has =
                command.part(m, s.drive) != nullptr || command.part(m, s.turn) != nullptr;
            seen[index].parts += has;
            seen[index].foreign += has && !group.is_owned(m);
        }
    };
    world.player(0).control = [&](auto& player, InputNumber) {
        (void)player.prediction->set_part(world.ghost(0, car), s.drive, Drive{1, 0, false});
        CHECK(player.prediction->set_part(world.ghost(0, turret), s.turn, Turn{1}) ==
              Status::refused);
    };
    world.player(1).control = [&](auto& player, InputNumber) {
        (void)player.prediction->set_part(world.ghost(1, turret), s.turn, Turn{1});
    };
    world.run(100);
    for (const Seen& one : seen) {
        CHECK(one.commands >= 99);
        CHECK(one.parts >= 97);
        CHECK(one.foreign == 0);
    }
    for (const auto& [key, count] : times) CHECK(count == 1);
    CHECK(world.world().position_of(car).x > 5);
    CHECK(world.world().get(turret, s.aim)->yaw > 1);
    // The driver does not predict the gunner's part, so neither of them needs corrections.
    CHECK(world.player(0).prediction->stats().corrections == 0);
    CHECK(world.player(1).prediction->stats().corrections == 0);
}

TEST_CASE("input: parts for foreign, unknown or wrong targets are refused and counted (O17)") {
    DriveWorld world(2);
    const auto& s = world.schema;
    const ObserverId mine = world.player(0).observer;
    const EntityId car = world.spawn(s.vehicle, {}, mine);
    const EntityId theirs = world.spawn(s.vehicle, {}, world.player(1).observer);
    const EntityId turret_of_theirs = world.spawn_under(theirs, s.turret, mine);
    const EntityId second = world.spawn(s.vehicle, {}, mine);
    world.run(20);
    ClientData& client = internal(world.player(0).client);
    std::uint64_t parts = 0;
    world.when_input = [&](Server&, ObserverId observer, GroupState& group,
                           const GroupInput& command) {
        for (std::size_t m = 0; m < group.size(); ++m) {
            const bool has =
                command.part(m, s.drive) != nullptr || command.part(m, s.turn) != nullptr;
            if (has) CHECK(world.world().owner_of(group.entity(m)) == observer);
            parts += has;
        }
    };
    const auto forge = [&](EntityId root, EntityId member, InputId input) {
        // Replaces the newest frame by one that a well-behaved client does not send.
        InputFrame* frame = client.inputs.outbox.find(client.inputs.outbox.newest());
        REQUIRE(frame != nullptr);
        frame->clear();
        InputGroup group;
        group.root = root == EntityId::none ? 4'000 : local_id_of(world.ghost(0, root));
        group.parts = 1;
        frame->groups.push_back(group);
        InputPart part;
        part.ghost = member == EntityId::none ? 4'000 : local_id_of(world.ghost(0, member));
        part.input = input;
        frame->parts.push_back(part);
        frame->words.assign(word_count(s.schema.inputs()[index_of(input)]), 0);
    };
    const InputCounters& counters = internal(*world.server).inputs.counters();
    struct Case {
        EntityId root, member;
        InputId input;
        std::uint64_t InputCounters::*counter;
    };
    const Case cases[] = {
        {car, EntityId::none, s.drive.id, &InputCounters::unknown_ghost},
        {EntityId::none, car, s.drive.id, &InputCounters::unknown_ghost},
        {car, second, s.drive.id, &InputCounters::not_in_group},
        {theirs, theirs, s.drive.id, &InputCounters::not_owned},
        {car, car, s.turn.id, &InputCounters::wrong_input},
        {turret_of_theirs, turret_of_theirs, s.turn.id, &InputCounters::not_a_root},
    };
    for (const Case& one : cases) {
        const std::uint64_t before = counters.*one.counter;
        parts = 0;
        bool done = false;
        world.after_client = [&](auto& player, Micros) {
            if (done || &player != world.players[0].get()) return;
            forge(one.root, one.member, one.input);
            done = true;
        };
        world.run(10);
        CHECK(counters.*one.counter == before + 1);
        CHECK(parts == 0);
    }
    world.after_client = nullptr;
    // A group in which the sender owns nothing.
    const EntityId foreign = world.spawn(s.vehicle, {}, world.player(1).observer);
    world.run(10);
    const std::uint64_t before = counters.not_owned;
    bool done = false;
    world.after_client = [&](auto& player, Micros) {
        if (done || &player != world.players[0].get()) return;
        forge(foreign, foreign, s.drive.id);
        done = true;
    };
    world.run(10);
    CHECK(counters.not_owned == before + 1);
    CHECK(parts == 0);
}

TEST_CASE("input: a member can be switched out of input and back at run time (O20 O43)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const EntityId car = world.spawn(s.vehicle, {}, world.player().observer);
    const EntityId turret = world.spawn_under(car, s.turret, world.player().observer);
    world.run(20);
    std::vector<Status> set;
    world.player().control = [&](auto& player, InputNumber) {
        set.push_back(player.prediction->set_part(world.ghost(0, turret), s.turn, Turn{1}));
        (void)player.prediction->set_part(world.ghost(0, car), s.drive, Drive{1, 0, false});
    };
    world.run(30);
    CHECK(set.back() == Status::ok);
    REQUIRE(world.server->set_in_input(turret, false) == Status::ok);
    CHECK_FALSE(world.server->is_in_input(turret));
    world.run(10);
    CHECK(set.back() == Status::refused);
    const float yaw = world.world().get(turret, s.aim)->yaw;
    const std::uint64_t refused = internal(*world.server).inputs.counters().switched_off;
    CHECK(refused > 0);
    const float x = world.world().position_of(car).x;
    world.run(30);
    CHECK(world.world().get(turret, s.aim)->yaw == yaw);
    CHECK(world.world().position_of(car).x > x);
    CHECK(internal(*world.server).inputs.counters().switched_off == refused);
    CHECK(world.player().prediction->get(world.ghost(0, turret), s.aim)->yaw == yaw);
    REQUIRE(world.server->set_in_input(turret, true) == Status::ok);
    world.run(30);
    CHECK(set.back() == Status::ok);
    CHECK(world.world().get(turret, s.aim)->yaw > yaw);
    CHECK(world.server->set_in_input(EntityId{99}, true) == Status::stale_id);
}

TEST_CASE("input: a client with a fast clock gets at most one input consumed per tick") {
    DriveWorld world(2);
    const auto& s = world.schema;
    EntityId car[2];
    for (std::size_t i = 0; i < 2; ++i)
        car[i] =
            world.spawn(s.vehicle, {0, 10.0F * static_cast<float>(i), 0}, world.player(i).observer);
    world.run(20);
    for (std::size_t i = 0; i < 2; ++i) {
        world.player(i).control = [&, i](auto& player, InputNumber) {
            (void)player.prediction->set_part(world.ghost(i, car[i]), s.drive, Drive{1, 0, false});
        };
    }
    world.player(1).clock = 2;
    world.player(1).skew = -world.now;
    const InputNumber before = world.player(1).prediction->stats().consumed;
    world.run(600);
    const InputNumber consumed = world.player(1).prediction->stats().consumed - before;
    const float well_behaved = world.world().position_of(car[0]).x;
    const float fast = world.world().position_of(car[1]).x;
    MESSAGE("consumed " << consumed << " in 600 ticks; normal clock " << well_behaved
                        << " m, fast clock " << fast << " m; refused "
                        << internal(*world.server).inputs.counters().too_far_ahead);
    CHECK(consumed <= 600 + 2);
    CHECK(fast <= well_behaved * 1.01F);
    CHECK(internal(*world.server).inputs.counters().too_far_ahead > 0);
}

TEST_CASE("input: a client with input starvation speeds up until inputs are buffered again") {
    DriveWorld world(1);
    const EntityId car = world.spawn(world.schema.vehicle, {}, world.player().observer);
    (void)car;
    world.run(60);
    world.player().clock = 0.97;
    world.player().skew = static_cast<Micros>(static_cast<double>(world.now) * 0.03);
    world.run(1'200);
    const PredictionStats stats = world.player().prediction->stats();
    const std::uint64_t starved = internal(*world.server).inputs.counters().starved;
    MESSAGE("rate " << stats.rate << " starved " << starved << " buffered " << stats.waiting);
    CHECK(stats.rate > 1.02);
    world.run(600);
    CHECK(internal(*world.server).inputs.counters().starved - starved < 5);
}

TEST_CASE("input: the server refuses an input above the size limit") {
    DriveWorld world(1);
    const auto& s = world.schema;
    std::vector<EntityId> cars;
    for (int i = 0; i < 8; ++i) {
        cars.push_back(world.spawn(s.vehicle, {}, world.player().observer));
        for (int t = 0; t < 7; ++t)
            (void)world.spawn_under(cars.back(), s.turret, world.player().observer);
    }
    world.run(60);
    ClientData& client = internal(world.player().client);
    bool done = false;
    world.after_client = [&](auto&, Micros) {
        if (done) return;
        InputFrame* frame = client.inputs.outbox.find(client.inputs.outbox.newest());
        REQUIRE(frame != nullptr);
        frame->clear();
        InputGroup group;
        group.root = local_id_of(world.ghost(0, cars[0]));
        group.parts = 40;
        frame->groups.push_back(group);
        for (std::uint32_t p = 0; p < 40; ++p) {
            frame->parts.push_back({1'000'000, s.drive.id, p * 3, EntityId::none});
        }
        frame->words.assign(40 * 3, 1);
        done = true;
    };
    const std::uint64_t before = internal(*world.server).inputs.counters().too_large;
    world.run(10);
    CHECK(internal(*world.server).inputs.counters().too_large > before);
    CHECK(internal(*world.server).inputs.counters().skipped == 1);
}

namespace {

struct Driven {
    double meters = 0;
    InputCounters counters;
    std::vector<std::uint64_t> bytes;  ///< of each tick
};

/// Drives a car straight on for three seconds. `tamper` may edit what its client sends; `act` runs
/// in each tick.
Driven drive(const std::function<void(InputFrame&)>& tamper,
             const std::function<void(World&, EntityId car, EntityId hidden, std::uint32_t)>& act) {
    DriveWorld world(1);
    const EntityId car = world.spawn(world.schema.vehicle, {}, world.player().observer);
    const EntityId hidden = world.spawn(world.schema.shell);
    (void)world.server->visibility().deny(world.player().observer, hidden, true);
    std::uint32_t tick = 0;
    world.when_tick = [&](Server& server, Tick) { act(server.world(), car, hidden, ++tick); };
    world.run(60);
    world.player().control = [&](DriveWorld::Player& player, InputNumber) {
        Drive drive;
        drive.throttle = 1;
        (void)player.prediction->set_part(world.ghost(0, car), world.schema.drive.id,
                                          std::as_bytes(std::span(&drive, 1)));
    };
    world.after_client = [&](DriveWorld::Player& player, Micros) {
        auto& outbox = internal(player.client).inputs.outbox;
        if (InputFrame* frame = outbox.find(outbox.newest()); frame != nullptr) tamper(*frame);
    };
    Driven driven;
    const double from = world.world().position_of(car).x;
    for (int i = 0; i < 180; ++i) {
        const std::uint64_t before = world.player().client.stats().bytes_received;
        world.run(1);
        driven.bytes.push_back(world.player().client.stats().bytes_received - before);
    }
    driven.meters = world.world().position_of(car).x - from;
    driven.counters = internal(*world.server).inputs.counters();
    CHECK(world.ghost(0, hidden) == GhostId::none);
    return driven;
}

}  // namespace

TEST_CASE("input: a group that an input lists eight times is stepped once") {
    const auto nothing = [](World&, EntityId, EntityId, std::uint32_t) {};
    const Driven well_behaved = drive([](InputFrame&) {}, nothing);
    const Driven lying = drive(
        [](InputFrame& frame) {
            if (frame.groups.size() == 1) frame.groups.resize(8, frame.groups[0]);
        },
        nothing);
    CHECK(well_behaved.meters > 10);
    CHECK(std::abs(lying.meters - well_behaved.meters) < 0.01);
    CHECK(well_behaved.counters.named_twice == 0);
    CHECK(lying.counters.named_twice > 1'000);
}

TEST_CASE("input: hidden members do not affect whether a correction is sent (P14)") {
    const auto well_behaved = [](InputFrame&) {};
    const Driven without = drive(well_behaved, [](World&, EntityId, EntityId, std::uint32_t) {});
    const Driven with =
        drive(well_behaved, [](World& world, EntityId car, EntityId hidden, std::uint32_t t) {
            if (t == 100) CHECK(world.attach(hidden, car) == Status::ok);
            if (t == 130) CHECK(world.detach(hidden) == Status::ok);
            if (t == 160) CHECK(world.attach(hidden, car) == Status::ok);
        });
    CHECK(without.counters.corrections > 0);
    CHECK(with.bytes == without.bytes);
}
