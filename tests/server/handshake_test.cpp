// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks limits of sessions, packets and pending RPCs to the byte, the tick or the RPC. The test
// delivers all datagrams itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "link/handshake.hpp"
#include "link/messages.hpp"
#include "protocol/rpc_inbox.hpp"
#include "purview/limits.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "support/rpc_support.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

using HandedBytes = std::vector<std::byte>;

Address address_by_hand(std::uint16_t port, std::uint8_t host) {
    Address address;
    address.carrier = Address::Carrier::memory;
    address.host[0] = host;
    address.port = port;
    return address;
}

/// Accepts every client and records its commands.
class CommandKeeper final : public Game {
  public:
    std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte> bytes) override {
        commands.emplace_back(bytes.begin(), bytes.end());
    }
    void on_tick(Server&, Tick) override {}
    std::vector<HandedBytes> commands;
};

/// A server and one client. The test delivers every datagram.
struct ServerAndClient {
    explicit ServerAndClient(ServerDef def = {}, ClientDef client_def = {})
        : client(known(client_def)) {
        def.schema = &setup.schema;
        def.mac = &test_mac;
        def.secret[0] = std::byte{1};
        auto made = Server::create(def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
    }
    static ClientDef known(ClientDef def) {
        if (def.nonce == 0) def.nonce = 1;
        return def;
    }
    /// Ticks the client once. Returns its datagrams.
    std::vector<HandedBytes> from_client() {
        now += 50'000;
        client.tick(now);
        std::vector<HandedBytes> all;
        std::span<const std::byte> out;
        while (client.next_datagram(out)) all.emplace_back(out.begin(), out.end());
        return all;
    }
    /// Returns the pending datagrams of the server, for all addresses.
    std::vector<HandedBytes> from_server() {
        std::vector<HandedBytes> all;
        OutgoingDatagram out;
        while (server->next_datagram(out)) all.emplace_back(out.bytes.begin(), out.bytes.end());
        return all;
    }
    void to_server(const std::vector<HandedBytes>& all) {
        for (const HandedBytes& bytes : all) server->receive(bytes, home, now);
    }
    void to_client(const std::vector<HandedBytes>& all) {
        for (const HandedBytes& bytes : all) client.receive(bytes, now);
    }
    void step() {
        to_server(from_client());
        server->tick(now);
        to_client(from_server());
    }
    void join() {
        for (int i = 0; i < 20; ++i) step();
        REQUIRE(client.state() == ClientState::joined);
    }
    Session& session(std::size_t i = 0) { return *internal(*server).sessions[i]; }

    SmallSchema setup;
    CommandKeeper game;
    std::unique_ptr<Server> server;
    Client client;
    Address home = address_by_hand(1, 1);
    Micros now = 1'000'000;
};

/// A client with handmade datagrams.
struct Handmade {
    Handmade(ServerAndClient& its_pair, Address its_address) : pair(its_pair), from(its_address) {}

