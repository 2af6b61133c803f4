// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs of well-behaved and of malicious clients.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/internal_access.hpp"
#include "link/handshake.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "support/print_set.hpp"
#include "support/rpc_support.hpp"

namespace purview::test {

namespace {

RpcWords words(std::uint32_t tag, std::uint32_t number) {
    RpcWords out{};
    out[0] = tag;
    out[1] = number;
    return out;
}

}  // namespace

TEST_CASE("rpc: an RPC of a client reaches the game with its entity and arguments") {
    CallWorld world(2);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    REQUIRE(ghost != GhostId::none);
    Client& client = world.client(0);
    CHECK(client.call(world.schema().uses[2], ghost, Ping{5, 6}) == Status::ok);
    const std::array<double, 2> beyond{1e30, -7};
    CHECK(client.call(world.schema().uses[2].id, ghost, beyond) == Status::ok);
    const std::array<double, 1> nothing{std::nan("")};
    CHECK(client.call(world.schema().shouts[2].id, GhostId::none, nothing) == Status::ok);
    CHECK(client.call(world.schema().steer, world.ghost_of(0, world.player(0)), Ping{1, 2}) ==
          Status::ok);
    world.run(3);
    REQUIRE(world.called.size() == 4);
    CHECK(world.called[0].observer == world.observer(0));
    CHECK(world.called[0].target == entity);
    CHECK(world.called[0].args.tag == 5);
    CHECK(world.called[0].args.number == 6);
    CHECK(world.called[1].args.tag == (1U << 20) - 1);
    CHECK(world.called[1].args.number == 0);
    CHECK(world.called[2].target == EntityId::none);
    CHECK(world.called[2].args.tag == 0);
    CHECK(world.called[3].target == world.player(0));
    CHECK(internal(world.server()).calls.counters().received == 4);
    // The client refuses calls that it knows to be invalid.
    CHECK(client.call(world.schema().uses[2], GhostId{90}, Ping{}) == Status::not_found);
    CHECK(client.call(world.schema().steer, ghost, Ping{}) == Status::refused);
    CHECK(client.call(world.ordered_cull(), ghost, Ping{}) == Status::bad_argument);
    CHECK(client.call(RpcId::none, ghost, nothing) == Status::bad_argument);
}

TEST_CASE("rpc: reliable RPCs of a client arrive once and in order, despite losses") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CallWorld world(1, {0.3F, 0.1F, 0.02F, 20'000, 60'000}, 4'800, seed);
        std::vector<std::uint32_t> ordered;
        for (std::uint32_t i = 1; i <= 150; ++i) {
            const Rpc<Ping> shout = world.schema().shouts[1 + i % 2];
            CHECK(world.client(0).call(shout, GhostId::none, Ping{0, i}) == Status::ok);
            world.step();
        }
        world.run(100);
        std::set<std::uint32_t> all;
        for (const Called& call : world.called) {
            CHECK(all.insert(call.args.number).second);
            if (call.rpc == world.schema().shouts[2].id) ordered.push_back(call.args.number);
        }
        CHECK(all.size() == 150);
        CHECK(ordered.size() == 75);
        CHECK(std::is_sorted(ordered.begin(), ordered.end()));
    }
}

TEST_CASE("rpc: RPCs on hidden and on missing entities get identical responses (O32)") {
    const auto run = [](bool exists) {
        CallWorld world(2);
        if (exists) {
            for (int i = 0; i < 20; ++i) {
                const EntityId hidden = world.spawn({12, 10, 0});
                world.server().world().edit(hidden, world.schema().body)->cloaked = true;
                (void)world.spawn({200, 200, 0});
            }
        }
        world.place_player(0, {12, 10, 0});
        world.place_player(1, {14, 10, 0});
        world.run(10);
        world.records = true;
        for (std::uint32_t i = 0; i < limits::rpc_refused; ++i) {
            ClientData& data = internal(world.client(0));
            CHECK(data.calls.add(world.schema().uses[i % 3].id, 2 + i, words(i, i)));
            CHECK(data.calls.add(world.schema().shouts[2].id, no_local_id, words(0, i)));
            world.step();
        }
        world.run(10);
        CHECK(internal(world.server()).calls.counters().refused_ghost == limits::rpc_refused);
        CHECK(internal(world.server()).calls.counters().refused_caller == 0);
        CHECK(internal(world.server()).calls.counters().gone == 0);
        CHECK(world.called.size() == limits::rpc_refused);  // the static RPCs
        CHECK(world.client(0).state() == ClientState::joined);
        return world.peer(0).sent_to;
    };
    const auto hidden = run(true), absent = run(false);
    REQUIRE(hidden.size() > limits::rpc_refused);
    CHECK(hidden == absent);
}

