// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Calls of clients, honest ones and others.
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

TEST_CASE(
    "rpc: a client calls about a ghost that it holds, and the game gets entity and arguments") {
    CallWorld world(2);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    REQUIRE(ghost != no_ghost);
    Client& client = world.client(0);
    const Schema& schema = world.schema().schema;
    CHECK(client.call(schema, world.schema().uses[2], ghost, Ping{5, 6}) == Status::ok);
    const std::array<double, 2> beyond{1e30, -7};
    CHECK(client.call(world.schema().uses[2].id, ghost, beyond) == Status::ok);
    const std::array<double, 1> nothing{std::nan("")};
    CHECK(client.call(world.schema().shouts[2].id, no_ghost, nothing) == Status::ok);
    CHECK(client.call(schema, world.schema().steer, world.ghost_of(0, world.player(0)),
                      Ping{1, 2}) == Status::ok);
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
    // What the client itself knows to be wrong is not sent.
    CHECK(client.call(schema, world.schema().uses[2], ghost + 9, Ping{}) == Status::not_found);
    CHECK(client.call(schema, world.schema().steer, ghost, Ping{}) == Status::refused);
    CHECK(client.call(schema, world.ordered_cull(), ghost, Ping{}) == Status::bad_argument);
    CHECK(client.call(RpcId::none, ghost, nothing) == Status::bad_argument);
}

TEST_CASE("rpc: reliable calls of a client come once and in order, whatever is lost") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CallWorld world(1, {0.3F, 0.1F, 0.02F, 20'000, 60'000}, 4'800, seed);
        std::vector<std::uint32_t> ordered;
        for (std::uint32_t i = 1; i <= 150; ++i) {
            const Rpc<Ping> shout = world.schema().shouts[1 + i % 2];
            CHECK(world.client(0).call(world.schema().schema, shout, no_ghost, Ping{0, i}) ==
                  Status::ok);
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

TEST_CASE(
    "rpc: a call about what is hidden and one about what is not there are answered with the same "
    "bytes (O32)") {
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
            CHECK(data.call_unchecked(world.schema().uses[i % 3].id, 2 + i, words(i, i)));
            CHECK(data.call_unchecked(world.schema().shouts[2].id, no_ghost, words(0, i)));
            world.step();
        }
        world.run(10);
        CHECK(internal(world.server()).calls.counters().refused_ghost == limits::rpc_refused);
        CHECK(internal(world.server()).calls.counters().refused_caller == 0);
        CHECK(internal(world.server()).calls.counters().gone == 0);
        CHECK(world.called.size() == limits::rpc_refused);  // the static ones
        CHECK(world.client(0).state() == ClientState::joined);
        return world.peer(0).sent_to;
    };
    const auto hidden = run(true), absent = run(false);
    REQUIRE(hidden.size() > limits::rpc_refused);
    CHECK(hidden == absent);
}

