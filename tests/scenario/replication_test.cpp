// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "support/sanitized.hpp"

namespace purview::test {

namespace {

std::string first_mismatch(const SmallWorld& world) {
    return world.proof->mismatches().empty() ? "" : world.proof->mismatches().front();
}

void check_proof(const SmallWorld& world) {
    INFO(first_mismatch(world));
    CHECK(world.proof->counters().truth_mismatches == 0);
    CHECK(world.proof->counters().digest_mismatches == 0);
    for (const auto& client : world.clients) {
        CHECK(client->client.stats().order_violations == 0);
    }
}

}  // namespace

TEST_CASE("server: on a perfect network every client has exactly its permitted state") {
    SmallWorld world(7, {});
    for (int i = 0; i < 8; ++i) world.add_client(i < 6 ? Role::player : Role::spectator);
    world.run(200);
    CHECK(world.joined_count() == 8);
    CHECK(world.proof->counters().truth_checked > 8 * 150);
    CHECK(world.proof->counters().digests_checked > 8 * 150);
    check_proof(world);
}

TEST_CASE("server: with network faults every client has the state it acknowledged") {
    for (std::uint64_t seed = 1; seed <= unless_sanitized<std::uint64_t>(6, 2); ++seed) {
        SmallWorld world(seed, {0.1F, 0.05F, 0.02F, 30'000, 60'000});
        for (int i = 0; i < 8; ++i) world.add_client(i < 6 ? Role::player : Role::spectator);
        world.run(400);
        CHECK(world.joined_count() == 8);
        CHECK(world.proof->counters().digests_checked > 8 * 100);
        check_proof(world);
    }
}

TEST_CASE("server: an update that only removes the parent of a child is readable") {
    SmallWorld world(9, {});
    SmallClient& client = world.add_client();
    world.run(20);
    std::vector<SessionStats> sessions;
    world.server->sessions(sessions);
    REQUIRE(sessions.size() == 1);
    (void)world.server->visibility().set_unculled(sessions[0].observer, true);
    world.run(60);
    world.game.frozen = true;
    world.run(20);
    World& all = world.server->world();
    std::vector<EntityId> children;
    all.for_each([&](EntityId entity) {
        const bool is_leaf = all.kind_of(entity) == world.schema.crate;
        if (is_leaf && all.parent_of(entity) != EntityId::none) children.push_back(entity);
    });
    REQUIRE(children.size() > 5);
    for (const EntityId child : children) (void)all.detach(child);
    world.run(20);
    CHECK(client.client.stats().packets_malformed == 0);
    client.client.for_each(
        [&](GhostId ghost) { CHECK(client.client.parent_of(ghost) == GhostId::none); });
}

TEST_CASE("server: the byte budget of a tick is never exceeded, and no client starves") {
    SmallWorld world(3, {0.05F, 0, 0, 20'000, 10'000}, 300);
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(400);
    check_proof(world);
    CHECK(world.largest_tick_bytes <= 300);
    CHECK(world.largest_tick_bytes > 200);
    CHECK(world.server->stats().backlog_age_ticks_max > 0);
    for (const auto& client : world.clients) CHECK(client->client.stats().packets_malformed == 0);
    // The world is frozen: the whole backlog arrives.
    world.game.frozen = true;
    world.run(300);
    CHECK(world.server->stats().backlog_age_ticks_max > 0);  // the maximum over all ticks
    std::vector<SessionStats> sessions;
    world.server->sessions(sessions);
    for (const auto& session : sessions) CHECK(session.backlog == 0);
    for (const auto& session : sessions) {
        for (const auto& client : world.clients) {
            if (client->address == session.address)
                CHECK(client->client.ghost_count() == session.relevant);
        }
    }
    check_proof(world);
}

TEST_CASE("server: a client that vanishes times out and its entities are removed") {
    SmallWorld world(4, {});
    world.add_client();
    world.add_client();
    world.run(40);
    CHECK(world.server->stats().observers_ready == 2);
    const auto entities = world.server->stats().entities;
    world.clients[0]->up->blackout = true;
    world.run(20 * 11);
    CHECK(world.server->stats().observers_ready == 1);
    CHECK(world.server->stats().entities == entities - 1);
    CHECK(world.clients[0]->client.state() == ClientState::closed);
    check_proof(world);
}

TEST_CASE("server: a blackout of two seconds causes no mismatch") {
    SmallWorld world(5, {0.02F, 0, 0, 20'000, 5'000});
    for (int i = 0; i < 4; ++i) world.add_client();
    world.run(60);
    for (int round = 0; round < 3; ++round) {
        world.clients[0]->down->blackout = true;
        world.clients[1]->up->blackout = true;
        world.run(40);
        world.clients[0]->down->blackout = false;
        world.clients[1]->up->blackout = false;
        world.run(60);
    }
    CHECK(world.joined_count() == 4);
    check_proof(world);
}

TEST_CASE("server: a client with another schema is refused with the reason") {
    SmallWorld world(6, {});
    world.add_client(Role::player, 12345);
    world.add_client(Role::player, world.schema.schema.hash());
    world.run(20);
    CHECK(world.clients[0]->client.state() == ClientState::refused);
    CHECK(world.clients[0]->client.refuse_reason() == RefuseReason::schema);
    CHECK(world.clients[1]->client.state() == ClientState::joined);
    CHECK(internal(*world.server).drops.wrong_schema > 0);
}

TEST_CASE("server: commands arrive once and in order despite loss and duplication") {
    SmallWorld world(8, {0.05F, 0.2F, 0, 10'000, 0});
    world.add_client();
    world.run(40);
    std::uint64_t given = 0;
    for (int i = 0; i < 100; ++i) {
        const std::byte data{static_cast<std::uint8_t>(i)};
        if (world.clients[0]->client.send_command(std::span(&data, 1)) == Status::ok) ++given;
        world.step();
    }
    world.run(20);
    CHECK(given == 100);
    CHECK(world.game.commands <= given);
    CHECK(world.game.commands >= given - 2);
}

TEST_CASE("rpc: random calls under loss keep their guarantees both ways (N27 F20)") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SmallWorld world(seed, {0.1F, 0.05F, 0.02F, 30'000, 60'000}, seed == 1 ? 300U : 2'400U);
        for (int i = 0; i < 8; ++i) world.add_client(i < 6 ? Role::player : Role::spectator);
        world.make_calls(6);
        world.run(400);
        world.game.frozen = true;
        for (const auto& client : world.clients) client->up->faults = client->down->faults = {};
        world.run(150);
        CHECK(world.ledger->trouble() == "");
        CHECK(world.ledger->counts().delivered > 1'000);
        CHECK(world.ledger->counts().to_server > 300);
        for (const auto& client : world.clients) CHECK(world.missing_calls(*client) == 0);
        CHECK(internal(*world.server).calls.counters().refused_ghost == 0);
        CHECK(world.largest_tick_bytes <= world.def.budget_bytes_per_tick);
        check_proof(world);
    }
}

TEST_CASE("rpc: the call ledger finds duplicate, lost and misdirected calls") {
    SmallWorld world(5, {});
    world.add_client();
    world.make_calls(0);
    world.run(20);
    SmallClient& client = *world.clients[0];
    const Rpc<Ping> news = world.schema.news[2];
    const auto made = [&](const Ping& written, const Ping& sent) {
        world.ledger->made(*world.server->call({}, news, sent), news.id, EntityId::none, written);
    };
    SUBCASE("no fault") {
        made({0, 1}, {0, 1});
        world.run(3);
        CHECK(world.ledger->trouble() == "");
        CHECK(world.missing_calls(client) == 0);
    }
    SUBCASE("lost") {
        made({0, 1}, {0, 1});
        client.down->blackout = true;
        world.run(3);
        CHECK(world.missing_calls(client) == 1);
    }
    SUBCASE("duplicate") {
        made({0, 1}, {0, 1});
        (void)world.server->call({}, news, Ping{0, 1});
        world.run(3);
        CHECK(world.ledger->trouble() != "");
    }
    SUBCASE("changed") {
        made({0, 1}, {7, 1});
        world.run(3);
        CHECK(world.ledger->trouble() != "");
    }
    SUBCASE("out of order") {
        made({0, 2}, {0, 2});
        made({0, 1}, {0, 1});
        world.run(3);
        CHECK(world.ledger->trouble() != "");
    }
    SUBCASE("with the wrong ghost") {
        const EntityId player = world.game.players.begin()->second;
        const Rpc<Ping> ping = world.schema.ping(RpcDelivery::reliable_ordered, RpcPolicy::cull);
        const Ping wrong{world.server->world().get(player, world.schema.body)->tag + 1, 1};
        world.ledger->made(*world.server->call({.entity = player}, ping, wrong), ping.id, player,
                           wrong);
        world.run(3);
        CHECK(world.ledger->trouble() != "");
    }
}

}  // namespace purview::test