TEST_CASE("rpc: unreliable RPCs of a client arrive or count as unsent; reliable ones wait") {
    CallWorld world(2);
    constexpr std::uint32_t per_tick = 60, ticks = 5;
    const auto call = [&](RpcDelivery delivery) {
        const Rpc<Ping> shout = world.schema().shouts[static_cast<std::size_t>(delivery)];
        world.called.clear();
        for (std::uint32_t number = 1; number <= per_tick * ticks; ++number) {
            CHECK(world.client(0).call(shout, GhostId::none, Ping{1, number}) == Status::ok);
            if (number % per_tick == 0) world.run(10);
        }
    };
    call(RpcDelivery::unreliable);
    const std::uint64_t unsent = world.client(0).stats().calls_unsent;
    CHECK(unsent > 0);
    CHECK(world.called.size() + unsent == per_tick * ticks);
    call(RpcDelivery::reliable_ordered);
    CHECK(world.called.size() == per_tick * ticks);
    CHECK(world.client(0).stats().calls_unsent == unsent);
    CHECK(world.client(1).stats().calls_unsent == 0);
}

TEST_CASE("rpc: an RPC on a ghost that is relevant but has not arrived is refused (O32)") {
    CallWorld world(1);
    world.place_player(0, {12, 10, 0});
    world.run(10);
    world.peer(0).down.blackout = true;
    (void)world.spawn({10, 10, 0});
    world.run(2);
    for (std::uint32_t guess = 1; guess < 6; ++guess) {
        CHECK(
            internal(world.client(0)).calls.add(world.schema().uses[1].id, guess, words(0, guess)));
    }
    world.run(2);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().refused_ghost == 5);
}

TEST_CASE("rpc: an RPC that its caller may not make is refused and counted (O32)") {
    CallWorld world(2, {}, 4'800, 1, {Role::player, Role::spectator});
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {14, 10, 0});
    world.run(10);
    CHECK(world.client(1).call(world.schema().shouts[0], GhostId::none, Ping{}) == Status::refused);
    ClientData& spectator = internal(world.client(1));
    CHECK(spectator.calls.add(world.schema().shouts[2].id, no_local_id, words(0, 1)));
    CHECK(spectator.calls.add(world.schema().uses[2].id, local_id_of(world.ghost_of(1, entity)),
                              words(0, 2)));
    ClientData& player = internal(world.client(0));
    CHECK(player.calls.add(world.schema().steer.id, local_id_of(world.ghost_of(0, entity)),
                           words(0, 3)));
    CHECK(player.calls.add(world.schema().steer.id, local_id_of(world.ghost_of(0, world.player(1))),
                           words(0, 4)));
    world.run(5);
    REQUIRE(world.called.size() == 1);  // every client may call this on the ghost
    CHECK(world.called[0].observer == world.observer(1));
    CHECK(world.called[0].args.number == 2);
    CHECK(internal(world.server()).calls.counters().refused_caller == 3);
}

TEST_CASE("rpc: a session with too many forbidden RPCs is closed, no other is (O32)") {
    CallWorld world(2);
    const auto refuse_once = [&] {
        CHECK(internal(world.client(0)).calls.add(world.schema().uses[2].id, 900, words(0, 0)));
        world.step();
    };
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t i = 0; i < limits::rpc_refused; ++i) refuse_once();
        world.run(static_cast<int>(limits::rpc_refused_window_s * 20 + 5));
    }
    CHECK(world.client(0).state() == ClientState::joined);  // within the limit
    for (std::uint32_t i = 0; i < limits::rpc_refused + 1; ++i) refuse_once();
    world.run(5);
    CHECK(world.client(0).state() == ClientState::closed);
    CHECK(world.client(0).close_reason() == CloseReason::malformed);
    CHECK(world.client(1).state() == ClientState::joined);
    CHECK(internal(world.server()).calls.counters().sessions_closed == 1);
    CHECK(internal(world.server()).calls.counters().refused_ghost == 3 * limits::rpc_refused + 1);
}