TEST_CASE("rpc: unreliable calls of a client arrive, or are counted as not sent; others wait") {
    CallWorld world(2);
    constexpr std::uint32_t per_tick = 60, ticks = 5;
    const auto call = [&](RpcDelivery delivery) {
        const Rpc<Ping> shout = world.schema().shouts[static_cast<std::size_t>(delivery)];
        world.called.clear();
        for (std::uint32_t number = 1; number <= per_tick * ticks; ++number) {
            CHECK(world.client(0).call(world.schema().schema, shout, no_ghost, Ping{1, number}) ==
                  Status::ok);
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

TEST_CASE("rpc: a guess at a ghost that is relevant and has not arrived yet is refused (O32)") {
    CallWorld world(1);
    world.place_player(0, {12, 10, 0});
    world.run(10);
    world.peer(0).down.blackout = true;
    (void)world.spawn({10, 10, 0});
    world.run(2);
    for (std::uint32_t guess = 1; guess < 6; ++guess) {
        CHECK(internal(world.client(0))
                  .call_unchecked(world.schema().uses[1].id, guess, words(0, guess)));
    }
    world.run(2);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().refused_ghost == 5);
}

TEST_CASE("rpc: a call that a role may not make is refused and counted (O32)") {
    CallWorld world(2, {}, 4'800, 1, {Role::player, Role::spectator});
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {14, 10, 0});
    world.run(10);
    CHECK(world.client(1).call(world.schema().schema, world.schema().shouts[0], no_ghost, Ping{}) ==
          Status::refused);
    ClientData& spectator = internal(world.client(1));
    CHECK(spectator.call_unchecked(world.schema().shouts[2].id, no_ghost, words(0, 1)));
    CHECK(spectator.call_unchecked(world.schema().uses[2].id, world.ghost_of(1, entity),
                                   words(0, 2)));
    ClientData& player = internal(world.client(0));
    CHECK(player.call_unchecked(world.schema().steer.id, world.ghost_of(0, entity), words(0, 3)));
    CHECK(player.call_unchecked(world.schema().steer.id, world.ghost_of(0, world.player(1)),
                                words(0, 4)));
    world.run(5);
    REQUIRE(world.called.size() == 1);  // the ghost is anybody's to use
    CHECK(world.called[0].observer == world.observer(1));
    CHECK(world.called[0].args.number == 2);
    CHECK(internal(world.server()).calls.counters().refused_caller == 3);
}

TEST_CASE("rpc: a session that keeps making calls it may not is closed, no other is (O32)") {
    CallWorld world(2);
    const auto refuse_once = [&] {
        CHECK(
            internal(world.client(0)).call_unchecked(world.schema().uses[2].id, 900, words(0, 0)));
        world.step();
    };
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t i = 0; i < limits::rpc_refused; ++i) refuse_once();
        world.run(static_cast<int>(limits::rpc_refused_window_s * 20 + 5));
    }
    CHECK(world.client(0).state() == ClientState::joined);  // rarely enough
    for (std::uint32_t i = 0; i < limits::rpc_refused + 1; ++i) refuse_once();
    world.run(5);
    CHECK(world.client(0).state() == ClientState::closed);
    CHECK(world.client(0).close_reason() == CloseReason::malformed);
    CHECK(world.client(1).state() == ClientState::joined);
    CHECK(internal(world.server()).calls.counters().sessions_closed == 1);
    CHECK(internal(world.server()).calls.counters().refused_ghost == 3 * limits::rpc_refused + 1);
}

TEST_CASE("rpc: too many refused calls are those of any ten seconds, whenever they began (O32)") {
    for (const int pause : {150, 190}) {  // ticks; ten seconds are 200
        CAPTURE(pause);
        CallWorld world(1);
        world.place_player(0, {12, 10, 0});
        world.run(10);
        const auto refuse = [&](std::uint32_t times) {
            for (; times > 0; --times) {
                CHECK(internal(world.client(0))
                          .call_unchecked(world.schema().uses[1].id, 9, words(0, 1)));
                world.step();
            }
            world.run(2);
            return world.client(0).state();
        };
        CHECK(refuse(1) == ClientState::joined);
        world.run(pause);
        CHECK(refuse(limits::rpc_refused - 1) == ClientState::joined);
        // With the next the first is one of 33; after 190 ticks it is too old.
        if (pause == 190) CHECK(refuse(1) == ClientState::joined);
        CHECK(refuse(1) == ClientState::closed);
        CHECK(internal(world.server()).calls.counters().sessions_closed == 1);
    }
}

TEST_CASE("rpc: a call to one who has gone says so") {
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

TEST_CASE("rpc: a call about a ghost that is on its way out is dropped, and nobody's fault (O32)") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    world.peer(0).down.blackout = true;
    (void)world.server().world().move(entity, {250, 250, 0});
    world.step();
    CHECK(world.client(0).call(world.schema().schema, world.schema().uses[1], ghost, Ping{}) ==
          Status::ok);
    world.run(3);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().gone == 1);
    CHECK(internal(world.server()).calls.counters().refused_ghost == 0);
}

