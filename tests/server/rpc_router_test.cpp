// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs between a complete server and complete clients.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/internal_access.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "support/rpc_support.hpp"

namespace purview::test {

TEST_CASE("rpc: an observer without the entity is culled with a reason (N27 F20 F21 F31)") {
    CallWorld world(3);
    const EntityId near = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {250, 250, 0});
    world.place_player(2, {11, 10, 0});
    (void)world.server().visibility().deny(world.observer(2), near, true);
    world.run(10);
    const CallId call = *world.server().call({.entity = near}, world.ordered_cull(), Ping{7, 1});
    world.step();
    const auto reports = world.server().rpc_reports();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].call == call);
    CHECK(reports[0].target == near);
    CHECK(reports[0].sent == 1);
    REQUIRE(reports[0].culled.size() == 2);
    CHECK(reports[0].culled[0].observer == world.observer(1));
    CHECK(reports[0].culled[0].reason == CullReason::not_relevant);
    CHECK(reports[0].culled[1].observer == world.observer(2));
    CHECK(reports[0].culled[1].reason == CullReason::denied);
    CHECK(to_string(reports[0].culled[1].reason) == "denied");
    world.run(10);
    CHECK(world.server().rpc_reports().empty());
    CHECK(numbers(world.got(0)) == Numbers{1});
    CHECK(world.got(0)[0].tag_of_ghost == world.tag(near));
    CHECK(world.got(1).empty());
    CHECK(world.got(2).empty());
}

TEST_CASE("rpc: an RPC on an entity spawned in the same tick reaches its observers (N27)") {
    CallWorld world(2);
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {250, 250, 0});
    world.run(10);
    world.in_next_tick([&](Server& server) {
        const EntityId rocket = world.spawn({10, 10, 0});
        CHECK(server.call({.entity = rocket}, world.ordered_cull(), Ping{0, 5}).has_value());
        CHECK(server.call({.entity = rocket},
                          world.schema().ping(RpcDelivery::unreliable, RpcPolicy::cull),
                          Ping{0, 6}));
    });
    world.run(6);
    CHECK(numbers(world.got(0)) == Numbers{5, 6});
    CHECK(world.got(0)[0].tag_of_ghost > 0);
    CHECK(world.got(1).empty());
}