TEST_CASE("rpc: refused RPCs are limited in any ten seconds (O32)") {
    for (const int pause : {150, 190}) {  // ticks; ten seconds are 200
        CAPTURE(pause);
        CallWorld world(1);
        world.place_player(0, {12, 10, 0});
        world.run(10);
        const auto refuse = [&](std::uint32_t times) {
            for (; times > 0; --times) {
                CHECK(
                    internal(world.client(0)).calls.add(world.schema().uses[1].id, 9, words(0, 1)));
                world.step();
            }
            world.run(2);
            return world.client(0).state();
        };
        CHECK(refuse(1) == ClientState::joined);
        world.run(pause);
        CHECK(refuse(limits::rpc_refused - 1) == ClientState::joined);
        // After the pause of 150 ticks the next RPC is the 33rd in ten seconds. After 190 ticks the
        // first one is too old to count.
        if (pause == 190) CHECK(refuse(1) == ClientState::joined);
        CHECK(refuse(1) == ClientState::closed);
        CHECK(internal(world.server()).calls.counters().sessions_closed == 1);
    }
}

TEST_CASE("rpc: an RPC to an observer that has left returns stale_id") {
    CallWorld world(2);
    world.place_player(0, {12, 10, 0});
    world.run(10);
    Server& server = world.server();
    const ObserverId one = world.observer(0), other = world.observer(1);
    REQUIRE(server.call({.only = one}, world.schema().news[2], Ping{}));
    REQUIRE(server.close(one, CloseReason::kicked) == Status::ok);  // between the call and its tick
    CHECK(server.call({.only = one}, world.schema().news[2], Ping{}).error() == Status::stale_id);
    REQUIRE(server.call({.only = other}, world.schema().news[2], Ping{}));
    world.step();
    REQUIRE(server.rpc_reports().size() == 2);
    CHECK(server.rpc_reports()[0].status == Status::stale_id);
    CHECK(server.rpc_reports()[0].sent == 0);
    CHECK(server.rpc_reports()[1].status == Status::ok);
    CHECK(server.rpc_reports()[1].sent == 1);
}

TEST_CASE("rpc: an RPC on a leaving ghost is dropped without a penalty (O32)") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    world.peer(0).down.blackout = true;
    (void)world.server().world().move(entity, {250, 250, 0});
    world.step();
    CHECK(world.client(0).call(world.schema().uses[1], ghost, Ping{}) == Status::ok);
    world.run(3);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().gone == 1);
    CHECK(internal(world.server()).calls.counters().refused_ghost == 0);
}

