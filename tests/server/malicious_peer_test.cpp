// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Packets of malicious peers with a session: a valid checksum and false contents. They harm only
// the peer's own session and give it no information.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#ifdef PURVIEW_SANITIZED
#include <sanitizer/allocator_interface.h>
#else
#include <malloc.h>
#endif

#include "client/replica.hpp"
#include "core/internal_access.hpp"
#include "idle_game.hpp"
#include "link/handshake.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"
#include "replication/snapshot_writer.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

struct ServerAndPeers {
    explicit ServerAndPeers(ServerDef def = {}) {
        def.schema = &setup.schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        auto made = Server::create(def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
    }
    std::vector<std::vector<std::byte>> sent() {
        std::vector<std::vector<std::byte>> all;
        OutgoingDatagram out;
        while (server->next_datagram(out)) all.emplace_back(out.bytes.begin(), out.bytes.end());
        return all;
    }
    void tick() { server->tick(now += 50'000); }

    SmallSchema setup;
    IdleGame game;
    std::unique_ptr<Server> server;
    Micros now = 1'000'000;
};

Address at(std::uint16_t port, std::uint8_t host = 9) {
    Address address;
    address.carrier = Address::Carrier::memory;
    address.host[0] = host;
    address.port = port;
    return address;
}

/// A malicious client with handmade packets.
struct Attacker {
    Attacker(ServerAndPeers& its_pair, Address from) : pair(its_pair), address(from) {}

    bool prove(const Address& from, std::uint64_t known_id) {
        for (const auto& bytes : pair.sent()) {
            if (const auto challenge = read_challenge(bytes)) {
                std::vector<std::byte> answer(hello_bytes);
                (void)write(Answer{0, nonce(), challenge->cookie, known_id}, answer);
                pair.server->receive(answer, from, pair.now);
                return true;
            }
        }
        return false;
    }
    bool connect() {
        std::vector<std::byte> hello(hello_bytes);
        (void)write(Hello{limits::protocol_version, 0, nonce()}, hello);
        pair.server->receive(hello, address, pair.now);
        if (!prove(address, 0)) return false;
        for (const auto& bytes : pair.sent()) {
            if (const auto accepted = read_accept(bytes)) id = accepted->connection_id;
        }
        return id != 0;
    }
    /// `body` writes what follows the header.
    template <class Body>
    void send(std::uint32_t sequence, Body&& body, const Address& from) {
        std::vector<std::byte> bytes(limits::datagram_bytes);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        out.u64(id);
        out.u16(static_cast<std::uint16_t>(sequence));
        out.boolean(false);  // no acknowledgement
        body(out);
        REQUIRE(out.ok());
        bytes.resize(std::max(out.bytes_written(), challenge_bytes));
        seal(PacketType::data, id, bytes);
        pair.server->receive(bytes, from, pair.now);
    }
    void send_nothing(std::uint32_t sequence) { send_nothing(sequence, address); }
    void send_nothing(std::uint32_t sequence, const Address& from) {
        send(
            sequence, [](BitWriter& out) { out.u16(0); }, from);
    }
    /// The header and the ends of the parts behind it are complete.
    static bool is_whole(std::span<const std::byte> datagram) {
        BitReader in(datagram);
        (void)in.bits(seal_bytes * 8);
        if (datagram[0] != static_cast<std::byte>(PacketType::data)) return true;
        (void)in.u16();
        if (in.boolean()) {
            (void)in.u16();
            const auto count = in.varint_max(PacketLink::under_way_max);
            for (std::uint64_t i = 0; i < count; ++i) (void)in.boolean();
        }
        for (int part = 0; part < 3; ++part) (void)in.boolean();
        return in.ok();
    }
    std::uint64_t nonce() const { return address.port + 1'000U * address.host[0]; }
    std::uint64_t malformed() const { return internal(*pair.server).drops.malformed_packet; }

    ServerAndPeers& pair;
    Address address;
    std::uint64_t id = 0;
};

std::size_t heap_bytes() {
#ifdef PURVIEW_SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#else
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
#endif
}

/// A malicious server: one handmade snapshot with enters of the only kind, which has relative
/// positions.
struct Snapshot {
    Snapshot() : bytes(1U << 20), out(bytes) {
        (void)add_position(schema, 0, 100);
        kind = schema.kind("thing", {id_at<ComponentId>(0)});
        schema.edit_kind(kind).relative_position = true;
        replica = std::make_unique<Replica>(schema);
    }
    void begin(std::uint32_t enters) {
        out.u16(1);
        out.varint(0);  // no leaves
        out.varint(enters);
    }
    /// Starts another snapshot: one leave, and nothing else.
    void leave(std::uint32_t reason) {
        out = BitWriter(bytes);
        out.u16(1);
        out.varint(1);
        out.varint(0);
        out.bits(reason, leave_reason_bits);
        out.boolean(false);  // not retained
        out.varint(0);       // no enters
    }
    void enter(LocalId gap, LocalId parent, std::uint32_t reason = 0) {
        out.varint(gap);
        out.bits(reason, enter_reason_bits);
        out.boolean(false);  // not owned, whole
        out.boolean(true);
        out.boolean(parent != no_local_id);
        if (parent != no_local_id) out.varint(parent);
        for (const KindField& field : replica->ghosts.layout(kind).fields)
            out.bits(5, field.def->wire_bits);
    }
    bool read() {
        out.varint(0);  // no updates, no shared cell payloads
        out.varint(0);
        out.boolean(false);
        REQUIRE(out.ok());
        BitReader in(out.written());
        if (!replica->decoder.read(in)) return false;
        Tick newest = 1;
        replica->accept(newest);
        return true;
    }
    Schema schema;
    KindId kind{};
    std::unique_ptr<Replica> replica;
    std::vector<std::byte> bytes;
    BitWriter out;
};

}  // namespace

TEST_CASE("malicious peer: ghost cycles, unknown parents and long chains harm no client") {
    Snapshot itself;
    itself.begin(1);
    itself.enter(0, 0);
    CHECK_FALSE(itself.read());

    Snapshot no_one;
    no_one.begin(1);
    no_one.enter(0, 900'000);
    CHECK(no_one.read());
    CHECK(std::isfinite(no_one.replica->poses.position_at(0, 1).x));

    Snapshot circle;
    circle.begin(2);
    circle.enter(0, 1);
    circle.enter(0, 0);
    CHECK(circle.read());
    CHECK(std::isfinite(circle.replica->poses.position_at(1, 1).x));

    Snapshot chain;
    constexpr LocalId links = 50'000;
    chain.begin(links);
    for (LocalId i = 0; i < links; ++i) chain.enter(0, i == 0 ? no_local_id : i - 1);
    CHECK(chain.read());
    CHECK(std::isfinite(chain.replica->poses.position_at(links - 1, 1).x));
}

TEST_CASE("malicious peer: an unknown enter or leave reason is refused") {
    for (std::uint32_t reason = 0; reason < 1U << enter_reason_bits; ++reason) {
        Snapshot one;
        one.begin(1);
        one.enter(0, no_local_id, reason);
        CHECK(one.read() == (reason < 5));
        CHECK(one.replica->ghosts.is_shown(0) == (reason < 5));
    }
    for (std::uint32_t reason = 0; reason < 1U << leave_reason_bits; ++reason) {
        Snapshot one;
        one.begin(1);
        one.enter(0, no_local_id);
        REQUIRE(one.read());
        one.leave(reason);
        const bool is_one = reason >= 4 && reason <= 6;  // PROTOCOL.md
        CHECK(one.read() == is_one);
        CHECK(one.replica->ghosts.is_shown(0) != is_one);
    }
}

TEST_CASE("malicious peer: a server that sends children before parents is understood") {
    Snapshot chain;
    chain.begin(3);
    chain.enter(0, 1);
    chain.enter(0, 2);
    chain.enter(0, no_local_id);
    CHECK(chain.read());
    CHECK(chain.replica->counters().order_violations == 0);
    CHECK(chain.replica->ghosts.depth_of(0) == 2);
}

TEST_CASE("malicious peer: large local ids cost a client little memory") {
    Snapshot one;
    one.begin(2);
    one.enter(7, no_local_id);
    one.enter(local_ids_max - 9, no_local_id);
    const std::size_t before = heap_bytes();
    CHECK(one.read());
    CHECK(one.replica->ghosts.is_shown(local_ids_max - 1));
    CHECK_FALSE(one.replica->ghosts.is_held(500'000));
    CHECK_FALSE(one.replica->ghosts.has_copy(500'000));
    CHECK(heap_bytes() - before < 1'000'000);

    Snapshot above;
    above.begin(1);
    above.enter(local_ids_max, no_local_id);
    CHECK_FALSE(above.read());
}

TEST_CASE("malicious peer: a replayed handshake does not start a session") {
    SmallWorld world(62, {});
    world.add_client();
    world.run(40);
    Session& session = *internal(*world.server).sessions[0];
    const Address from = session.address;
    const std::uint64_t nonce = session.nonce;
    const auto answer = [&] {
        std::vector<std::byte> hello(hello_bytes);
        (void)write(Hello{limits::protocol_version, 0, nonce}, hello);
        world.server->receive(hello, from, world.now);
        OutgoingDatagram out;
        std::vector<std::byte> bytes(hello_bytes);
        while (world.server->next_datagram(out)) {
            if (const auto challenge = read_challenge(out.bytes))
                (void)write(Answer{0, nonce, challenge->cookie, 0}, bytes);
        }
        return bytes;
    };
    const std::vector<std::byte> received = answer();  // recorded by an attacker
    world.clients[0]->up->blackout = world.clients[0]->down->blackout = true;
    CHECK(world.server->close(session.observer, CloseReason::kicked) == Status::ok);
    world.server->receive(received, from, world.now);
    CHECK(internal(*world.server).sessions.back()->state == Session::State::closing);
    world.run(10);
    world.server->receive(received, from, world.now);
    CHECK(world.server->stats().sessions == 0);
    CHECK(internal(*world.server).drops.expired_cookie == 2);
    world.run(2 * CookieJar::lifetime_seconds * ServerDef{}.tick_hz + 20);
    world.server->receive(answer(), from, world.now);  // from a new client at this address
    CHECK(world.server->stats().sessions == 1);
}

TEST_CASE("malicious peer: sessions that come and go between two ticks are bounded") {
    ServerAndPeers pair;
    const std::size_t kept = 2 * ServerDef{}.sessions_per_host_max;
    std::size_t dropped = 0;
    for (std::uint16_t i = 0; i < 1'000; ++i) {
        Attacker attacker(pair, at(i));
        if (!attacker.connect()) {
            ++dropped;
            continue;
        }
        std::vector<std::byte> bytes(hello_bytes);
        bytes.resize(write(Close{attacker.id, CloseReason::left}, bytes));
        pair.server->receive(bytes, attacker.address, pair.now);
    }
    CHECK(internal(*pair.server).sessions.size() == kept);
    CHECK(dropped == 1'000 - kept);
    CHECK(internal(*pair.server).drops.address_limit == 1'000 - kept);
    CHECK(Attacker(pair, at(1, 77)).connect());  // other hosts are not affected
    pair.tick();
    CHECK(Attacker(pair, at(2'000)).connect());
}

TEST_CASE("malicious peer: skipped packet numbers enlarge the headers only up to a limit") {
    ServerAndPeers pair;
    Attacker attacker(pair, at(1));
    REQUIRE(attacker.connect());
    for (std::uint32_t i = 1; i <= 20; ++i) attacker.send_nothing(i * 900);
    CHECK(attacker.malformed() == 19);
    pair.tick();
    CHECK(internal(*pair.server).sessions[0]->link.header_bits_max() < 1'100);
}

TEST_CASE("malicious peer: no packet is sent if a long header leaves no room for it") {
    for (const std::uint32_t budget : {128U, 180U, 1'140U, 1'180U, 1'210U, 4'800U}) {
        CAPTURE(budget);
        ServerDef def;
        def.budget_bytes_per_tick = budget;
        ServerAndPeers pair(def);
        Attacker attacker(pair, at(1));
        REQUIRE(attacker.connect());
        (void)pair.sent();
        attacker.send_nothing(950);
        std::size_t all_bytes = 0;
        for (int i = 0; i < 20; ++i) {
            pair.tick();
            std::size_t bytes = 0;
            for (const auto& datagram : pair.sent()) {
                bytes += datagram.size();
                CHECK(is_sealed(attacker.id, datagram));
                CHECK(Attacker::is_whole(datagram));
            }
            CHECK(bytes <= budget);
            all_bytes += bytes;
        }
        CHECK((all_bytes == 0) == (budget == 128));
    }
}

TEST_CASE("malicious peer: a stream with a gap after every byte is refused") {
    std::uint32_t offset = 1, taken = 0;
    StreamReceiver in;
    const std::byte one[1] = {};
    bool is_taken = true;
    while (is_taken && taken < 10'000) {
        std::vector<std::byte> bytes(1'200);
        BitWriter out(bytes);
        for (int i = 0; i < 100; ++i, offset += 2) {
            out.boolean(true);
            out.u32(offset);
            out.bits(1, 10);
            out.bytes(one);
        }
        out.boolean(false);
        BitReader reader(bytes);
        is_taken = in.read(reader);
        if (is_taken) in.accept();
        taken += is_taken ? 100 : 0;
    }
    CHECK(taken >= 2'048);  // a well-behaved sender may need this many
    CHECK(taken <= 4'096);
}

TEST_CASE("malicious peer: a network counts as one host, also for sessions that move there") {
    ServerDef def;
    ServerAndPeers pair(def);
    const auto in_network = [](std::uint16_t port) {
        Address address = at(port);
        address.host = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1};
        address.host[15] = static_cast<std::uint8_t>(port);
        return address;
    };
    std::uint32_t accepted = 0;
    for (std::uint16_t port = 1; port <= 40; ++port)
        accepted += Attacker(pair, in_network(port)).connect() ? 1 : 0;
    CHECK(accepted == def.sessions_per_host_max);
    // Others open sessions elsewhere, and then prove addresses in the full network.
    for (std::uint16_t port = 100; port < 110; ++port) {
        Attacker mover(pair, at(port, 50));
        REQUIRE(mover.connect());
        const Address there = in_network(port);
        mover.send_nothing(1, there);
        REQUIRE(mover.prove(there, mover.id));
    }
    std::uint32_t there = 0;
    for (const auto& session : internal(*pair.server).sessions)
        there += session->address.host[0] == 0x20 ? 1 : 0;
    CHECK(there == def.sessions_per_host_max);
    CHECK(internal(*pair.server).drops.address_limit == 24 + 10);
}

TEST_CASE("malicious peer: an RPC before the join is malformed") {
    ServerAndPeers pair;
    Attacker attacker(pair, at(1));
    REQUIRE(attacker.connect());
    OutgoingRpc call;
    call.rpc = pair.setup.shouts[0].id;
    REQUIRE(pair.setup.schema.rpcs()[index_of(call.rpc)].desc.direction == RpcDirection::to_server);
    RpcOutbox outbox;
    REQUIRE(outbox.add(call));
    const auto send_call = [&](BitWriter& out) {
        out.boolean(false);  // no fragments, no digest, no commands
        out.boolean(false);
        out.varint(0);
        const auto no_cost = [](const OutgoingRpc&) { return std::uint64_t{0}; };
        (void)outbox.choose(pair.setup.schema, out.bits_left(), no_cost);
        REQUIRE(outbox.write(pair.setup.schema, 1, out, [](const OutgoingRpc&) { return true; }) ==
                1);
        out.boolean(false);  // no inputs
    };
    attacker.send(1, send_call, attacker.address);
    CHECK(internal(*pair.server).sessions[0]->calls_in.counters().arrived == 0);
    CHECK(attacker.malformed() == 1);
}

namespace {

/// Disconnects a client. A peer then sends in its name and acknowledges everything (`receives`) or
/// nothing, from another address if `is_elsewhere`. Returns for how many ticks the server keeps the
/// session.
std::uint32_t ticks_kept(bool receives, bool is_elsewhere) {
    SmallWorld world(61, {});
    world.add_client();
    world.run(40);
    REQUIRE(world.server->stats().observers_ready == 1);
    Session& session = *internal(*world.server).sessions[0];
    const std::uint64_t id = session.connection_id;
    Address from = session.address;
    if (is_elsewhere) from.host[3] = 77;
    world.clients[0]->down->blackout = world.clients[0]->up->blackout = true;
    world.run(3);
    std::uint32_t ticks = 0;
    for (; ticks < 400 && world.server->stats().sessions == 1; ++ticks) {
        std::vector<std::byte> bytes(400);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        out.u64(id);
        out.u16(static_cast<std::uint16_t>(300 + ticks));
        const std::uint32_t newest = session.link.next_sequence() - 1;
        out.boolean(receives);
        if (receives) {
            const std::uint32_t before = newest - session.link.resolved();
            out.u16(static_cast<std::uint16_t>(newest));
            out.varint(before == 0 ? 0 : before - 1);
            for (std::uint32_t i = 1; i < before; ++i) out.boolean(true);
        }
        out.u16(0);
        bytes.resize(std::max(out.bytes_written(), challenge_bytes));
        seal(PacketType::data, id, bytes);
        world.server->receive(bytes, from, world.now);
        world.run(1);
    }
    CHECK(internal(*world.server).drops.malformed_packet == 0);
    return ticks;
}

}  // namespace

TEST_CASE("malicious peer: acknowledgements from another address do not keep a session open") {
    const std::uint32_t allowed = ServerDef{}.session_timeout_ms / 1'000 * ServerDef{}.tick_hz;
    CHECK(ticks_kept(true, false) == 400);
    CHECK(ticks_kept(true, true) >= allowed - 10);
    CHECK(ticks_kept(true, true) <= allowed + 10);
}

TEST_CASE("malicious peer: unacknowledged leaves are bounded, then the session times out") {
    SmallSchema schema;
    IdleGame game;
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.rules.nodes = {};  // all entities are relevant
    def.mac = &test_mac;
    def.secret = test_secret;
    def.budget_bytes_per_tick = 60'000;
    Server server = Server::create(def, game).value();
    ClientDef client_def;
    client_def.nonce = 9;
    Client client(client_def);
    Address address;
    address.carrier = Address::Carrier::memory;
    address.port = 1;
    Micros now = 1'000'000;
    std::vector<EntityId> herd;
    std::uint32_t dropped = 0, ticks = 0, most = 0;
    for (; ticks < 5'000 && (ticks < 60 || server.stats().sessions == 1); ++ticks) {
        now += 50'000;
        client.tick(now);
        std::span<const std::byte> message;
        while (client.next_datagram(message)) server.receive(message, address, now);
        const bool is_in =
            client.state() == ClientState::joined && !internal(server).sessions.empty();
        // Other entities each time: the leave of an entity that returns would be sent with its
        // enter.
        if (is_in && ticks % 3 == 0) {
            for (const EntityId entity : herd) CHECK(server.world().despawn(entity) == Status::ok);
            herd.clear();
            for (int i = 0; i < 600 && ticks % 2 == 0; ++i)
                herd.push_back(
                    server.world().spawn({.kind = schema.sheep, .position = {10, 10, 0}}));
        }
        server.tick(now);
        OutgoingDatagram out;
        while (server.next_datagram(out)) {
            // Packets with a leave are lost, also when it is sent again.
            bool has_leave = false;
            if (is_in && !internal(server).sessions.empty()) {
                const GhostTable& ghosts = internal(server).sessions[0]->ghosts;
                most = std::max(most, ghosts.leaving_count());
                if (ghosts.packets().size() > 0) {
                    ghosts.packets().for_each_sent(ghosts.packets().newest(), [&](auto item) {
                        has_leave |= item.as == SentAs::leave;
                    });
                }
            }
            dropped += has_leave ? 1 : 0;
            if (!has_leave) client.receive(out.bytes, now);
        }
    }
    CHECK(dropped > 100);
    CHECK(ticks < 5'000);
    CHECK(server.stats().sessions == 0);
    CHECK(client.close_reason() == CloseReason::timeout);
    CHECK(most > leaving_max - 2'000);
    CHECK(most <= leaving_max + 600);
}

TEST_CASE("malicious peer: a client that sends but acknowledges nothing times out") {
    const std::uint32_t allowed = ServerDef{}.session_timeout_ms / 1'000 * ServerDef{}.tick_hz;
    CHECK(ticks_kept(false, false) >= allowed - 10);
    CHECK(ticks_kept(false, false) <= allowed + 10);
}

}  // namespace purview::test
