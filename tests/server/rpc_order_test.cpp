// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The order of RPCs among themselves, and relative to component updates and ghosts.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/internal_access.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "support/rpc_support.hpp"

namespace purview::test {

TEST_CASE("rpc: a ghost is at least as new as an RPC about it, despite losses (O33)") {
    std::uint64_t received = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CallWorld world(2, {0.25F, 0.05F, 0, 20'000, 40'000}, seed % 2 == 0 ? 4'800U : 300U, seed);
        const EntityId entity = world.spawn({10, 10, 0});
        std::vector<EntityId> crowd;
        for (int i = 0; i < 60; ++i) crowd.push_back(world.spawn({12, 10, 0}));
        world.place_player(0, {12, 10, 0});
        world.place_player(1, {14, 10, 0});
        world.run(40);
        std::uint32_t hp = 0;
        world.check_call = [&](Client& client, const ReceivedRpc& call) {
            if (call.ghost == GhostId::none) return;
            const double there = client.value_of(call.ghost, world.schema().body.id, 2);
            CHECK(there >= call.number(1));
            ++received;
        };
        for (int tick = 0; tick < 150; ++tick) {
            world.in_next_tick([&](Server& server) {
                for (const EntityId other : crowd)
                    server.world().edit(other, world.schema().body)->facing += 0.1F;
                server.world().edit(entity, world.schema().body)->hp =
                    static_cast<std::uint16_t>(++hp);
                const auto delivery = static_cast<RpcDelivery>(tick % 3);
                (void)server.call({.entity = entity},
                                  world.schema().ping(delivery, RpcPolicy::cull), Ping{0, hp});
            });
            world.step();
        }
        world.run(60);
    }
    CHECK(received > 12 * 2 * 150 * 8 / 10);
}

TEST_CASE("rpc: ghosts are as new as their RPCs if a part of a tick's packets is lost (O33)") {
    std::uint64_t received = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CallWorld world(1, {0.4F, 0, 0, 10'000, 0}, 4'800, seed);
        std::vector<EntityId> crowd;
        for (int i = 0; i < 400; ++i) crowd.push_back(world.spawn({10, 10, 0}));
        world.place_player(0, {12, 10, 0});
        world.run(60);
        world.check_call = [&](Client& client, const ReceivedRpc& call) {
            if (call.ghost == GhostId::none) return;
            CHECK(client.value_of(call.ghost, world.schema().body.id, 2) >= call.number(1));
            ++received;
        };
        SplitMix random(seed);
        for (std::uint32_t tick = 1; tick < 100; ++tick) {
            world.in_next_tick([&](Server& server) {
                for (const EntityId entity : crowd)
                    server.world().edit(entity, world.schema().body)->hp =
                        static_cast<std::uint16_t>(tick);
                for (int i = 0; i < 80; ++i) {
                    const auto delivery = static_cast<RpcDelivery>(random.below(2));
                    (void)server.call({.entity = crowd[random.below(400)]},
                                      world.schema().ping(delivery, RpcPolicy::cull),
                                      Ping{0, tick});
                }
            });
            world.step();
        }
        world.run(40);
    }
    CHECK(received > 4'000);
}

TEST_CASE("rpc: reliable RPCs arrive once, ordered ones in order, despite losses (F20)") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CallWorld world(2, {0.3F, 0.1F, 0.02F, 20'000, 60'000}, 400, seed);
        const EntityId entity = world.spawn({10, 10, 0});
        world.place_player(0, {12, 10, 0});
        world.place_player(1, {250, 250, 0});
        world.run(60);
        Numbers ordered, unordered;
        for (std::uint32_t i = 1; i <= 120; ++i) {
            const bool in_order = i % 2 == 0;
            const auto delivery =
                in_order ? RpcDelivery::reliable_ordered : RpcDelivery::reliable_unordered;
            (in_order ? ordered : unordered).push_back(i);
            if (i % 6 < 2) {
                CHECK(world.server()
                          .call({}, world.schema().news[static_cast<std::size_t>(delivery)],
                                Ping{1, i})
                          .has_value());
            } else {
                CHECK(world.server()
                          .call({.entity = entity}, world.schema().ping(delivery, RpcPolicy::cull),
                                Ping{0, i})
                          .has_value());
            }
            world.step();
        }
        world.run(100);
        Numbers got_ordered, got_unordered;
        for (const std::uint32_t number : numbers(world.got(0)))
            (number % 2 == 0 ? got_ordered : got_unordered).push_back(number);
        std::sort(got_unordered.begin(), got_unordered.end());
        CHECK(got_ordered == ordered);
        CHECK(got_unordered == unordered);
        CHECK(internal(world.server()).calls.counters().written >
              internal(world.server()).calls.counters().sent);
        for (const Got& got : world.got(1)) CHECK(got.args.tag == 1);
        CHECK(world.got(1).size() == 40);
    }
}