TEST_CASE("rpc: an RPC of a client never reaches the next entity with the same local id") {
    std::uint64_t received = 0;
    std::set<EntityId> targets;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        CallWorld world(1, {0.35F, 0.1F, 0, 10'000, 90'000}, 4'800, seed);
        world.place_player(0, {12, 10, 0});
        world.run(60);
        std::vector<EntityId> blinking;
        for (int i = 0; i < 6; ++i) blinking.push_back(world.spawn({10, 10, 0}));
        SplitMix random(seed);
        for (std::uint32_t tick = 0; tick < 300; ++tick) {
            world.in_next_tick([&](Server& server) {
                for (const EntityId entity : blinking) {
                    if (random.chance(0.2F)) {
                        (void)server.world().move(entity,
                                                  {random.chance(0.5F) ? 10.0F : 200.0F, 10, 0});
                    }
                }
            });
            Client& client = world.client(0);
            client.for_each([&](GhostId ghost) {
                if (!random.chance(0.3F)) return;
                const double tag =
                    client.value_of(ghost, world.schema().body.id, world.schema().tag_field);
                (void)client.call(world.schema().uses[random.below(3)], ghost,
                                  Ping{static_cast<std::uint32_t>(tag), tick});
            });
            world.step();
            for (const Called& call : world.called) {
                CHECK(world.tag(call.target) == call.args.tag);
                targets.insert(call.target);
                ++received;
            }
            world.called.clear();
        }
        CHECK(internal(world.server()).calls.counters().refused_ghost == 0);
    }
    CHECK(received > 1'000);
    CHECK(targets.size() >= 7);
}

TEST_CASE("rpc: RPCs in the wrong direction are malformed packets") {
    CallWorld world(2);
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(internal(world.client(0)).calls.add(world.schema().news[2].id, 0, words(0, 0)));
    world.run(100);  // sent again and again: such a packet is never acknowledged
    CHECK(world.called.empty());
    CHECK(internal(world.server()).drops.malformed_packet > 30);
    CHECK(world.client(0).state() == ClientState::closed);
    CHECK(world.client(1).state() == ClientState::joined);
}

TEST_CASE("rpc: random bytes in place of RPCs do no harm, on either side") {
    const SmallSchema schema;
    SplitMix random(9);
    std::uint64_t read = 0;
    for (const RpcDirection direction : {RpcDirection::to_observers, RpcDirection::to_server}) {
        RpcInbox inbox;
        Micros now = 0;
        for (int i = 0; i < 60'000; ++i) {
            std::vector<std::byte> bytes(1 + random.below(40));
            for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
            BitReader in(bytes);
            now += 10'000;
            if (!inbox.read(schema.schema, direction, in)) continue;
            ++read;
            inbox.accept(schema.schema, now, [&](LocalId ghost) { return ghost % 3 == 0; });
            inbox.ghost_left(schema.schema, random.below(20), random.chance(0.5F));
            ArrivedRpc call;
            while (random.chance(0.9F) && inbox.next(call)) {
                CHECK(index_of(call.rpc) < schema.schema.rpcs().size());
                CHECK((call.ghost == no_local_id || call.ghost % 3 == 0));
            }
            REQUIRE(inbox.waiting() <= 256 + limits::rpc_orphans);
        }
    }
    CHECK(read > 1'000);
}

TEST_CASE("rpc: an RPC does not depend on the components of its entity (F22)") {
    CallWorld world(1);
    const EntityId tree =
        world.server().world().spawn({.kind = world.schema().tree, .position = {10, 10, 0}});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    CHECK(world.server().call({.entity = tree}, world.ordered_cull(), Ping{0, 4}).has_value());
    world.run(3);
    REQUIRE(world.got(0).size() == 1);
    CHECK(world.client(0).kind_of(world.got(0)[0].ghost) == world.schema().tree);
}

TEST_CASE("rpc: an RPC on a ghost that left is not penalized if the entity entered again") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    CHECK(world.server().world().set_owner(entity, world.observer(0)) == Status::ok);
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    REQUIRE(ghost != GhostId::none);
    const auto move_to = [&](Vec3 at) {
        world.in_next_tick([entity, at](Server& server) {
            CHECK(server.world().set_owner(entity, ObserverId::none) == Status::ok);
            CHECK(server.world().move(entity, at) == Status::ok);
        });
        world.run(2);
    };
    world.peer(0).down.blackout = true;  // the client does not receive the change of owner
    move_to({250, 250, 0});
    REQUIRE(!world.server().visibility().is_relevant(world.observer(0), entity));
    move_to({10, 10, 0});
    REQUIRE(world.server().visibility().is_relevant(world.observer(0), entity));
    REQUIRE(world.client(0).call(world.schema().steer, ghost, Ping{0, 2}) == Status::ok);
    world.run(3);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().gone == 1);
    CHECK(internal(world.server()).calls.counters().refused_caller == 0);
}

TEST_CASE("rpc: an ordered RPC that waits is evaluated as of its arrival") {
    // The client owned the entities when it called. When the RPCs are processed, the entities have
    // left and entered again, without an owner.
    CallWorld world(1);
    const ObserverId me = world.observer(0);
    world.place_player(0, {12, 10, 0});
    std::vector<EntityId> units;  // of a kind without retention
    for (std::uint32_t i = 0; i < limits::rpc_refused + 2; ++i) {
        units.push_back(world.server().world().spawn(
            {.kind = world.schema().player, .position = {250, 250, 0}}));
        world.server().world().edit(units.back(), world.schema().body)->tag = 1'000 + i;
        CHECK(world.server().world().set_owner(units.back(), me) == Status::ok);
    }
    world.run(40);
    world.peer(0).up.faults.delay_us = world.peer(0).down.faults.delay_us = 100'000;
    world.run(20);
    const auto order = [&](EntityId unit) {
        const GhostId ghost = world.ghost_of(0, unit);
        REQUIRE(ghost != GhostId::none);
        REQUIRE(world.client(0).call(world.schema().order, ghost, Ping{0, 1}) == Status::ok);
    };
    order(units[0]);
    world.peer(0).up.blackout = true;
    world.step();
    world.peer(0).up.blackout = false;
    for (const EntityId unit : units) order(unit);
    world.run(3);  // they arrive, and wait for the first
    REQUIRE(world.called.empty());
    for (const bool shown : {false, true}) {
        world.in_next_tick([&units, me, shown](Server& server) {
            for (const EntityId unit : units) {
                CHECK(server.world().set_owner(unit, ObserverId::none) == Status::ok);
                CHECK(server.visibility().allow(me, unit, shown) == Status::ok);
            }
        });
        world.step();
    }
    REQUIRE(world.server().visibility().is_relevant(me, units[1]));
    world.run(20);
    CHECK(internal(world.server()).calls.counters().gone > 0);
    CHECK(internal(world.server()).calls.counters().refused_caller == 0);
    CHECK(world.client(0).state() == ClientState::joined);
}

}  // namespace purview::test
