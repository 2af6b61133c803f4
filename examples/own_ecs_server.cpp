// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A game with its own ECS that replicates through a server.
//
// - Components go from the ECS to the World in Game::on_tick, with World::edit for changed rows.
// - Spawns and despawns go to the World at once, also outside of a tick.
// - Client input goes from the server to the ECS in Game::on_command, before the simulation.
// - Enters and leaves go from the server to the ECS after Server::tick, with Server::events.
//
// The ECS owns the data. The World has a copy of only what clients may receive: here `secret` is
// never copied. A row stores its EntityId, and events return the row (SpawnDef::user_data).
#include <cstdint>
#include <cstdio>
#include <vector>

#include "example.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

struct Body {  // the component that clients receive
    Vec3 at;
};

struct Hello {
    Hello() { schema.set_position(body.id); }
    Schema schema;
    Component<Body> body =
        schema.component<Body>("body").quantized({"x", "y"}, &Body::at, {0, 1000, 0.01});
    KindId walker = schema.kind("walker", {body.id});
};

/// The game's own store: one column for each component.
struct Ecs {
    std::vector<float> x, y, speed;
    std::vector<int> secret;
    std::vector<EntityId> entity;
    std::vector<std::uint32_t> observers;  ///< number of clients with a ghost of it

    std::size_t add(float at, float meters_per_tick) {
        x.push_back(at);
        y.push_back(500);
        speed.push_back(meters_per_tick);
        secret.push_back(42);
        entity.push_back(EntityId::none);
        observers.push_back(0);
        return x.size() - 1;
    }
};

struct EcsGame final : Game {
    EcsGame(const Hello& its_hello, Ecs& its_ecs) : hello(its_hello), ecs(its_ecs) {}

    std::size_t add(Server& server, float x, float speed, ObserverId owner = {}) {
        const std::size_t row = ecs.add(x, speed);
        // EntityId::none if the world is full: the row exists, but no client receives it.
        ecs.entity[row] = server.world().spawn(
            {.kind = hello.walker, .position = {x, 500}, .owner = owner, .user_data = row});
        return row;
    }
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        const EntityId body = ecs.entity[add(server, 500, 0, observer)];
        return body;
    }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server& server, Tick) override {
        for (std::size_t row = 0; row < ecs.x.size(); ++row) {
            // A system of the game. Rows that no client observes may sleep.
            ecs.x[row] += ecs.speed[row];
            if (ecs.speed[row] == 0) continue;
            if (Body* body = server.world().edit(ecs.entity[row], hello.body))
                body->at = {ecs.x[row], ecs.y[row]};
        }
    }
    void after_tick(const Server& server) {
        for (const ServerEvent& event : server.events()) {
            if (event.is_enter()) ++ecs.observers[event.entity_data];
            if (event.is_leave()) --ecs.observers[event.entity_data];
        }
    }
    const Hello& hello;
    Ecs& ecs;
};

}  // namespace

int main() {
    const Hello hello;
    Ecs ecs;
    EcsGame game(hello, ecs);
    ServerDef def;
    def.schema = &hello.schema;
    def.rules.max = {1000, 1000, 0};
    def.rules.node("near").add(within(60).leave_at(66));
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // no other process uses this connection
    Server server = Server::create(def, game).value();
    const std::size_t rock = game.add(server, 520, 0), runner = game.add(server, 400, 5);
    game.add(server, 900, 0);  // too far

    ClientDef client_def;
    client_def.nonce = 1;  // in production: 64 random bits
    client_def.schema = &hello.schema;
    Client client(client_def);
    Address address;
    address.carrier = Address::Carrier::memory;
    unsigned most = 0;
    for (Micros tick = 1; tick <= 80; ++tick) {
        const Micros now = tick * 50'000;
        client.tick(now);
        std::span<const std::byte> datagram;
        while (client.next_datagram(datagram)) server.receive(datagram, address, now);
        server.tick(now);
        game.after_tick(server);
        OutgoingDatagram out;
        while (server.next_datagram(out)) client.receive(out.bytes, now);
        if (ecs.observers[runner] > most) {
            most = ecs.observers[runner];
            std::printf("tick %2u: the runner is observed at x = %.0f\n",
                        static_cast<unsigned>(tick), ecs.x[runner]);
        }
    }
    std::printf("after 80 ticks: runner at x = %.0f, observers %u; rock %u\n", ecs.x[runner],
                ecs.observers[runner], ecs.observers[rock]);
    client.for_each([&](GhostId ghost) {
        if (const auto body = client.get(ghost, hello.body))
            std::printf("the client has a ghost at x = %.0f\n", body->at.x);
    });
    expect(client.ghost_count() == 2, "the client has its own body and the rock");
    expect(most == 1 && ecs.observers[runner] == 0, "the runner entered and left");
    expect(ecs.observers[rock] == 1, "the rock is observed");
    return 0;
}
