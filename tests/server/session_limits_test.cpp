// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Limits on the number of sessions: unjoined ones, and those of one network.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/internal_access.hpp"
#include "idle_game.hpp"
#include "purview/client.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

/// A server, peers that only prove their addresses, and clients that join.
struct CrowdedServer {
    explicit CrowdedServer(ServerDef def = {}) {
        def.schema = &setup.schema;
        def.plain.udp = true;
        def.mac = &test_mac;
        def.secret = test_secret;
        auto made = Server::create(def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
    }
    /// Returns what `read` finds in the server's datagrams to that address. The other pending
    /// datagrams are dropped.
    template <class Read>
    auto sent_to_peer(const Address& to, Read read) {
        decltype(read(std::span<const std::byte>())) found;
        OutgoingDatagram out;
        while (server->next_datagram(out)) {
            if (!(out.to == to)) continue;
            if (auto one = read(out.bytes)) found = std::move(one);
        }
        return found;
    }
    /// Opens a session that does not join. Returns its connection id, or 0 if there is none.
    std::uint64_t prove(const Address& from, std::uint64_t nonce) {
        std::array<std::byte, hello_bytes> bytes{};
        (void)write(Hello{limits::protocol_version, 0, nonce}, bytes);
        server->receive(bytes, from, now);
        const auto challenge = sent_to_peer(from, read_challenge);
        REQUIRE(challenge);
        (void)write(Answer{0, nonce, challenge->cookie, 0}, bytes);
        server->receive(bytes, from, now);
        const auto accept = sent_to_peer(from, read_accept);
        return accept ? accept->connection_id : 0;
    }
    /// Sends from another address and proves it.
    void move(std::uint64_t id, std::uint64_t nonce, std::uint32_t number, const Address& to) {
        std::array<std::byte, challenge_bytes> packet{};
        BitWriter out(packet);
        out.bits(0, seal_bytes * 8);
        out.u64(id);
        out.u16(static_cast<std::uint16_t>(number));
        out.boolean(false);
        out.u16(0);
        seal(PacketType::data, id, packet);
        server->receive(packet, to, now);
        const auto challenge = sent_to_peer(to, read_challenge);
        REQUIRE(challenge);
        std::array<std::byte, hello_bytes> bytes{};
        (void)write(Answer{0, nonce, challenge->cookie, id}, bytes);
        server->receive(bytes, to, now);
    }
    /// Runs a client and the server for `ticks`.
    void run(Client& client, const Address& from, int ticks) {
        for (int i = 0; i < ticks; ++i) {
            now += 50'000;
            client.tick(now);
            std::span<const std::byte> up;
            while (client.next_datagram(up)) server->receive(up, from, now);
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out))
                if (out.to == from) client.receive(out.bytes, now);
        }
    }

    SmallSchema setup;
    IdleGame game;
    std::unique_ptr<Server> server;
    Micros now = 1'000'000;
};

Address ipv6(std::uint16_t site, std::uint8_t home, std::uint8_t network, std::uint8_t host = 1) {
    Address address;
    address.carrier = Address::Carrier::udp;
    address.host = {0x20, 0x01, 0x0d, 0xb8};
    address.host[4] = static_cast<std::uint8_t>(site >> 8);
    address.host[5] = static_cast<std::uint8_t>(site);
    address.host[6] = home;
    address.host[7] = network;
    address.host[15] = host;
    address.port = 7'000;
    return address;
}

Address ipv4(std::uint8_t network, std::uint8_t host) {
    Address address;
    address.carrier = Address::Carrier::udp;
    address.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, network, host};
    address.port = 7'000;
    return address;
}

}  // namespace

TEST_CASE("session limits: sessions that never join leave room for those that do") {
    ServerDef def;
    def.sessions_unjoined_max = 5;
    CrowdedServer crowded(def);
    std::uint32_t made = 0;
    for (std::uint8_t i = 0; i < 40; ++i)
        made += crowded.prove(ipv6(i, 0, 0), 100U + i) != 0 ? 1 : 0;
    CHECK(made == 5);
    CHECK(internal(*crowded.server).sessions.size() == 5);
    CHECK(internal(*crowded.server).drops.full == 35);
    // A waiting client is not refused. It joins as soon as the other sessions have timed out.
    ClientDef client_def;
    client_def.nonce = 7;
    Client client(client_def);
    crowded.run(client, ipv4(1, 1), 20);
    CHECK(client.state() == ClientState::connecting);
    crowded.run(client, ipv4(1, 1), 120);
    CHECK(client.state() == ClientState::joined);
    // A joined session does not count against this limit, and a closed one has released its place.
    made = 0;
    for (std::uint8_t i = 0; i < 40; ++i)
        made += crowded.prove(ipv6(i, 1, 0), 300U + i) != 0 ? 1 : 0;
    CHECK(made == 5);
    CHECK(crowded.server->stats().observers_ready == 1);
}