    std::uint64_t nonce() const { return from.port + 1'000U * from.host[0]; }
    HandedBytes hello() const {
        HandedBytes bytes(hello_bytes);
        (void)write(Hello{limits::protocol_version, 0, nonce()}, bytes);
        return bytes;
    }
    /// Returns the answer to the pending challenge of the server; empty if there is none.
    HandedBytes to_client(std::uint64_t known_id = 0) {
        HandedBytes bytes;
        for (const HandedBytes& one : pair.from_server()) {
            const auto challenge = read_challenge(one);
            if (!challenge) continue;
            bytes.resize(hello_bytes);
            (void)write(Answer{0, challenge->nonce, challenge->cookie, known_id}, bytes);
        }
        return bytes;
    }
    /// Returns false if the server does not accept it.
    bool connect() {
        pair.server->receive(hello(), from, pair.now);
        pair.server->receive(to_client(), from, pair.now);
        for (const HandedBytes& one : pair.from_server()) {
            if (const auto accepted = read_accept(one)) id = accepted->connection_id;
        }
        return id != 0;
    }
    /// Sends a packet from the new address and proves that address.
    void move(const Address& to) {
        pair.server->receive(packet(), to, pair.now);
        pair.server->receive(to_client(id), to, pair.now);
        (void)pair.from_server();
    }
    /// Returns the next valid packet with the pending data of `stream`, padded with zeros to
    /// `size_bytes`.
    HandedBytes packet(std::size_t size_bytes = challenge_bytes) {
        HandedBytes bytes(limits::datagram_bytes);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        out.u64(id);
        out.u16(static_cast<std::uint16_t>(next));
        out.boolean(false);  // no acknowledgement
        (void)stream.write(next, out.bits_left() - 64, out);
        out.boolean(false);  // no more fragments
        out.boolean(false);  // no digest
        out.varint(0);       // no commands
        out.boolean(false);  // no RPCs
        REQUIRE(out.ok());
        body_bytes = out.bytes_written();
        bytes.resize(std::max(body_bytes, size_bytes));
        seal(PacketType::data, id, bytes);
        ++next;
        return bytes;
    }

    ServerAndClient& pair;
    Address from;
    std::uint64_t id = 0;
    StreamSender stream;
    std::uint32_t next = 1;
    std::size_t body_bytes = 0;  ///< of the last packet, without padding
};

/// Returns how many bytes the server sends at once in response.
std::size_t bytes_answered(ServerAndClient& pair, const HandedBytes& datagram,
                           const Address& from) {
    pair.server->receive(datagram, from, pair.now);
    std::size_t bytes = 0;
    for (const HandedBytes& one : pair.from_server()) bytes += one.size();
    return bytes;
}

HandedBytes closing_by_hand(std::uint64_t connection_id, CloseReason reason) {
    HandedBytes bytes(hello_bytes);
    bytes.resize(write(Close{connection_id, reason}, bytes));
    return bytes;
}

HandedBytes refusal_by_hand(std::uint64_t nonce, RefuseReason reason) {
    HandedBytes bytes(hello_bytes);
    bytes.resize(write(Refuse{nonce, reason, limits::protocol_version}, bytes));
    return bytes;
}

RpcWords words_of_ping(std::uint32_t number) {
    RpcWords out{};
    out[1] = number;
    return out;
}

}  // namespace

TEST_CASE("server: a long world name is cut between UTF-8 characters") {
    const std::string stem(62, 'a');
    ServerDef def;
    def.world_name = stem + "\xc3\xa4";
    ServerAndClient pair(def);
    pair.join();
    CHECK(pair.client.world_name() == stem);
}

TEST_CASE("client: a close packet for another connection is ignored") {
    ServerAndClient pair;
    pair.join();
    const std::uint64_t id = pair.session().connection_id;
    for (const std::uint64_t other : {std::uint64_t{0}, id + 1, id ^ 256U, ~id}) {
        pair.client.receive(closing_by_hand(other, CloseReason::kicked), pair.now);
        CHECK(pair.client.state() == ClientState::joined);
    }
    pair.client.receive(closing_by_hand(id, CloseReason::kicked), pair.now);
    CHECK(pair.client.state() == ClientState::closed);
    CHECK(pair.client.close_reason() == CloseReason::kicked);
}

TEST_CASE("client: a refusal for another nonce is ignored") {
    ClientDef def;
    def.nonce = 71;
    ServerAndClient pair({}, def);
    (void)pair.from_client();
    pair.client.receive(refusal_by_hand(70, RefuseReason::full), pair.now);
    CHECK(pair.client.state() == ClientState::connecting);
    pair.join();

    ServerAndClient other({}, def);
    (void)other.from_client();
    other.client.receive(refusal_by_hand(71, RefuseReason::full), other.now);
    CHECK(other.client.state() == ClientState::refused);
    CHECK(other.client.refuse_reason() == RefuseReason::full);
}

TEST_CASE("client: an accept for another nonce is ignored") {
    ClientDef def;
    def.nonce = 71;
    ServerAndClient pair({}, def);
    pair.to_server(pair.from_client());
    pair.to_client(pair.from_server());  // the challenge
    HandedBytes bytes(hello_bytes);
    bytes.resize(write(Accept{72, 12'345}, bytes));
    pair.client.receive(bytes, pair.now);
    CHECK(pair.client.state() == ClientState::connecting);
    pair.join();  // with the right one
}

TEST_CASE("server: a game message before the join is malformed") {
    for (const std::size_t size : {0U, 1U, 700U}) {
        ServerAndClient pair;
        Handmade outsider(pair, address_by_hand(5, 9));
        REQUIRE(outsider.connect());
        HandedBytes message(1 + size, std::byte{7});
        message[0] = static_cast<std::byte>(ClientMessage::game);
        CHECK(outsider.stream.send(message) == Status::ok);
        pair.server->receive(outsider.packet(), outsider.from, pair.now);
        CHECK(internal(*pair.server).drops.malformed_packet == 1);
        CHECK(pair.session().messages.empty());
    }
}

TEST_CASE("client: a welcome with another schema hash than expected closes the client") {
    for (const std::uint64_t change : {0U, 1U}) {
        const SmallSchema own;
        ClientDef def;
        def.nonce = 71;
        def.schema_hash = own.schema.hash() ^ change;
        ServerAndClient pair({}, def);
        for (int i = 0; i < 10; ++i) {
            auto all = pair.from_client();
            for (HandedBytes& bytes : all) {  // an attacker hides the expected hash
                if (auto hello = read_hello(bytes)) {
                    hello->schema_hash = 0;
                    (void)write(*hello, bytes);
                }
                if (auto to_client = read_answer(bytes)) {
                    to_client->schema_hash = 0;
                    (void)write(*to_client, bytes);
                }
            }
            pair.to_server(all);
            pair.server->tick(pair.now);
            pair.to_client(pair.from_server());
        }
        CHECK(pair.client.state() == (change == 0 ? ClientState::joined : ClientState::closed));
        CHECK(internal(pair.client).replica.has_value() == (change == 0));
        if (change != 0) CHECK(pair.client.close_reason() == CloseReason::malformed);
    }
}

TEST_CASE("client: an unreadable message ends the session on both sides") {
    ServerAndClient pair;
    pair.join();
    const HandedBytes unknown{std::byte{99}};
    REQUIRE(pair.session().stream_out.send(unknown) == Status::ok);
    pair.step();
    CHECK(pair.client.state() == ClientState::closed);
    CHECK(pair.client.close_reason() == CloseReason::malformed);
    const std::vector<HandedBytes> sent = pair.from_client();
    REQUIRE(sent.size() == 1);
    const auto close = read_close(sent.front());
    REQUIRE(close);
    CHECK(close->connection_id == pair.session().connection_id);
    CHECK(close->reason == CloseReason::malformed);
    pair.to_server(sent);
    pair.server->tick(pair.now);
    CHECK(internal(*pair.server).sessions.empty());
}

TEST_CASE("server: a handshake that began before a shutdown is refused after it") {
    ServerAndClient pair;
    pair.to_server(pair.from_client());
    pair.to_client(pair.from_server());  // the challenge, sent before the shutdown
    pair.server->shut_down();
    for (int i = 0; i < 8; ++i) pair.step();
    CHECK(pair.client.state() == ClientState::refused);
    CHECK(pair.client.refuse_reason() == RefuseReason::shutting_down);
    CHECK(pair.server->stats().sessions == 0);
}

TEST_CASE("server: sessions that move to one host do not exceed its session limit") {
    ServerDef def;
    def.sessions_per_host_max = 2;
    ServerAndClient pair(def);
    std::vector<std::unique_ptr<Handmade>> movers;
    for (std::uint8_t host = 11; host < 15; ++host) {
        movers.push_back(std::make_unique<Handmade>(pair, address_by_hand(host, host)));
        REQUIRE(movers.back()->connect());
    }
    for (std::size_t i = 0; i < movers.size(); ++i) {
        const Address there = address_by_hand(static_cast<std::uint16_t>(i + 1), 99);
        movers[i]->move(there);
        CHECK((pair.session(i).address == there) == (i < 2));
    }
    CHECK(internal(*pair.server).drops.address_limit == 2);
    CHECK_FALSE(Handmade(pair, address_by_hand(70, 99)).connect());
    // Two sessions left hosts 11 and 12. The session on host 13 stayed there and counts against the
    // limit of places.
    for (const auto& [host, room] : {std::pair<std::uint8_t, int>{11, 2}, {12, 2}, {13, 1}}) {
        int came = 0;
        for (std::uint16_t port = 80; port < 84; ++port)
            came += Handmade(pair, address_by_hand(port, host)).connect() ? 1 : 0;
        CHECK(came == room);
    }
}

TEST_CASE("server: a client with an expired cookie repeats the handshake and joins") {
    ClientDef def;
    def.nonce = 71;
    def.connect_timeout_ms = 60'000;
    ServerAndClient pair({}, def);
    pair.to_server(pair.from_client());
    pair.to_client(pair.from_server());  // the challenge
    const auto late = pair.from_client();
    pair.now += 20'000'000;
    pair.to_server(late);
    CHECK(internal(*pair.server).drops.expired_cookie == 1);
    pair.to_client(pair.from_server());
    pair.join();
}

TEST_CASE("server: only the session's own challenge proves its new address") {
    ServerAndClient pair;
    Handmade known(pair, address_by_hand(1, 9)), other(pair, address_by_hand(2, 9));
    REQUIRE(known.connect());
    pair.server->receive(other.hello(), other.from, pair.now);
    const HandedBytes moving = other.to_client(known.id);  // valid, but of another session
    REQUIRE(!moving.empty());
    pair.server->receive(moving, other.from, pair.now);
    CHECK(internal(*pair.server).drops.bad_cookie == 1);
    CHECK(pair.session().address == known.from);
}

TEST_CASE("server: an unauthenticated peer never receives more bytes than it sent") {
    for (const bool is_over : {false, true}) {
        ServerDef def;
        def.malformed_max = 100'000;
        ServerAndClient pair(def);
        Handmade known(pair, address_by_hand(1, 9)), requesting(pair, address_by_hand(2, 9));
        Handmade late(pair, address_by_hand(3, 9));
        REQUIRE(known.connect());
        pair.server->receive(late.hello(), late.from, pair.now);
        const HandedBytes expired = late.to_client();
        pair.now += 20'000'000;
        pair.server->receive(requesting.hello(), requesting.from, pair.now);
        const HandedBytes to_client = requesting.to_client();
        const Address elsewhere = address_by_hand(4, 9);
        pair.server->receive(known.packet(), elsewhere, pair.now);
        const HandedBytes moving = known.to_client(known.id);
        REQUIRE(!expired.empty());
        REQUIRE(!to_client.empty());
        REQUIRE(!moving.empty());
        HandedBytes old = requesting.hello();  // of another protocol version
        (void)write(Hello{limits::protocol_version + 1, 0, 5}, old);
        if (is_over) pair.server->shut_down();
        (void)pair.from_server();  // drops the disconnect packet of the known session

        const std::vector<std::pair<HandedBytes, Address>> datagrams{
            {old, elsewhere},
            {requesting.hello(), elsewhere},
            {expired, late.from},
            {to_client, requesting.from},
            {to_client, elsewhere},
            {moving, elsewhere},
            {closing_by_hand(12, CloseReason::left), elsewhere},
            {refusal_by_hand(12, RefuseReason::full), elsewhere}};
        for (const auto& [datagram, from] : datagrams) {
            for (std::size_t size = 1; size <= 2 * hello_bytes; ++size) {
                for (unsigned type = 0; type < 15; ++type) {
                    HandedBytes bytes = datagram;
                    bytes.resize(size);
                    bytes[0] = static_cast<std::byte>(type);
                    if (size >= seal_bytes) seal(static_cast<PacketType>(type), 0, bytes);
                    CHECK(bytes_answered(pair, bytes, from) <= size);
                }
            }
        }
        if (is_over) break;  // no session is left
        // A valid packet of a session from an unknown address causes a challenge. Tested with every
        // size; the packet is valid from the end of its body on.
        constexpr std::size_t size_max = 512;
        const Address nowhere = address_by_hand(6, 77);
        std::size_t from_server = 0;
        for (std::size_t size = 1; size <= size_max; ++size) {
            const std::uint64_t malformed = internal(*pair.server).drops.malformed_packet;
            HandedBytes bytes = known.packet(size_max);
            bytes.resize(size);
            if (size >= seal_bytes) seal(PacketType::data, known.id, bytes);
            pair.now += 100'000;  // at most ten challenges per second
            const std::size_t got = bytes_answered(pair, bytes, nowhere);
            CHECK(got <= size);
            from_server += got > 0 ? 1 : 0;
            if (size >= known.body_bytes)
                CHECK(internal(*pair.server).drops.malformed_packet == malformed);
        }
        CHECK(known.body_bytes < challenge_bytes);
        CHECK(from_server == size_max - challenge_bytes + 1);
    }
}

TEST_CASE("server: padding after a client's packet must be zeros") {
    ServerDef def;
    def.malformed_max = 1'000;
    ServerAndClient pair(def);
    Handmade outsider(pair, address_by_hand(5, 9));
    REQUIRE(outsider.connect());
    std::uint64_t refused = 0;
    for (std::size_t size = challenge_bytes; size <= 3 * challenge_bytes; size += challenge_bytes) {
        const HandedBytes sound = outsider.packet(size);
        for (std::size_t i = outsider.body_bytes; i < size; ++i) {
            HandedBytes bytes = sound;
            bytes[i] = std::byte{0x80};
            seal(PacketType::data, outsider.id, bytes);
            pair.server->receive(bytes, outsider.from, pair.now);
            CHECK(internal(*pair.server).drops.malformed_packet == ++refused);
            CHECK(pair.session().link.newest_accepted() == outsider.next - 2);
        }
        pair.server->receive(sound, outsider.from, pair.now);  // its number is not used up yet
        CHECK(pair.session().link.newest_accepted() == outsider.next - 1);
    }
    CHECK(internal(*pair.server).drops.malformed_packet == refused);
}

TEST_CASE("client: a server packet with trailing bytes is refused") {
    ServerAndClient pair;
    pair.join();
    const std::uint64_t id = pair.session().connection_id;
    for (int i = 0; i < 10; ++i) {
        pair.to_server(pair.from_client());
        pair.server->tick(pair.now);
        for (const HandedBytes& sound : pair.from_server()) {
            REQUIRE(sound[0] == static_cast<std::byte>(PacketType::data));
            const ClientStats before = pair.client.stats();
            // Two bytes: at a byte boundary, one more zero bit would mean that there is no input
            // state.
            for (const std::byte more : {std::byte{0}, std::byte{1}}) {
                HandedBytes bytes = sound;
                bytes.push_back(std::byte{0});
                bytes.push_back(more);
                seal(PacketType::data, id, bytes);
                pair.client.receive(bytes, pair.now);
            }
            CHECK(pair.client.stats().packets_malformed == before.packets_malformed + 2);
            CHECK(pair.client.stats().packets_received == before.packets_received);
            pair.client.receive(sound, pair.now);
            CHECK(pair.client.stats().packets_received == before.packets_received + 1);
        }
    }
    CHECK(pair.client.state() == ClientState::joined);
}

TEST_CASE("client: a command is sent in three packets, and in no fourth") {
    for (std::size_t lost = 0; lost < 5; ++lost) {
        ServerAndClient pair;
        pair.join();
        const HandedBytes command{std::byte{4}, std::byte{2}};
        CHECK(pair.client.send_command(command) == Status::ok);
        for (std::size_t i = 0; i < lost; ++i) CHECK(pair.from_client().size() == 1);
        for (int i = 0; i < 4; ++i) pair.step();  // the game gets it once, although it is repeated
        const std::vector<HandedBytes> expected(lost < 3 ? 1 : 0, command);
        CHECK((pair.game.commands == expected));
    }
}

TEST_CASE("server: an idle server sends nothing for ten ticks, and no longer") {
    ServerAndClient pair;
    pair.join();
    std::vector<int> spoken;
    for (int tick = 0; tick < 100; ++tick) {  // the client sends nothing, either
        pair.now += 50'000;
        pair.server->tick(pair.now);
        if (!pair.from_server().empty()) spoken.push_back(tick);
    }
    REQUIRE(spoken.size() > 5);
    for (std::size_t i = 1; i < spoken.size(); ++i) CHECK(spoken[i] - spoken[i - 1] == 11);
}

TEST_CASE("rpc: RPCs of a former owner are dropped, later refused, then close the session") {
    CallWorld world(2);
    world.place_player(0, {12, 10, 0});
    world.place_player(1, {14, 10, 0});
    world.run(10);
    const GhostId ghost = world.ghost_of(0, world.player(0));
    REQUIRE(ghost != GhostId::none);
    const auto steer = [&] {
        CHECK(internal(world.client(0))
                  .calls.add(world.schema().steer.id, local_id_of(ghost), words_of_ping(1)));
        world.step();
    };
    steer();
    CHECK(world.called.size() == 1);
    CHECK(world.server().world().set_owner(world.player(0), world.observer(1)) == Status::ok);
    const RpcCounters& counters = internal(world.server()).calls.counters();
    // The client may not have received the change of owner yet. So its RPCs are dropped without a
    // penalty for the whole window after the tick that sends the change. An RPC is evaluated as of
    // its arrival, before the tick.
    const std::uint64_t pardoned = limits::rpc_refused_window_s * ServerDef{}.tick_hz + 2;
    for (std::uint64_t i = 1; i <= pardoned; ++i) steer();
    CHECK(counters.gone == pardoned);
    CHECK(counters.refused_caller == 0);
    for (std::uint32_t i = 1; i <= limits::rpc_refused; ++i) {
        steer();
        CHECK(counters.refused_caller == i);
    }
    CHECK(world.client(0).state() == ClientState::joined);
    CHECK(counters.sessions_closed == 0);
    steer();
    world.run(3);
    CHECK(counters.refused_caller == limits::rpc_refused + 1);
    CHECK(counters.sessions_closed == 1);
    CHECK(counters.gone == pardoned);
    CHECK(world.called.size() == 1);
    CHECK(world.client(0).close_reason() == CloseReason::malformed);
    CHECK(world.client(1).state() == ClientState::joined);
}

TEST_CASE("rpc: the game gets at most 256 RPCs of one client in a tick") {
    CallWorld world(2);
    constexpr std::uint32_t per_packet = 20, packets = 15;
    std::uint32_t number = 0;
    const auto shout = [&](std::size_t client) {
        CHECK(internal(world.client(client))
                  .calls.add(world.schema().shouts[0].id, no_local_id, words_of_ping(++number)));
    };
    for (std::uint32_t i = 0; i < packets; ++i) {
        for (std::uint32_t k = 0; k < per_packet; ++k) shout(0);
        world.client(0).tick(1'000'000);
    }
    shout(1);
    world.step();
    const RpcCounters& counters = internal(world.server()).calls.counters();
    Numbers got(limits::rpc_pending_per_observer);
    std::iota(got.begin(), got.end(), 1);
    got.push_back(number);  // the RPC of the other client is not affected
    Numbers called;
    for (const Called& one : world.called) called.push_back(one.args.number);
    CHECK(called == got);
    CHECK(counters.flooded == per_packet * packets - limits::rpc_pending_per_observer);
    CHECK(counters.received == got.size());
    shout(0);  // the limit is per tick
    world.step();
    CHECK(world.called.size() == got.size() + 1);
    CHECK(counters.flooded == per_packet * packets - limits::rpc_pending_per_observer);
}

TEST_CASE("rpc: a client keeps the newest 1024 RPCs that its program has not taken") {
    const SmallSchema schema;
    Stage stage(schema.schema, 1);
    constexpr std::uint32_t made = 1'280;
    for (std::uint32_t number = 1; number <= made; ++number) {
        CHECK(stage.server->call({}, schema.news[1], Ping{0, number}));
        if (number % 64 == 0) stage.step(2);
        if (number == limits::rpc_received) CHECK(stage.client().stats().calls_dropped == 0);
    }
    stage.step(5);
    CHECK(stage.client().stats().calls_received == made);
    CHECK(stage.client().stats().calls_dropped == made - limits::rpc_received);
    Numbers got, newest(limits::rpc_received);
    std::iota(newest.begin(), newest.end(), made - limits::rpc_received + 1);
    ReceivedRpc received;
    while (stage.client().next_rpc(received)) {
        REQUIRE(received.rpc == schema.news[1].id);
        got.push_back(static_cast<std::uint32_t>(received.number(1)));
    }
    std::sort(got.begin(), got.end());  // they are not ordered
    CHECK(got == newest);
}

TEST_CASE("rpc: a client keeps the newest 64 RPCs that wait for their ghosts") {
    const SmallSchema schema;
    RpcInbox inbox;
    const auto arrive = [&](std::uint32_t number, bool is_here) {
        ArrivedRpc call;
        call.rpc = schema.pings[static_cast<std::size_t>(RpcDelivery::reliable_unordered) * 3].id;
        call.ghost = number % 5;
        call.words = words_of_ping(number);
        if (number > 0) inbox.staged().push_back(call);
        inbox.accept(schema.schema, 1'000'000, [is_here](LocalId) { return is_here; });
    };
    const auto kept = static_cast<std::uint32_t>(limits::rpc_orphans);
    for (std::uint32_t number = 1; number <= 100; ++number) {
        arrive(number, false);
        CHECK(inbox.waiting() == std::min(number, kept));
        CHECK(inbox.counters().dropped_late == (number <= kept ? 0 : number - kept));
    }
    ArrivedRpc call;
    CHECK_FALSE(inbox.next(call));
    arrive(0, true);
    for (std::uint32_t number = 100 - kept + 1; number <= 100; ++number) {
        REQUIRE(inbox.next(call));
        CHECK(call.words[1] == number);
    }
    CHECK_FALSE(inbox.next(call));
    CHECK(inbox.waiting() == 0);
}

namespace {

/// Two players at `at_hand`, and distant entities with queued RPCs.
struct HeldWorld {
    HeldWorld() : world(2) {
        world.place_player(0, at_hand);
        world.place_player(1, at_hand);
        world.run(5);
    }
    EntityId thing() {
        const float at = static_cast<float>(made++ % 50);
        return world.spawn({200 + at, 200 + at, 0});
    }
    /// Makes an RPC on the entity. Returns for how many observers it is queued.
    std::uint32_t queued_for(EntityId entity) {
        CHECK(world.server().call({.entity = entity}, hold, Ping{0, ++number}));
        world.step();
        REQUIRE(world.server().rpc_reports().size() == 1);
        const RpcReport& report = world.server().rpc_reports()[0];
        CHECK(report.held + report.culled.size() == 2);
        for (const RpcCulled& one : report.culled) CHECK(one.reason == CullReason::capacity);
        return report.held;
    }
    void run_to(Tick tick) {
        while (world.server().current_tick() < tick) world.step();
        REQUIRE(world.server().current_tick() == tick);
    }
    CallWorld world;
    Vec3 at_hand{12, 10, 0};
    Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_unordered, RpcPolicy::hold);
    std::uint32_t made = 0, number = 0;
};

}  // namespace

TEST_CASE("rpc: at most 4096 RPCs are queued, however many observers each has") {
    HeldWorld its;
    std::vector<EntityId> things;
    for (std::size_t i = 0; i < limits::rpc_queued / limits::rpc_queued_per_entity; ++i) {
        things.push_back(its.thing());
        for (std::size_t k = 0; k < limits::rpc_queued_per_entity; ++k)
            CHECK(its.world.server().call({.entity = things.back()}, its.hold,
                                          Ping{0, ++its.number}));
    }
    its.world.step();
    for (const RpcReport& report : its.world.server().rpc_reports()) CHECK(report.held == 2);
    CHECK(internal(its.world.server()).calls.counters().held == 2 * limits::rpc_queued);
    const EntityId first = its.thing(), second = its.thing();
    CHECK(its.queued_for(first) == 0);
    CHECK(internal(its.world.server()).calls.counters().held == 2 * limits::rpc_queued);
    // Delivered RPCs free their capacity.
    (void)its.world.server().world().move(things[3], its.at_hand);
    its.world.run(3);
    CHECK(its.world.got(0).size() == limits::rpc_queued_per_entity);
    CHECK(its.world.got(1).size() == limits::rpc_queued_per_entity);
    for (std::size_t k = 0; k < limits::rpc_queued_per_entity; ++k)
        CHECK(its.queued_for(first) == 2);
    CHECK(its.queued_for(second) == 0);
}

TEST_CASE("rpc: a queued RPC is delivered in the last tick of its hold time, not later") {
    for (const Tick after : {Tick{0}, Tick{1}, Tick{2}}) {
        HeldWorld its;
        const EntityId thing = its.thing();
        CHECK(its.queued_for(thing) == 2);
        const Tick last = its.world.server().current_tick() + SmallSchema::hold_ticks;
        its.run_to(last - 1 + after);
        CHECK(its.world.late.size() == (after == 0 ? 0 : 2));
        (void)its.world.server().world().move(thing, its.at_hand);
        its.world.run(1);
        REQUIRE(its.world.server().visibility().is_relevant(its.world.observer(0), thing));
        its.world.run(4);
        for (std::size_t client = 0; client < 2; ++client)
            CHECK(its.world.got(client).size() == (after == 0 ? 1 : 0));
        CHECK(its.world.late.size() == (after == 0 ? 0 : 2));
        for (const RpcLateCull& one : its.world.late)
            CHECK(one.culled.reason == CullReason::expired);
    }
    HeldWorld its;
    CHECK(its.queued_for(its.thing()) == 2);
    its.run_to(its.world.server().current_tick() + SmallSchema::hold_ticks - 1);
    CHECK(its.world.late.empty());
    its.world.step();
    CHECK(its.world.late.size() == 2);
}

TEST_CASE("rpc: RPCs queued for a despawned entity expire at once and free their capacity") {
    HeldWorld its;
    const EntityId thing = its.thing();
    for (std::size_t k = 0; k < limits::rpc_queued_per_entity; ++k)
        CHECK(its.queued_for(thing) == 2);
    CHECK(its.queued_for(thing) == 0);
    CHECK(its.world.late.empty());
    CHECK(its.world.server().world().despawn(thing) == Status::ok);
    its.world.step();
    CHECK(its.world.late.size() == 2 * limits::rpc_queued_per_entity);
    for (const RpcLateCull& one : its.world.late) CHECK(one.culled.reason == CullReason::expired);
    // The next entity with this index has the full capacity.
    EntityId next = its.thing();
    for (int i = 0; i < 64 && index_of(next) != index_of(thing); ++i) {
        its.world.step();
        next = its.thing();
    }
    REQUIRE(index_of(next) == index_of(thing));
    for (std::size_t k = 0; k < limits::rpc_queued_per_entity; ++k)
        CHECK(its.queued_for(next) == 2);
    CHECK(its.queued_for(next) == 0);
    CHECK(its.world.late.size() == 2 * limits::rpc_queued_per_entity);
}

TEST_CASE("rpc: an RPC that is queued again keeps its expiry tick (F20)") {
    CallWorld world(1, {}, 128);
    const EntityId near = world.spawn({10, 10, 0}), thing = world.spawn({200, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(10);
    const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    CHECK(world.server().call({.entity = thing}, hold, Ping{0, 1}));
    world.step();
    const Tick last = world.server().current_tick() + SmallSchema::hold_ticks;
    const std::vector<HeldCall>& held = internal(world.server()).calls.held();
    world.run(10);
    REQUIRE(held.size() == 1);
    // The entity becomes relevant behind more RPCs than fit, and leaves before its RPC is sent.
    for (std::uint32_t i = 0; i < 100; ++i)
        CHECK(world.server().call({.entity = near}, world.ordered_cull(), Ping{0, 100 + i}));
    world.step();
    (void)world.server().world().move(thing, {15, 10, 0});
    world.step();
    CHECK(held.empty());
    (void)world.server().world().move(thing, {200, 10, 0});
    world.step();
    REQUIRE(held.size() == 1);
    while (world.server().current_tick() < last - 1) world.step();
    CHECK(world.late.empty());
    world.step();
    REQUIRE(world.late.size() == 1);
    CHECK(world.late[0].culled.reason == CullReason::expired);
    CHECK(held.empty());
}

}  // namespace purview::test
