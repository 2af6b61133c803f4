// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encrypted connections against an attacker who sees, keeps, changes and sends datagrams, from any
// address, but has no key.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "link/encrypted_handshake.hpp"
#include "purview/client.hpp"
#include "purview/net/encryption.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using Bytes = std::vector<std::byte>;

Address address_of(std::uint16_t port, Address::Carrier carrier = Address::Carrier::udp) {
    Address address;
    address.carrier = carrier;
    address.host[0] = 10;
    address.port = port;
    return address;
}

std::uint64_t wall_clock_s = 1'000;
std::uint64_t read_wall_clock() {
    return wall_clock_s;
}

/// Wraps net::encryption. Records which numbers were sealed with which key.
std::map<SecretKey, std::set<std::uint64_t>> sealed_numbers;
std::size_t repeated_numbers = 0;
Encryption recorded_encryption() {
    Encryption functions = net::encryption();
    functions.seal = [](std::span<const std::byte, 32> key, std::uint64_t number,
                        std::span<const std::byte> clear, std::span<std::byte> text,
                        std::span<std::byte, 16> tag) {
        SecretKey copy;
        std::copy(key.begin(), key.end(), copy.begin());
        repeated_numbers += sealed_numbers[copy].insert(number).second ? 0 : 1;
        net::encryption().seal(key, number, clear, text, tag);
    };
    return functions;
}

struct TokenGame final : Game {
    std::optional<EntityId> on_join(Server& server, ObserverId,
                                    const JoinRequest& request) override {
        user_id = request.user_id;
        user_data.assign(request.user_data.begin(), request.user_data.end());
        player = server.world().spawn({.kind = kind});
        return player;
    }
    void on_command(Server&, ObserverId, std::span<const std::byte> data) override {
        commands.emplace_back(data.begin(), data.end());
    }
    void on_tick(Server& server, Tick tick) override {
        if (player != EntityId::none)
            (void)server.world().move(player, {static_cast<float>(tick % 100), 0, 0});
    }
    KindId kind{};
    EntityId player = EntityId::none;
    std::uint64_t user_id = 0;
    Bytes user_data;
    std::vector<Bytes> commands;
};

/// A server and one client, with everything that they sent.
struct Wiretap {
    explicit Wiretap(ServerDef def = {}) { start(std::move(def)); }