TEST_CASE("session limits: many IPv6 networks or IPv4 addresses of one site are limited") {
    ServerDef def;
    def.sessions_per_host_max = 2;
    def.sessions_unjoined_max = 1'000;
    CrowdedServer crowded(def);
    std::uint64_t nonce = 0;
    // A home has a /56: 256 networks, each of which counts as a host.
    std::uint32_t of_home = 0;
    for (unsigned network = 0; network < 256; ++network)
        of_home +=
            crowded.prove(ipv6(1, 1, static_cast<std::uint8_t>(network)), ++nonce) != 0 ? 1 : 0;
    CHECK(of_home == 8);
    // A site has a /48: 256 homes.
    std::uint32_t of_site = of_home;
    for (unsigned home = 2; home < 100; ++home)
        of_site += crowded.prove(ipv6(1, static_cast<std::uint8_t>(home), 0), ++nonce) != 0 ? 1 : 0;
    CHECK(of_site == 32);
    std::uint32_t of_street = 0;
    for (unsigned host = 0; host < 256; ++host)
        of_street += crowded.prove(ipv4(7, static_cast<std::uint8_t>(host)), ++nonce) != 0 ? 1 : 0;
    CHECK(of_street == 32);
    CHECK(internal(*crowded.server).drops.address_limit == 248 + 74 + 224);
    CHECK(crowded.prove(ipv6(2, 1, 0), ++nonce) != 0);
    CHECK(crowded.prove(ipv4(8, 1), ++nonce) != 0);
}

TEST_CASE("session limits: a session can move within a full network, but not into one") {
    ServerDef def;
    def.sessions_per_host_max = 1;
    def.sessions_unjoined_max = 1'000;
    CrowdedServer crowded(def);
    std::vector<std::uint64_t> of_home;
    for (std::uint8_t i = 0; i < 4; ++i) of_home.push_back(crowded.prove(ipv6(1, 1, i), 10U + i));
    const std::uint64_t other = crowded.prove(ipv6(2, 1, 0), 20);
    crowded.move(other, 20, 1, ipv6(1, 1, 9));
    CHECK(internal(*crowded.server).drops.address_limit == 1);
    crowded.move(of_home[0], 10, 1, ipv6(1, 1, 8));
    CHECK(internal(*crowded.server).drops.address_limit == 1);
    const auto& sessions = internal(*crowded.server).sessions;
    CHECK(sessions[0]->address == ipv6(1, 1, 8));
    CHECK(sessions[4]->address == ipv6(2, 1, 0));
}

TEST_CASE("session limits: a custom transport has no networks") {
    ServerDef def;
    def.sessions_per_host_max = 1;
    CrowdedServer crowded(def);
    std::uint32_t made = 0;
    for (unsigned i = 0; i < 100; ++i) {
        Address address = ipv6(1, 1, static_cast<std::uint8_t>(i));
        address.carrier = Address::Carrier::memory;
        made += crowded.prove(address, 1U + i) != 0 ? 1 : 0;
    }
    CHECK(made == 100);
}

TEST_CASE("session limits: a server without room for unjoined sessions is refused") {
    const SmallSchema setup;
    ServerDef def;
    def.schema = &setup.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    CHECK(problem_of(def).empty());
    CHECK(def.sessions_max == 1'000);
    def.sessions_unjoined_max = 0;
    CHECK(problem_of(def) == "sessions_unjoined_max is 0: no client could join");
}

TEST_CASE("client: a definition without a nonce is refused, and nothing is sent") {
    ClientDef def;
    CHECK(problem_of(def) == "the nonce is not set: fill it with 64 random bits");
    CHECK(Client::create(def).error() == Status::bad_configuration);
    Client client(def);
    CHECK(client.state() == ClientState::closed);
    CHECK(client.reason_text() == problem_of(def));
    client.tick(1'000'000);
    std::span<const std::byte> out;
    CHECK_FALSE(client.next_datagram(out));
    def.nonce = 1;
    auto made = Client::create(def);
    REQUIRE(made);
    made->tick(1'000'000);
    CHECK(made->next_datagram(out));
}

TEST_CASE("link: a cookie does not reveal the uptime of the server") {
    Address here;
    here.carrier = Address::Carrier::udp;
    constexpr std::uint32_t up_seconds = 86'400;
    std::array<std::byte, 32> key{};
    std::vector<std::uint32_t> cookie_seconds;
    for (unsigned i = 0; i < 4; ++i) {
        key[0] = static_cast<std::byte>(i);
        const CookieJar jar(key, &test_mac);
        cookie_seconds.push_back(jar.make(here, 5, Micros{up_seconds} * 1'000'000).seconds);
        CHECK(cookie_seconds.back() != up_seconds);
        // It advances with the clock.
        CHECK(jar.make(here, 5, Micros{up_seconds + 7} * 1'000'000).seconds ==
              cookie_seconds.back() + 7);
    }
    std::sort(cookie_seconds.begin(), cookie_seconds.end());
    CHECK(std::unique(cookie_seconds.begin(), cookie_seconds.end()) == cookie_seconds.end());
}

}  // namespace purview::test
