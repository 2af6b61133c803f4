// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Bytes of unauthenticated peers, and limits.
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "link/handshake.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

Address outsider(std::uint16_t port, std::uint8_t host = 200) {
    Address address;
    address.carrier = Address::Carrier::memory;
    address.host[0] = host;
    address.port = port;
    return address;
}

/// Takes the pending datagrams of the server.
std::vector<std::vector<std::byte>> answers(Server& server) {
    std::vector<std::vector<std::byte>> out;
    OutgoingDatagram datagram;
    while (server.next_datagram(datagram))
        out.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
    return out;
}

std::vector<std::byte> hello(std::uint16_t version, std::uint64_t schema_hash,
                             std::uint64_t nonce) {
    std::vector<std::byte> bytes(hello_bytes);
    (void)write(Hello{version, schema_hash, nonce}, bytes);
    return bytes;
}

/// Answers the challenge as a well-behaved client at this address does.
std::vector<std::byte> answer_of(Server& server, const Address& from, std::uint64_t nonce,
                                 Micros now) {
    server.receive(hello(limits::protocol_version, 0, nonce), from, now);
    const auto out = answers(server);
    REQUIRE(out.size() == 1);
    const auto challenge = read_challenge(out[0]);
    REQUIRE(challenge.has_value());
    std::vector<std::byte> bytes(hello_bytes);
    (void)write(Answer{0, nonce, challenge->cookie, 0}, bytes);
    return bytes;
}

}  // namespace

TEST_CASE("server: random and damaged datagrams are counted and have no other effect") {
    SmallWorld world(21, {});
    for (int i = 0; i < 3; ++i) world.add_client();
    world.run(40);
    SplitMix random(77);
    std::vector<std::vector<std::byte>> seen;
    std::uint64_t sent = 0;
    for (int tick = 0; tick < 120; ++tick) {
        world.step();
        // Datagrams of a well-behaved client, damaged in many ways, from its own and from other
        // addresses.
        world.clients[0]->client.tick(world.now);
        std::span<const std::byte> out;
        while (world.clients[0]->client.next_datagram(out))
            seen.emplace_back(out.begin(), out.end());
        for (int i = 0; i < 60; ++i) {
            std::vector<std::byte> bytes;
            if (!seen.empty() && random.chance(0.6F)) {
                bytes = seen[random.below(static_cast<std::uint32_t>(seen.size()))];
                for (std::uint32_t f = 0; f <= random.below(4); ++f) {
                    bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] ^=
                        static_cast<std::byte>(1U << random.below(8));
                }
                if (random.chance(0.3F))
                    bytes.resize(random.below(static_cast<std::uint32_t>(bytes.size())) + 1);
            } else {
                bytes.resize(random.below(1400));
                for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
                if (!bytes.empty() && random.chance(0.7F))
                    bytes[0] = static_cast<std::byte>(random.below(9));
            }
            const Address from = random.chance(0.5F) ? world.clients[0]->address
                                                     : outsider(static_cast<std::uint16_t>(i));
            world.server->receive(bytes, from, world.now);
            ++sent;
        }
        (void)answers(*world.server);
    }
    CHECK(internal(*world.server).drops.total() > sent / 2);
    CHECK(world.server->stats().sessions == 3);
    world.run(40);
    CHECK(world.joined_count() == 3);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.proof->counters().truth_mismatches == 0);
}

TEST_CASE("server: malformed packets of a client close its session, and no other") {
    SmallWorld world(22, {});
    world.add_client();
    world.add_client();
    world.run(40);
    auto& sessions = internal(*world.server).sessions;
    REQUIRE(sessions.size() == 2);
    const std::uint64_t id = sessions[0]->connection_id;
    const Address from = sessions[0]->address;
    SplitMix random(5);
    for (int i = 0; i < 400; ++i) {
        std::vector<std::byte> bytes(60);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        out.u64(id);
        for (std::size_t b = out.bytes_written(); b < bytes.size(); ++b)
            bytes[b] = static_cast<std::byte>(random.next());
        seal(PacketType::data, id, bytes);
        world.server->receive(bytes, from, world.now);
    }
    CHECK(internal(*world.server).drops.malformed_packet > world.def.malformed_max);
    world.step();
    CHECK(world.server->stats().sessions == 1);
    world.run(60);
    CHECK(world.joined_count() == 1);
}

TEST_CASE("server: an unproven address gets no larger answer than it sent, and no state") {
    SmallWorld world(23, {});
    const std::vector<std::vector<std::byte>> datagrams = {
        hello(limits::protocol_version, 0, 1), hello(limits::protocol_version + 1, 0, 2),
        hello(limits::protocol_version, 99, 3)};
    for (std::uint16_t port = 0; port < 500; ++port) {
        for (const auto& datagram : datagrams) {
            world.server->receive(datagram, outsider(port), world.now);
            std::size_t size = 0;
            for (const auto& answer : answers(*world.server)) size += answer.size();
            CHECK(size > 0);
            CHECK(size <= datagram.size());
        }
    }
    CHECK(world.server->stats().sessions == 0);
    CHECK(internal(*world.server).sessions.empty());
    // Other bytes get no answer at all.
    std::vector<std::byte> nothing(64, std::byte{7});
    world.server->receive(nothing, outsider(1), world.now);
    CHECK(answers(*world.server).empty());
}