TEST_CASE(
    "rpc: a client's call about a ghost never reaches the next entity under that local id, "
    "whatever is lost") {
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
            for (GhostId ghost = 0; ghost < client.ghost_end(); ++ghost) {
                if (!client.is_held(ghost) || !random.chance(0.3F)) continue;
                const double tag =
                    client.value_of(ghost, world.schema().body.id, world.schema().tag_field);
                (void)client.call(world.schema().schema, world.schema().uses[random.below(3)],
                                  ghost, Ping{static_cast<std::uint32_t>(tag), tick});
            }
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

TEST_CASE("rpc: calls of the wrong direction, and nonsense in their place, are malformed packets") {
    CallWorld world(2);
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(internal(world.client(0)).call_unchecked(world.schema().news[2].id, 0, words(0, 0)));
    world.run(100);  // sent again and again: no such packet is acknowledged
    CHECK(world.called.empty());
    CHECK(internal(world.server()).drops.malformed_packet > 30);
    CHECK(world.client(0).state() == ClientState::closed);
    CHECK(world.client(1).state() == ClientState::joined);
}

TEST_CASE("rpc: random bytes in place of calls do no harm, on either side") {
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

TEST_CASE(
    "rpc: a call does not look at components: one about an entity without any goes too (F22)") {
    CallWorld world(1);
    const EntityId tree = *world.server().world().spawn(world.schema().tree, {10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    CHECK(world.server().call({.entity = tree}, world.ordered_cull(), Ping{0, 4}).has_value());
    world.run(3);
    REQUIRE(world.got(0).size() == 1);
    CHECK(world.client(0).kind_of(world.got(0)[0].ghost) == world.schema().tree);
}

TEST_CASE("rpc: a call about a ghost that has left is no offence when its entity is there again") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    CHECK(world.server().world().set_owner(entity, world.observer(0)) == Status::ok);
    world.run(10);
    const GhostId ghost = world.ghost_of(0, entity);
    REQUIRE(ghost != no_ghost);
    const auto move_to = [&](Vec3 at) {
        world.in_next_tick([entity, at](Server& server) {
            CHECK(server.world().set_owner(entity, ObserverId::none) == Status::ok);
            CHECK(server.world().move(entity, at) == Status::ok);
        });
        world.run(2);
    };
    world.peer(0).down.blackout = true;  // he does not hear that it is not his any more
    move_to({250, 250, 0});
    REQUIRE(!world.server().visibility().is_relevant(world.observer(0), entity));
    move_to({10, 10, 0});
    REQUIRE(world.server().visibility().is_relevant(world.observer(0), entity));
    REQUIRE(world.client(0).call(world.schema().schema, world.schema().steer, ghost, Ping{0, 2}) ==
            Status::ok);
    world.run(3);
    CHECK(world.called.empty());
    CHECK(internal(world.server()).calls.counters().gone == 1);
    CHECK(internal(world.server()).calls.counters().refused_caller == 0);
}

TEST_CASE("rpc: an ordered call that waits for one that was lost is judged as it arrived") {
    // What he called about was his; by its turn it has left and come again, as nobody's.
    CallWorld world(1);
    const ObserverId me = world.observer(0);
    world.place_player(0, {12, 10, 0});
    std::vector<EntityId> units;  // of a kind that no copies are kept of
    for (std::uint32_t i = 0; i < limits::rpc_refused + 2; ++i) {
        units.push_back(*world.server().world().spawn(world.schema().player, {250, 250, 0}));
        world.server().world().edit(units.back(), world.schema().body)->tag = 1'000 + i;
        CHECK(world.server().world().set_owner(units.back(), me) == Status::ok);
    }
    world.run(40);
    world.peer(0).up.faults.delay_us = world.peer(0).down.faults.delay_us = 100'000;
    world.run(20);
    const auto order = [&](EntityId unit) {
        const GhostId ghost = world.ghost_of(0, unit);
        REQUIRE(ghost != no_ghost);
        REQUIRE(world.client(0).call(world.schema().schema, world.schema().order, ghost,
                                     Ping{0, 1}) == Status::ok);
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