TEST_CASE("rpc: an RPC never reaches the next ghost with the same local id (O33)") {
    std::uint64_t reused = 0, received = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        CallWorld world(1, {0.35F, 0.1F, 0, 10'000, 90'000}, 4'800, seed);
        world.place_player(0, {12, 10, 0});
        world.run(60);
        std::vector<EntityId> blinking;
        for (int i = 0; i < 6; ++i) blinking.push_back(world.spawn({10, 10, 0}));
        std::map<GhostId, double> last;
        world.check_call = [&](Client& client, const ReceivedRpc& call) {
            if (call.ghost == GhostId::none) return;
            ++received;
            const double tag =
                client.value_of(call.ghost, world.schema().body.id, world.schema().tag_field);
            CHECK(tag == call.number(0));
            reused += last.contains(call.ghost) && last[call.ghost] != tag ? 1 : 0;
            last[call.ghost] = tag;
        };
        SplitMix random(seed);
        for (std::uint32_t tick = 0; tick < 300; ++tick) {
            world.in_next_tick([&](Server& server) {
                for (const EntityId entity : blinking) {
                    if (random.chance(0.3F)) {
                        (void)server.world().move(entity,
                                                  {random.chance(0.5F) ? 10.0F : 200.0F, 10, 0});
                    }
                    const auto delivery = static_cast<RpcDelivery>(random.below(3));
                    (void)server.call({.entity = entity},
                                      world.schema().ping(delivery, RpcPolicy::cull),
                                      Ping{static_cast<std::uint32_t>(world.tag(entity)), tick});
                }
            });
            world.step();
        }
    }
    CHECK(received > 1'000);
    CHECK(reused > 50);
}

namespace {

/// Spawns an entity next to the first player. The packet with its enter is lost; the next ones
/// arrive.
EntityId spawn_withheld(CallWorld& world) {
    world.place_player(0, {12, 10, 0});
    world.run(10);
    world.peer(0).down.blackout = true;
    EntityId entity = EntityId::none;
    world.in_next_tick([&](Server&) { entity = world.spawn({10, 10, 0}); });
    world.step();
    world.peer(0).down.blackout = false;
    return entity;
}

}  // namespace

TEST_CASE("rpc: an RPC that arrives before its ghost waits for a bounded time (O32 O33)") {
    CallWorld world(1);
    const EntityId entity = spawn_withheld(world);
    world.peer(0).up.blackout = true;  // and the server gets no acknowledgements
    const auto ordered = world.ordered_cull();
    const auto unordered = world.schema().ping(RpcDelivery::unreliable, RpcPolicy::cull);
    CHECK(world.server().call({.entity = entity}, ordered, Ping{0, 1}).has_value());
    CHECK(world.server().call({.entity = entity}, unordered, Ping{0, 2}).has_value());
    world.step();
    CHECK(world.client(0).stats().calls_received == 2);
    CHECK(world.got(0).empty());
    SUBCASE("the ghost arrives") {
        world.peer(0).up.blackout = false;
        world.run(6);
        CHECK(numbers(world.got(0)).size() == 2);
        for (const Got& got : world.got(0)) CHECK(got.tag_of_ghost == world.tag(entity));
        CHECK(world.client(0).stats().calls_waited == 1);  // the other one waited in its order
        CHECK(world.client(0).stats().calls_dropped == 0);
    }
    SUBCASE("the ghost does not arrive") {
        world.run(static_cast<int>(limits::rpc_orphan_us / 50'000) + 2);
        CHECK(world.client(0).stats().calls_dropped == 2);
        world.peer(0).up.blackout = false;
        world.run(10);
        CHECK(world.got(0).empty());
        CHECK(world.client(0).state() == ClientState::joined);
    }
    SUBCASE("the ghost leaves before it arrives") {
        world.in_next_tick([&](Server& server) { (void)server.world().despawn(entity); });
        world.step();
        CHECK(world.client(0).stats().calls_dropped == 2);
        world.peer(0).up.blackout = false;
        EntityId next = EntityId::none;
        world.run(6);
        world.in_next_tick([&](Server&) { next = world.spawn({10, 10, 0}); });
        world.run(6);
        CHECK(world.got(0).empty());
    }
}

TEST_CASE("rpc: a forced RPC is delivered without its ghost if that never arrives (F20)") {
    CallWorld world(1);
    const EntityId entity = spawn_withheld(world);
    // One ordered RPC, and one unordered RPC, which waits by itself.
    CHECK(world.server().call({.entity = entity},
                              world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::force),
                              Ping{0, 1}));
    CHECK(world.server().call(
        {.entity = entity}, world.schema().ping(RpcDelivery::reliable_unordered, RpcPolicy::force),
        Ping{0, 2}));
    world.step();
    CHECK(world.client(0).stats().calls_received == 2);
    CHECK(world.got(0).empty());
    world.in_next_tick([&](Server& server) { (void)server.world().despawn(entity); });
    world.run(6);
    REQUIRE(world.got(0).size() == 2);
    for (const Got& got : world.got(0)) {
        CHECK(got.ghost == GhostId::none);
        CHECK_FALSE(got.ghost_left);
    }
    CHECK(world.client(0).stats().calls_dropped == 0);
}

}  // namespace purview::test