    void start(ServerDef def = {}, std::uint8_t process = 1) {
        net::TokenReaderDef reader_def;
        reader_def.keys = {backend_key};
        reader_def.game_id = 7;
        reader_def.servers = {address_of(4'000)};
        reader_def.clock = &read_wall_clock;
        reader = std::make_unique<net::TokenReader>(reader_def);
        game.kind = is.player;
        def.schema = &is.schema;
        def.mac = &test_mac;
        def.secret[0] = std::byte{process};
        def.encryption = recorded_encryption();
        def.key_reader = reader.get();
        auto made = Server::create(def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
    }
    net::ConnectTokenDef token_def() const {
        net::ConnectTokenDef def;
        def.game_id = 7;
        def.user_id = 4711;
        def.user_data = {std::byte{'v'}, std::byte{'i'}, std::byte{'p'}};
        def.servers = {address_of(4'000)};
        def.expires_s = wall_clock_s + 30;
        return def;
    }
    ConnectKey key() const { return key_of(token_def()); }
    ConnectKey key_of(const net::ConnectTokenDef& def) const {
        const auto token = net::make_connect_token(def, backend_key);
        REQUIRE(token);
        const auto read = net::read_connect_token(*token);
        REQUIRE(read);
        return read->key;
    }
    std::unique_ptr<Client> client_with(const ConnectKey& its_key) {
        ClientDef def;
        def.nonce = ++nonces;
        def.name = "a name in clear";
        def.key = its_key;
        def.encryption = recorded_encryption();
        return std::make_unique<Client>(def);
    }
    void step() {
        now += 50'000;
        client->tick(now);
        std::span<const std::byte> out;
        while (client->next_datagram(out)) {
            to_server.emplace_back(out.begin(), out.end());
            server->receive(out, home, now);
        }
        tick();
    }
    void tick() {
        server->tick(now);
        OutgoingDatagram out;
        while (server->next_datagram(out)) {
            if (!(out.to == home)) {
                elsewhere.push_back({out.to, Bytes(out.bytes.begin(), out.bytes.end())});
                continue;
            }
            to_client.emplace_back(out.bytes.begin(), out.bytes.end());
            client->receive(out.bytes, now);
        }
    }
    void run(int steps) {
        for (int i = 0; i < steps; ++i) step();
    }
    void join() {
        client = client_with(key());
        run(20);
        REQUIRE(client->state() == ClientState::joined);
        REQUIRE(client->ghost_count() == 1);
    }
    std::uint64_t count(std::string_view name) const {
        for (const Counter& counter : server->counters())
            if (counter.name == name) return counter.value;
        FAIL("no such counter");
        return 0;
    }
    Session& session() { return *internal(*server).sessions.front(); }

    struct Stray {
        Address to;
        Bytes bytes;
    };
    SmallSchema is;
    SecretKey backend_key = net::make_key_pair().private_key;
    std::unique_ptr<net::TokenReader> reader;
    TokenGame game;
    std::unique_ptr<Server> server;
    std::unique_ptr<Client> client;
    Address home = address_of(1);
    std::vector<Bytes> to_server, to_client;
    std::vector<Stray> elsewhere;
    Micros now = 1'000'000;
    std::uint64_t nonces = 100;
};

bool contains(const Bytes& datagram, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return std::search(datagram.begin(), datagram.end(), bytes.begin(), bytes.end()) !=
           datagram.end();
}

}  // namespace

TEST_CASE("encryption: a client with a token joins, and nothing that it sends is readable") {
    Wiretap tap;
    tap.join();
    CHECK(tap.game.user_id == 4711);
    CHECK(tap.game.user_data.size() == 3);
    const Bytes command(20, std::byte{'x'});
    CHECK(tap.client->send_command(command) == Status::ok);
    CHECK(tap.client->send_message(command) == Status::ok);
    tap.run(5);
    CHECK(tap.game.commands.size() == 1);
    CHECK(tap.count("drop.bad_checksum") == 0);
    std::size_t data_packets = 0;
    for (const auto* side : {&tap.to_server, &tap.to_client}) {
        for (const Bytes& datagram : *side) {
            CHECK_FALSE(contains(datagram, "a name in clear"));
            CHECK_FALSE(contains(datagram, "xxxx"));
            const auto type = static_cast<PacketType>(datagram[0]);
            CHECK(type != PacketType::data);
            data_packets += type == PacketType::encrypted_data ? 1 : 0;
        }
    }
    CHECK(data_packets > 20);
    // Other than in the clear bytes, the same content never gives the same bytes.
    std::set<Bytes> bodies;
    std::size_t bodies_seen = 0;
    for (const Bytes& datagram : tap.to_client) {
        if (static_cast<PacketType>(datagram[0]) != PacketType::encrypted_data) continue;
        bodies.emplace(datagram.begin() + 19, datagram.end());
        ++bodies_seen;
    }
    CHECK(bodies.size() == bodies_seen);
}

TEST_CASE("encryption: without a key, no datagram changes anything (every bit is flipped)") {
    Wiretap tap;
    tap.join();
    const std::size_t server_from = tap.to_server.size(), client_from = tap.to_client.size();
    tap.run(3);
    const std::vector<Bytes> queries(
        tap.to_server.begin() + static_cast<std::ptrdiff_t>(server_from), tap.to_server.end());
    const std::vector<Bytes> answers(
        tap.to_client.begin() + static_cast<std::ptrdiff_t>(client_from), tap.to_client.end());
    REQUIRE(!queries.empty());
    REQUIRE(!answers.empty());
    const auto accepted = [&] { return tap.session().link.newest_accepted(); };
    const std::uint32_t before = accepted();
    const ClientStats stats = tap.client->stats();
    for (const Bytes& datagram : queries) {
        for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
            Bytes changed = datagram;
            changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            tap.server->receive(changed, tap.home, tap.now);
            tap.server->receive(changed, address_of(9), tap.now);
        }
    }
    for (const Bytes& datagram : answers) {
        for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
            Bytes changed = datagram;
            changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            tap.client->receive(changed, tap.now);
        }
    }
    CHECK(accepted() == before);
    CHECK(tap.session().address == tap.home);
    CHECK(tap.session().misuse.malformed == 0);
    CHECK(tap.client->stats().packets_received == stats.packets_received);
    CHECK(tap.client->state() == ClientState::joined);
    tap.elsewhere.clear();
    tap.run(3);
    CHECK(accepted() > before);
    CHECK(tap.elsewhere.empty());  // no other address was answered
}

TEST_CASE("encryption: an observer of all datagrams cannot take over a session") {
    Wiretap tap;
    tap.join();
    tap.run(5);
    const Address thief = address_of(666);
    SUBCASE("with datagrams that it has seen") {
        for (const Bytes& datagram : tap.to_server) tap.server->receive(datagram, thief, tap.now);
        tap.tick();
        CHECK(tap.session().address == tap.home);
        for (const Wiretap::Stray& stray : tap.elsewhere) CHECK(stray.bytes.size() <= 96);
    }
    SUBCASE("with the first copy of a new datagram") {
        tap.now += 50'000;
        tap.client->tick(tap.now);
        std::span<const std::byte> out;
        REQUIRE(tap.client->next_datagram(out));
        const Bytes copy(out.begin(), out.end());
        tap.server->receive(copy, thief, tap.now);
        tap.tick();
        REQUIRE(tap.elsewhere.size() == 1);
        const Bytes& challenge = tap.elsewhere.front().bytes;
        CHECK(static_cast<PacketType>(challenge[0]) == PacketType::path_challenge);
        // It cannot write the answer.
        const auto read = read_path_challenge(challenge);
        REQUIRE(read);
        SessionKeys guess;
        guess.handshake_to_server[0] = std::byte{1};
        const std::uint64_t id = tap.session().connection_id;
        const PacketSeal forged(net::encryption(), guess, PacketSeal::Side::client, id);
        Bytes answer(path_answer_bytes);
        REQUIRE(write(PathAnswer{id, read->cookie}, forged, answer) == answer.size());
        tap.server->receive(answer, thief, tap.now);
        // Nor does a plain answer move the session.
        Bytes plain(hello_bytes);
        REQUIRE(write(Answer{0, tap.session().nonce, read->cookie, id}, plain) == plain.size());
        tap.server->receive(plain, thief, tap.now);
        CHECK(tap.session().address == tap.home);
        CHECK(tap.count("drop.bad_cookie") >= 2);
        // If the client answers for it, the answer proves the client's address, not the thief's.
        tap.client->receive(challenge, tap.now);
        while (tap.client->next_datagram(out)) tap.server->receive(out, tap.home, tap.now);
        CHECK(tap.session().address == tap.home);
    }
    SUBCASE("with a challenge that it made") {
        tap.server->receive(Bytes(), thief, tap.now);
        Bytes hello(hello_bytes);
        REQUIRE(write(Hello{limits::protocol_version, 0, tap.session().nonce}, hello) != 0);
        tap.server->receive(hello, thief, tap.now);
        tap.tick();
        REQUIRE(!tap.elsewhere.empty());
        const auto challenge = read_challenge(tap.elsewhere.back().bytes);
        REQUIRE(challenge);
        const PacketSeal forged(net::encryption(), {}, PacketSeal::Side::server, 1);
        Bytes bytes(path_challenge_bytes);
        REQUIRE(write(PathChallenge{challenge->cookie}, forged, bytes) == bytes.size());
        tap.client->receive(bytes, tap.now);
        tap.client->receive(tap.elsewhere.back().bytes, tap.now);
        std::span<const std::byte> out;
        CHECK_FALSE(tap.client->next_datagram(out));
    }
    SUBCASE("with close packets") {
        Bytes close(close_bytes_max);
        const std::uint64_t id = tap.session().connection_id;
        close.resize(write(Close{id, CloseReason::left, {}}, close));
        tap.server->receive(close, tap.home, tap.now);
        tap.client->receive(close, tap.now);
        const PacketSeal forged(net::encryption(), {}, PacketSeal::Side::server, id);
        Bytes sealed(close_bytes_max);
        sealed.resize(forged.write_close(CloseReason::kicked, "out", sealed));
        tap.server->receive(sealed, tap.home, tap.now);
        tap.client->receive(sealed, tap.now);
    }
    tap.run(3);
    CHECK(tap.client->state() == ClientState::joined);
    CHECK(internal(*tap.server).sessions.size() == 1);
}

TEST_CASE("encryption: a client with a new address keeps its session and its ghosts") {
    Wiretap tap;
    tap.join();
    tap.run(5);
    const std::uint64_t enters = tap.session().counts.enters;
    tap.home = address_of(2);  // the server still sends to the old address
    tap.elsewhere.clear();
    tap.run(1);
    CHECK(!tap.elsewhere.empty());
    for (int i = 0; i < 6; ++i) {
        // Its old address is gone: what is sent there is lost.
        tap.elsewhere.clear();
        tap.run(1);
    }
    CHECK(tap.elsewhere.empty());
    CHECK(tap.session().address == tap.home);
    CHECK(tap.session().counts.enters == enters);
    CHECK(tap.session().counts.leaves == 0);
    CHECK(tap.client->state() == ClientState::joined);
    CHECK(tap.client->ghost_count() == 1);
}

TEST_CASE("encryption: a copied proof of a new address moves the session nowhere else") {
    Wiretap tap;
    tap.join();
    tap.run(5);
    tap.home = address_of(2);
    // The challenge reaches the client; a thief is faster with the client's answer.
    Bytes answer;
    for (int i = 0; i < 10 && answer.empty(); ++i) {
        tap.now += 50'000;
        tap.client->tick(tap.now);
        std::span<const std::byte> out;
        while (tap.client->next_datagram(out)) {
            if (static_cast<PacketType>(out[0]) == PacketType::path_answer) {
                answer.assign(out.begin(), out.end());
            } else {
                tap.server->receive(out, tap.home, tap.now);
            }
        }
        tap.tick();
    }
    REQUIRE(!answer.empty());
    tap.server->receive(answer, address_of(666), tap.now);
    CHECK(tap.session().address == address_of(1));
    tap.server->receive(answer, tap.home, tap.now);
    CHECK(tap.session().address == tap.home);
    // The client moves on. The old proof does not move the session back after its time.
    tap.home = address_of(3);
    tap.run(10);
    REQUIRE(tap.session().address == tap.home);
    tap.run(220);  // 11 seconds
    tap.server->receive(answer, address_of(2), tap.now);
    CHECK(tap.session().address == tap.home);
    CHECK(tap.count("drop.expired_cookie") == 1);
}

TEST_CASE("encryption: invalid keys are refused, and nothing is stored for them") {
    Wiretap tap;
    const auto refusal_of = [&](const ConnectKey& key) {
        tap.client = tap.client_with(key);
        tap.run(8);
        CHECK(internal(*tap.server).sessions.empty());
        return tap.client->refuse_reason();
    };
    SUBCASE("a token of another backend") {
        const auto token = net::make_connect_token(tap.token_def(), SecretKey{});
        CHECK(refusal_of(net::read_connect_token(*token)->key) == RefuseReason::key);
        CHECK(tap.count("drop.bad_key") == 1);
    }
    SUBCASE("an expired token") {
        auto def = tap.token_def();
        def.expires_s = wall_clock_s - 1;
        CHECK(refusal_of(tap.key_of(def)) == RefuseReason::key);
    }
    SUBCASE("a token with a changed time") {
        auto def = tap.token_def();
        def.expires_s = wall_clock_s - 1;
        ConnectKey key = tap.key_of(def);
        key.request[0] ^= std::byte{0x40};  // later
        CHECK(refusal_of(key) == RefuseReason::key);
    }
    SUBCASE("a token for another game") {
        auto def = tap.token_def();
        def.game_id = 8;
        CHECK(refusal_of(tap.key_of(def)) == RefuseReason::key);
    }
    SUBCASE("a token for other servers") {
        auto def = tap.token_def();
        def.servers = {address_of(4'001)};
        CHECK(refusal_of(tap.key_of(def)) == RefuseReason::key);
    }
    SUBCASE("a key request that was copied, without its secret") {
        ConnectKey key = tap.key();
        key.secret = {};
        tap.client = tap.client_with(key);
        tap.run(8);
        CHECK(tap.count("drop.bad_key") > 0);
        CHECK(internal(*tap.server).sessions.empty());
        CHECK(tap.client->state() == ClientState::connecting);  // silence
    }
    SUBCASE("a token that was used") {
        const ConnectKey key = tap.key();
        tap.client = tap.client_with(key);
        tap.run(20);
        REQUIRE(tap.client->state() == ClientState::joined);
        tap.client->leave();
        tap.run(2);
        REQUIRE(internal(*tap.server).sessions.empty());
        CHECK(refusal_of(key) == RefuseReason::key);
        CHECK(tap.count("drop.used_key") == 1);
    }
    SUBCASE("no key") {
        CHECK(refusal_of({}) == RefuseReason::key);
        CHECK(tap.count("drop.plain") == 1);
    }
}

TEST_CASE("encryption: a client with a key accepts only a server that has its secret") {
    Wiretap tap;
    tap.client = tap.client_with(tap.key());
    tap.now += 50'000;
    tap.client->tick(tap.now);
    std::span<const std::byte> out;
    REQUIRE(tap.client->next_datagram(out));
    const auto hello = read_hello(out);
    REQUIRE(hello);
    Bytes bytes(hello_bytes);
    const std::size_t size = write(Challenge{hello->nonce, {}}, bytes);
    tap.client->receive(std::span(bytes).first(size), tap.now);
    while (tap.client->next_datagram(out)) {
    }
    Bytes accept(hello_bytes);
    SUBCASE("a plain one") {
        accept.resize(write(Accept{hello->nonce, 77}, accept));
    }
    SUBCASE("one with another secret") {
        const SessionKeys keys = session_keys(net::encryption(), SecretKey{}, hello->nonce, 77);
        const PacketSeal other(net::encryption(), keys, PacketSeal::Side::server, 77);
        accept.resize(write_encrypted_accept({hello->nonce, 77}, other, accept));
    }
    tap.client->receive(accept, tap.now);
    CHECK(tap.client->state() == ClientState::connecting);
}

TEST_CASE("encryption: no number is sealed twice with a key, also after a restart") {
    sealed_numbers.clear();
    repeated_numbers = 0;
    Wiretap tap;
    const ConnectKey key = tap.key();
    for (std::uint8_t process = 1; process <= 3; ++process) {
        if (process > 1) tap.start({}, process);  // forgets which tokens were used
        tap.client = tap.client_with(key);
        tap.nonces = 100;  // the worst client: it also repeats its nonce
        tap.run(30);
        REQUIRE(tap.client->state() == ClientState::joined);
        tap.client->leave();
        tap.run(2);
    }
    CHECK(sealed_numbers.size() == 6);
    CHECK(repeated_numbers == 0);
}

TEST_CASE("encryption: the reason of a close is not readable") {
    Wiretap tap;
    tap.join();
    CHECK(tap.server->close(tap.session().observer, CloseReason::kicked, "for cheating") ==
          Status::ok);
    tap.tick();
    CHECK(tap.client->state() == ClientState::closed);
    CHECK(tap.client->reason_text() == "for cheating");
    for (const Bytes& datagram : tap.to_client) CHECK_FALSE(contains(datagram, "cheating"));
}

}  // namespace purview::test
