// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A custom server and a custom client over UDP on this machine: a schema, a game, two sockets and
// two loops. This is what an engine must provide. docs/your-server.md explains it.
//
// Note: the library opens no sockets and reads no clock. An engine passes the received datagrams
// to it, calls tick, and sends the datagrams from next_datagram.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "example.hpp"
#include "purview/client.hpp"
#include "purview/limits.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

// -- shared by both sides ------------------------------------------------------------------------

struct Position {
    Vec3 at;
};
struct Health {  // a spawned entity starts with zeros; initializers have no effect
    std::uint8_t now = 0;
};

struct Shared {
    Shared() {
        position = schema.component<Position>("place").quantized({"x", "y"}, &Position::at,
                                                                 {0, 1000, 0.01});
        schema.set_position(position.id);
        health = schema.component<Health>("health").integer("now", &Health::now, 0, 100);
        // Other clients see the person, but not the health.
        schema.audience(health.id, {AudienceType::owner});
        person = schema.kind("person", {position.id, health.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Health> health;
    KindId person{};
};

// -- presentation on the client ------------------------------------------------------------------

struct Screen {
    std::set<GhostId> figures;
    int walked = 0;

    void follow(Client& client, const Shared& shared) {
        for (const ClientEvent& event : client.events()) {
            if (event.is_enter()) figures.insert(event.ghost);
            if (event.is_leave()) figures.erase(event.ghost);
            if (event.has(shared.position.id)) ++walked;
        }
        client.clear_events();
    }
};

// -- the game -----------------------------------------------------------------------------------

struct Walk final : Game {
    explicit Walk(const Shared& its) : shared(&its) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        const EntityId body =
            server.world().spawn({.kind = shared->person, .position = {500, 500, 0}});
        must(server.world().set_owner(body, observer));
        bodies.emplace_back(observer, body);
        return body;
    }
    void on_leave(Server& server, ObserverId observer) override {
        for (const auto& [owner, body] : bodies)
            if (owner == observer) (void)server.world().despawn(body);
        std::erase_if(bodies, [&](const auto& one) { return one.first == observer; });
    }
    /// One byte: a step to the right, in decimeters. Untrusted input: validate it before use.
    void on_command(Server& server, ObserverId observer, std::span<const std::byte> data) override {
        if (data.size() != 1) return;
        for (const auto& [owner, body] : bodies) {
            if (owner != observer) continue;
            const int decimeters = std::to_integer<int>(data[0] & std::byte{15});
            Vec3 to = server.world().position_of(body);
            to.x = std::min(to.x + 0.1F * static_cast<float>(decimeters), 999.0F);
            must(server.world().move(body, to));
        }
    }
    void on_tick(Server&, Tick) override {}
    const Shared* shared;
    std::vector<std::pair<ObserverId, EntityId>> bodies;
};

// -- sockets ------------------------------------------------------------------------------------

/// Non-blocking UDP on 127.0.0.1.
class Socket {
  public:
    explicit Socket(std::uint16_t port = 0) : file_(socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in own = to_system({Address::Carrier::udp, loopback(), port});
        expect(file_ >= 0 && fcntl(file_, F_SETFL, O_NONBLOCK) == 0, "a socket can be created");
        expect(bind(file_, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0, "a free port");
    }
    ~Socket() { close(file_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        getsockname(file_, reinterpret_cast<sockaddr*>(&own), &size);
        return ntohs(own.sin_port);
    }
    void send(std::span<const std::byte> bytes, const Address& to) const {
        const sockaddr_in system = to_system(to);  // on failure it counts as lost
        (void)sendto(file_, bytes.data(), bytes.size(), 0,
                     reinterpret_cast<const sockaddr*>(&system), sizeof system);
    }
    /// Calls got(bytes, from) for each received datagram.
    template <class Got>
    void receive(Got&& got) const {
        std::array<std::byte, limits::datagram_bytes + 1> room;
        sockaddr_in from{};
        socklen_t size = sizeof from;
        // Limited, so that a flood cannot delay the tick.
        for (int i = 0; i < 256; ++i, size = sizeof from) {
            const ssize_t bytes = recvfrom(file_, room.data(), room.size(), 0,
                                           reinterpret_cast<sockaddr*>(&from), &size);
            if (bytes <= 0) return;
            Address address{Address::Carrier::udp, {}, ntohs(from.sin_port)};
            address.host[10] = address.host[11] = 0xff;  // ::ffff:a.b.c.d
            std::memcpy(&address.host[12], &from.sin_addr, 4);
            got(std::span(room).first(static_cast<std::size_t>(bytes)), address);
        }
    }
    static std::array<std::uint8_t, 16> loopback() {
        return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    }

  private:
    static sockaddr_in to_system(const Address& address) {
        sockaddr_in system{};
        system.sin_family = AF_INET;
        system.sin_port = htons(address.port);
        std::memcpy(&system.sin_addr, &address.host[12], 4);
        return system;
    }
    int file_;
};

// -- clock and signature of challenges -----------------------------------------------------------

Micros now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<Micros>(
        std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

void blake2b(std::span<const std::byte, 32> key, std::span<const std::byte> data,
             std::span<std::byte, 16> out) {
    crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                       reinterpret_cast<const unsigned char*>(data.data()), data.size(),
                       reinterpret_cast<const unsigned char*>(key.data()), key.size());
}

}  // namespace

int main() {
    expect(sodium_init() >= 0, "libsodium");
    const Shared shared;

    // The server. Rules as in the README: entities enter within 60 m and leave beyond 66 m.
    Walk game(shared);
    ServerDef def;
    def.schema = &shared.schema;
    def.rules.max = {1000, 1000, 0};
    def.rules.node("near").add(within(60).leave_at(66));
    def.plain.udp = true;  // on loopback: no encryption
    def.mac = &blake2b;
    randombytes_buf(def.secret.data(), def.secret.size());
    auto made = Server::create(def, game);
    if (!made) expect(false, problem_of(def).c_str());
    Server& server = made.value();
    const Socket server_socket;
    const Address server_address{Address::Carrier::udp, Socket::loopback(), server_socket.port()};

    // Two clients. Each one has a random nonce that cannot be guessed.
    struct Player {
        Socket socket;
        Client client;
        Screen screen = {};
    };
    const auto client_def = [&] {
        ClientDef client;
        randombytes_buf(&client.nonce, sizeof client.nonce);
        client.schema_hash = shared.schema.hash();
        return client;
    };
    Player players[2] = {{Socket(), Client(client_def())}, {Socket(), Client(client_def())}};

    // One loop for both sides. In a game, each program has its own loop, at its own rate.
    auto next_tick = std::chrono::steady_clock::now();
    for (int turn = 0; turn < 100; ++turn) {
        for (Player& player : players) {
            player.socket.receive([&](std::span<const std::byte> bytes, const Address&) {
                player.client.receive(bytes, now());
                player.screen.follow(player.client, shared);
            });
            if (player.client.state() == ClientState::joined && turn > 50 && &player == players) {
                const std::byte step{5};
                must(player.client.send_command(std::span(&step, 1)));
            }
            player.client.tick(now());
            std::span<const std::byte> out;
            while (player.client.next_datagram(out)) player.socket.send(out, server_address);
        }
        server_socket.receive([&](std::span<const std::byte> bytes, const Address& from) {
            server.receive(bytes, from, now());
        });
        server.tick(now());
        OutgoingDatagram out;
        while (server.next_datagram(out)) server_socket.send(out.bytes, out.to);
        // The budget and all values in ticks assume this tick rate.
        next_tick += std::chrono::microseconds(1'000'000 / def.tick_hz);
        std::this_thread::sleep_until(next_tick);
    }

    const Client& walker = players[0].client;
    const Client& other = players[1].client;
    expect(walker.state() == ClientState::joined && other.state() == ClientState::joined,
           "both clients have joined");
    expect(walker.ghost_count() == 2 && other.ghost_count() == 2, "both clients have both ghosts");
    other.for_each([&](GhostId ghost) {
        std::printf("%s at x = %.1f m, %s\n", other.is_owned(ghost) ? "own person" : "other person",
                    static_cast<double>(other.position_of(ghost, other.newest_tick()).x),
                    other.is_replicated(ghost, shared.health.id) ? "with known health"
                                                                 : "with unknown health");
        expect(other.is_replicated(ghost, shared.health.id) == other.is_owned(ghost),
               "health is replicated to its owner only");
        expect(other.is_owned(ghost) || other.position_of(ghost, other.newest_tick()).x > 505,
               "the other person has walked");
    });
    expect(players[1].screen.figures.size() == 2, "two figures are drawn");
    expect(players[1].screen.walked > 10, "one of the figures walks");
    for (Player& player : players) {
        player.client.leave();  // the disconnect still has to be sent
        std::span<const std::byte> out;
        while (player.client.next_datagram(out)) player.socket.send(out, server_address);
    }
}