TEST_CASE("server: wrong versions and schemas, and full servers and hosts, are refused") {
    SmallWorld world(24, {});
    internal(*world.server).def.sessions_max = 3;
    internal(*world.server).def.sessions_per_host_max = 2;
    const auto refusal = [&](const std::vector<std::byte>& datagram, const Address& from) {
        world.server->receive(datagram, from, world.now);
        const auto out = answers(*world.server);
        REQUIRE(out.size() == 1);
        const auto refused = read_refuse(out[0]);
        return refused ? refused->reason : RefuseReason::none;
    };
    CHECK(refusal(hello(limits::protocol_version + 1, 0, 1), outsider(1)) == RefuseReason::version);
    CHECK(refusal(hello(limits::protocol_version, 4711, 1), outsider(1)) == RefuseReason::schema);
    for (std::uint16_t port = 1; port <= 2; ++port) {
        CHECK(refusal(answer_of(*world.server, outsider(port), port, world.now), outsider(port)) ==
              RefuseReason::none);
    }
    CHECK(refusal(answer_of(*world.server, outsider(3), 3, world.now), outsider(3)) ==
          RefuseReason::address_limit);
    const Address other = outsider(1, 201);
    CHECK(refusal(answer_of(*world.server, other, 4, world.now), other) == RefuseReason::none);
    const Address third = outsider(1, 202);
    CHECK(refusal(answer_of(*world.server, third, 5, world.now), third) == RefuseReason::full);
    CHECK(world.server->stats().sessions == 3);
    // A cookie of another address, and an expired cookie.
    const auto stolen = answer_of(*world.server, third, 6, world.now);
    world.server->receive(stolen, outsider(9, 203), world.now);
    CHECK(answers(*world.server).empty());
    CHECK(internal(*world.server).drops.bad_cookie == 1);
    CHECK(refusal(answer_of(*world.server, third, 7, world.now - 60'000'000), third) ==
          RefuseReason::expired);
    // A client that is accepted but never joins is closed after the join timeout.
    world.run(20 * 6);
    CHECK(world.server->stats().sessions == 0);
}

TEST_CASE("server: a repeated answer finds its session and does not make another") {
    SmallWorld world(25, {});
    const auto answer = answer_of(*world.server, outsider(1), 77, world.now);
    for (int i = 0; i < 5; ++i) world.server->receive(answer, outsider(1), world.now);
    CHECK(world.server->stats().sessions == 1);
    CHECK(answers(*world.server).size() == 5);
}

TEST_CASE("server: a client with a new address proves it and goes on without a mismatch") {
    SmallWorld world(26, {});
    world.add_client();
    world.add_client();
    world.run(60);
    for (int round = 0; round < 3; ++round) {
        world.clients[0]->address.port = static_cast<std::uint16_t>(9000 + round);
        world.run(40);
        CHECK(internal(*world.server).sessions[0]->address == world.clients[0]->address);
    }
    CHECK(world.joined_count() == 2);
    CHECK(world.clients[0]->client.stats().packets_received > 100);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.server->stats().sessions == 2);
}

TEST_CASE("server: a client that reconnects gets a full snapshot; its old session has ended") {
    SmallWorld world(27, {});
    world.add_client();
    world.run(60);
    world.clients[0]->client.leave();
    world.step();
    world.step();
    CHECK(world.server->stats().sessions == 0);
    CHECK(world.game.players.empty());
    world.clients.clear();
    world.add_client();
    world.run(60);
    CHECK(world.joined_count() == 1);
    std::vector<SessionStats> sessions;
    world.server->sessions(sessions);
    REQUIRE(sessions.size() == 1);
    CHECK(world.clients[0]->client.ghost_count() > 3);
    CHECK(world.proof->counters().digest_mismatches == 0);
}

TEST_CASE("server: a shutdown closes all clients and refuses new ones") {
    SmallWorld world(28, {});
    world.add_client();
    world.run(40);
    world.server->shut_down();
    world.run(3);
    CHECK(world.clients[0]->client.state() == ClientState::closed);
    CHECK(world.clients[0]->client.close_reason() == CloseReason::shutting_down);
    world.server->receive(hello(limits::protocol_version, 0, 5), outsider(5), world.now);
    const auto out = answers(*world.server);
    REQUIRE(out.size() == 1);
    CHECK(read_refuse(out[0])->reason == RefuseReason::shutting_down);
}

TEST_CASE("server: a client is notified when the game refuses its join") {
    SmallWorld world(29, {});
    world.game.refuse_joins = true;
    world.add_client();
    world.run(20);
    CHECK(world.clients[0]->client.state() == ClientState::refused);
    CHECK(world.clients[0]->client.refuse_reason() == RefuseReason::join);
    world.run(25);
    CHECK(world.server->stats().sessions == 0);  // its session is closed
    CHECK(world.server->stats().observers_ready == 0);
}

TEST_CASE("server: a client that receives nothing costs bounded memory and affects no other") {
    SmallWorld world(30, {});
    world.add_client();
    world.add_client();
    world.run(60);
    world.def.session_timeout_ms = 10'000;
    world.clients[0]->down->blackout = true;
    world.run(150);
    const Session& stalled = *internal(*world.server).sessions[0];
    CHECK(stalled.link.packets_under_way() > 100);
    CHECK(stalled.link.packets_under_way() <= PacketLink::under_way_max);
    CHECK(stalled.ghosts.memory_bytes() < 2'000'000);
    world.clients[0]->down->blackout = false;
    world.run(60);
    CHECK(world.joined_count() == 2);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.proof->counters().truth_mismatches == 0);
}

}  // namespace purview::test