TEST_CASE("rpc: an RPC is culled if its entity leaves or despawns in the same tick (N27)") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    const EntityId doomed = world.spawn({11, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    world.in_next_tick([&](Server& server) {
        CHECK(server.call({.entity = entity}, world.ordered_cull(), Ping{0, 1}).has_value());
        CHECK(server.call({.entity = doomed}, world.ordered_cull(), Ping{0, 2}).has_value());
        (void)server.world().move(entity, {250, 250, 0});
        (void)server.world().despawn(doomed);
    });
    world.step();
    REQUIRE(world.server().rpc_reports().size() == 2);
    CHECK(world.server().rpc_reports()[0].sent == 0);
    CHECK(world.server().rpc_reports()[0].culled.size() == 1);
    CHECK(world.server().rpc_reports()[1].status == Status::stale_id);
    CHECK(world.server().call({.entity = doomed}, world.ordered_cull(), Ping{}).error() ==
          Status::stale_id);
    world.run(10);
    CHECK(world.got(0).empty());
}

TEST_CASE("rpc: a static RPC reaches all ready observers, whatever their position (F20)") {
    CallWorld world(3);
    world.place_player(1, {250, 250, 0});
    (void)world.server().visibility().set_ready(world.observer(2), false);
    world.run(5);
    for (const Rpc<Ping> news : world.schema().news)
        CHECK(world.server().call({}, news, Ping{0, index_of(news.id)}).has_value());
    CHECK(world.server().call({.only = world.observer(1)}, world.schema().news[2], Ping{0, 900}));
    CHECK(world.server().call({.only = ObserverId{77}}, world.schema().news[2], Ping{}).error() ==
          Status::stale_id);
    world.step();
    REQUIRE(world.server().rpc_reports().size() == 4);
    CHECK(world.server().rpc_reports()[0].sent == 2);
    REQUIRE(world.server().rpc_reports()[0].culled.size() == 1);
    CHECK(world.server().rpc_reports()[0].culled[0].reason == CullReason::not_ready);
    CHECK(world.server().rpc_reports()[3].sent == 1);
    CHECK(world.server().rpc_reports()[3].culled.empty());
    world.run(5);
    CHECK(world.got(0).size() == 3);
    CHECK(world.got(1).size() == 4);
    CHECK(world.got(2).empty());
}

TEST_CASE("rpc: an RPC to listed observers reaches those that relevance allows, once each") {
    CallWorld world(4);
    for (std::uint32_t i = 0; i < 3; ++i)
        world.place_player(i, {100 + 10 * static_cast<float>(i), 100, 0});
    world.place_player(3, {280, 280, 0});  // sees none of the others
    world.run(5);
    Server& server = world.server();
    const auto& schema = world.schema();
    std::vector<ObserverId> named{world.observer(3), world.observer(1), world.observer(1)};
    CHECK(server.call({.among = named}, schema.news[2], Ping{0, 1}));
    CHECK(server.call({.among = named, .except = world.observer(3)}, schema.news[2], Ping{0, 2}));
    CHECK(server.call({.entity = world.player(0), .among = named}, schema.pings[6], Ping{0, 3}));
    CHECK(
        server.call({.position = Vec3{105, 100, 0}, .among = named}, schema.booms[2], Ping{0, 4}));
    CHECK(server.call({.entity = world.player(0), .only = world.observer(2)}, schema.pings[6],
                      Ping{0, 5}));
    named.assign({ObserverId{77}});  // the list was copied; this one does not exist
    CHECK(server.call({.among = named}, schema.news[2], Ping{0, 6}));
    CHECK(server.call({.entity = world.player(0), .position = Vec3{}}, schema.pings[6], Ping{})
              .error() == Status::bad_argument);
    world.step();
    REQUIRE(server.rpc_reports().size() == 6);
    const std::uint32_t sent[] = {2, 1, 1, 1, 1, 0};
    const std::size_t culled[] = {0, 0, 1, 1, 0, 0};
    for (std::size_t call = 0; call < 6; ++call) {
        CHECK(server.rpc_reports()[call].sent == sent[call]);
        CHECK(server.rpc_reports()[call].culled.size() == culled[call]);
    }
    world.run(5);
    CHECK(world.got(0).empty());
    CHECK(world.got(1).size() == 4);
    CHECK(world.got(2).size() == 1);
    CHECK(world.got(3).size() == 1);
}

TEST_CASE("rpc: an excluded observer gets nothing, now or later, and is in no report") {
    CallWorld world(3);
    for (std::uint32_t i = 0; i < 3; ++i)
        world.place_player(i, {100 + 10 * static_cast<float>(i), 100, 0});
    world.run(5);
    Server& server = world.server();
    const ObserverId first = world.observer(0);
    const auto& schema = world.schema();
    CHECK(server.call({.entity = world.player(0), .except = first}, schema.pings[6], Ping{0, 1})
              .has_value());
    CHECK(server.call({.position = Vec3{105, 100, 0}, .except = first}, schema.booms[2], Ping{0, 2})
              .has_value());
    CHECK(server.call({.except = first}, schema.news[2], Ping{0, 3}).has_value());
    CHECK(server.call({.except = ObserverId{77}}, schema.news[2], Ping{0, 4}).has_value());
    world.step();
    REQUIRE(server.rpc_reports().size() == 4);
    for (std::size_t call = 0; call < 3; ++call) {
        CHECK(server.rpc_reports()[call].sent == 2);
        CHECK(server.rpc_reports()[call].culled.empty());
    }
    CHECK(server.rpc_reports()[3].sent == 3);
    // Nothing is queued for the excluded observer.
    const EntityId far = world.player(1);
    world.place_player(1, {280, 280, 0});
    world.run(5);
    CHECK(server.call({.entity = far, .except = first}, schema.pings[7], Ping{0, 5}).has_value());
    world.step();
    REQUIRE(server.rpc_reports().size() == 1);
    CHECK(server.rpc_reports()[0].held == 1);
    world.place_player(1, {110, 100, 0});
    world.run(5);
    CHECK(numbers(world.got(0)) == Numbers{4});
    CHECK(numbers(world.got(1)) == Numbers{1, 2, 3, 4, 5});
    CHECK(numbers(world.got(2)) == Numbers{1, 2, 3, 4, 5});
}

TEST_CASE("rpc: an RPC at a position reaches the observers with an area over it (P25)") {
    CallWorld world(3);
    world.place_player(0, {100, 100, 0});
    world.place_player(1, {150, 100, 0});
    world.place_player(2, {250, 250, 0});
    world.server().visibility().set_area(world.observer(2), 1, Area::at({130, 100, 0}));
    world.run(5);
    CHECK(world.server()
              .call({.position = Vec3{125, 100, 0}}, world.schema().booms[2], Ping{0, 1})
              .has_value());
    CHECK(world.server()
              .call({.position = Vec3{145, 100, 0}}, world.schema().booms[0], Ping{0, 2})
              .has_value());
    CHECK(world.server()
              .call({.position = Vec3{20, 250, 0}}, world.schema().booms[1], Ping{0, 3})
              .has_value());
    world.step();
    REQUIRE(world.server().rpc_reports().size() == 3);
    CHECK(world.server().rpc_reports()[1].culled.size() == 1);
    CHECK(world.server().rpc_reports()[1].culled[0].reason == CullReason::out_of_reach);
    CHECK(world.server().rpc_reports()[2].sent == 0);
    world.run(5);
    CHECK(numbers(world.got(0)) == Numbers{1});
    CHECK(world.got(0)[0].ghost == GhostId::none);
    CHECK(numbers(world.got(1)) == Numbers{1, 2});
    CHECK(numbers(world.got(2)) == Numbers{1, 2});
}

TEST_CASE("rpc: a queued RPC waits until the entity is relevant, up to its limits (F20)") {
    CallWorld world(1);
    const EntityId soon = world.spawn({200, 10, 0});
    const EntityId never = world.spawn({200, 20, 0});
    world.place_player(0, {12, 10, 0});
    world.run(5);
    const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    for (std::uint32_t i = 0; i < limits::rpc_queued_per_entity + 1; ++i)
        CHECK(world.server().call({.entity = soon}, hold, Ping{0, i + 1}).has_value());
    const CallId expires = *world.server().call({.entity = never}, hold, Ping{0, 50});
    world.step();
    const auto reports = world.server().rpc_reports();
    REQUIRE(reports.size() == limits::rpc_queued_per_entity + 2);
    CHECK(reports[0].held == 1);
    CHECK(reports[0].culled.empty());
    REQUIRE(reports[limits::rpc_queued_per_entity].culled.size() == 1);
    CHECK(reports[limits::rpc_queued_per_entity].culled[0].reason == CullReason::capacity);
    CHECK(reports.back().held == 1);  // RPCs queued for another entity do not use its capacity
    world.run(SmallSchema::hold_ticks - 10);
    CHECK(world.got(0).empty());
    (void)world.server().world().move(soon, {15, 10, 0});
    world.run(5);
    CHECK(numbers(world.got(0)) == Numbers{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(world.got(0)[0].tag_of_ghost == world.tag(soon));
    CHECK(world.late.empty());
    world.run(10);
    REQUIRE(world.late.size() == 1);
    CHECK(world.late[0].call == expires);
    CHECK(world.late[0].culled.reason == CullReason::expired);
    (void)world.server().world().move(never, {15, 10, 0});
    world.run(5);
    CHECK(world.got(0).size() == limits::rpc_queued_per_entity);
    CHECK(internal(world.server()).calls.held().empty());
    CHECK(internal(world.server()).calls.held_pairs() == 0);
}

TEST_CASE("rpc: an RPC queued for one observer uses no capacity of another (F20 P14)") {
    // What the second client gets must not depend on what the first one sees.
    std::vector<Numbers> got;
    for (const bool sees : {false, true}) {
        CallWorld world(2);
        const EntityId entity = world.spawn({15, 10, 0});
        world.place_player(0, sees ? Vec3{12, 10, 0} : Vec3{280, 20, 0});
        world.place_player(1, {12, 12, 0});
        world.run(5);
        const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
        for (std::uint32_t i = 0; i < limits::rpc_queued_per_entity; ++i)
            CHECK(world.server().call({.entity = entity}, hold, Ping{0, i + 1}).has_value());
        world.run(5);
        (void)world.server().world().move(entity, {150, 200, 0});
        world.run(5);
        CHECK(world.server().call({.entity = entity}, hold, Ping{0, 99}).has_value());
        world.run(5);
        (void)world.server().world().move(entity, {15, 10, 0});
        world.run(5);
        got.push_back(numbers(world.got(1)));
        CHECK(got.back().size() == limits::rpc_queued_per_entity + 1);
    }
    CHECK(got[0] == got[1]);
}

TEST_CASE("rpc: no RPC is queued for entities below a denied member") {
    CallWorld world(1);
    world.place_player(0, {12, 10, 0});
    std::vector<EntityId> line;  // from the root downwards
    for (int i = 0; i < 3; ++i) {
        line.push_back(world.spawn({10, 10, 0}));
        if (i > 0) CHECK(world.server().world().attach(line[i], line[i - 1]) == Status::ok);
    }
    world.run(10);
    CHECK(world.server().visibility().deny(world.observer(0), line[1], true) == Status::ok);
    world.run(3);
    const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(world.server().call({.entity = line[i]}, hold, Ping{0, i}));
    world.step();
    const auto reports = world.server().rpc_reports();
    REQUIRE(reports.size() == 3);
    CHECK(reports[0].sent == 1);
    for (const std::size_t denied : {1, 2}) {
        CHECK(reports[denied].held == 0);
        REQUIRE(reports[denied].culled.size() == 1);
        CHECK(reports[denied].culled[0].reason == CullReason::denied);
    }
    CHECK(world.server().visibility().deny(world.observer(0), line[1], false) == Status::ok);
    world.run(10);
    CHECK(world.ghost_of(0, line[2]) != GhostId::none);
    CHECK(numbers(world.got(0)) == Numbers{0});
}

TEST_CASE("rpc: an RPC queued for an entity that is denied later is culled for good") {
    CallWorld world(1);
    const ObserverId me = world.observer(0);
    const EntityId entity = world.spawn({200, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(5);
    const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    const CallId made = *world.server().call({.entity = entity}, hold, Ping{0, 1});
    world.run(2);
    CHECK(world.late.empty());
    CHECK(world.server().visibility().deny(me, entity, true) == Status::ok);
    world.run(2);
    REQUIRE(world.late.size() == 1);
    CHECK(world.late[0].call == made);
    CHECK(world.late[0].culled.reason == CullReason::denied);
    CHECK(internal(world.server()).calls.held_pairs() == 0);
    CHECK(world.server().visibility().deny(me, entity, false) == Status::ok);
    CHECK(world.server().visibility().allow(me, entity, true) == Status::ok);
    world.run(5);
    CHECK(world.ghost_of(0, entity) != GhostId::none);
    CHECK(world.got(0).empty());
}

TEST_CASE("rpc: a forced RPC reaches observers without the entity, naming no ghost (F20)") {
    CallWorld world(2);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {250, 250, 0});
    world.run(5);
    const Rpc<Ping> force = world.schema().ping(RpcDelivery::reliable_unordered, RpcPolicy::force);
    CHECK(world.server().call({.entity = entity}, force, Ping{0, 3}).has_value());
    world.run(5);
    REQUIRE(numbers(world.got(0)) == Numbers{3});
    CHECK(world.got(0)[0].tag_of_ghost == world.tag(entity));
    REQUIRE(numbers(world.got(1)) == Numbers{3});
    CHECK(world.got(1)[0].ghost == GhostId::none);
    CHECK(world.client(1).ghost_count() == 1);  // its own player: no ghost came with the RPC
}

TEST_CASE("rpc: an unreliable RPC is sent in its tick or never, and counted (F20)") {
    CallWorld world(1, {}, 128);
    const EntityId entity = world.spawn({10, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    for (std::uint32_t i = 0; i < 100; ++i) {
        CHECK(world.server()
                  .call({.entity = entity},
                        world.schema().ping(RpcDelivery::unreliable, RpcPolicy::cull), Ping{0, i})
                  .has_value());
    }
    world.step();
    CHECK(world.largest_tick_bytes <= 128);
    const std::size_t no_room = world.late.size();
    CHECK(no_room > 50);
    for (const RpcLateCull& late : world.late) CHECK(late.culled.reason == CullReason::no_room);
    CHECK(internal(world.server()).calls.counters().culled_late == no_room);
    world.run(5);
    CHECK(world.got(0).size() == 100 - no_room);
}

TEST_CASE("rpc: RPCs above the pending limit of an observer are culled (F21)") {
    CallWorld world(1);
    world.peer(0).down.blackout = true;
    std::uint32_t sent = 0, full = 0;
    for (std::uint32_t i = 0; i < limits::rpc_pending_per_observer + 20; ++i)
        CHECK(world.server().call({}, world.schema().news[2], Ping{0, i}).has_value());
    world.step();
    for (const RpcReport& report : world.server().rpc_reports()) {
        sent += report.sent;
        if (!report.culled.empty()) full += report.culled[0].reason == CullReason::capacity;
    }
    CHECK(sent == limits::rpc_pending_per_observer);
    CHECK(full == 20);
    CHECK(internal(world.server()).sessions[0]->calls_out.size() ==
          limits::rpc_pending_per_observer);
    world.peer(0).down.blackout = false;
    world.run(60);
    CHECK(world.got(0).size() == limits::rpc_pending_per_observer);
    for (std::uint32_t i = 0; i < limits::rpc_calls_per_tick; ++i)
        (void)world.server().call({}, world.schema().news[0], Ping{0, i});
    CHECK(world.server().call({}, world.schema().news[0], Ping{}).error() == Status::capacity);
}

TEST_CASE("rpc: neither RPCs nor state updates starve the other (F20)") {
    CallWorld world(1, {}, 300);
    std::vector<EntityId> crowd;
    for (int i = 0; i < 150; ++i) crowd.push_back(world.spawn({10, 10, 0}));
    world.place_player(0, {12, 10, 0});
    Tick oldest = 0;
    for (std::uint32_t tick = 0; tick < 300; ++tick) {
        world.in_next_tick([&](Server& server) {
            for (const EntityId entity : crowd)
                server.world().edit(entity, world.schema().body)->facing =
                    0.1F * static_cast<float>(tick % 60);
            for (std::uint32_t i = 0; i < 40; ++i)
                (void)server.call({}, world.schema().news[2], Ping{0, tick});
        });
        world.step();
        if (tick < 100) continue;
        Client& client = world.client(0);
        REQUIRE(client.ghost_count() == crowd.size() + 1);
        for (const EntityId entity : crowd) {
            const GhostId ghost = world.ghost_of(0, entity);
            oldest = std::max(oldest, world.server().current_tick() - client.updated_of(ghost));
        }
    }
    CHECK(world.largest_tick_bytes <= 300);
    CHECK(oldest > 1);
    CHECK(oldest < 30);
    CHECK(world.got(0).size() > 300 * 10);
}

TEST_CASE("rpc: an invalid call returns an error at once (F21)") {
    CallWorld world(1);
    const EntityId entity = world.spawn({10, 10, 0});
    Server& server = world.server();
    const Ping ping{};
    CHECK(
        server.call({.entity = entity}, RpcId::none, std::as_bytes(std::span(&ping, 1))).error() ==
        Status::bad_argument);
    CHECK(server.call({.entity = entity}, world.schema().news[0], ping).error() ==
          Status::bad_argument);
    CHECK(server.call({.entity = entity}, world.schema().steer, ping).error() ==
          Status::bad_argument);
    CHECK(server.call({}, world.schema().booms[0], ping).error() == Status::bad_argument);
    CHECK(server.call({.entity = entity}, world.ordered_cull().id, {}).error() ==
          Status::bad_argument);
    CHECK(server.call({.position = Vec3{std::nanf(""), 0, 0}}, world.schema().booms[0], ping)
              .error() == Status::bad_position);
    world.step();
    CHECK(server.rpc_reports().empty());
}

}  // namespace purview::test
