// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Lag compensation: a shot is evaluated in the world that the shooter saw. A runner moves past, and
// the shooter aims at its drawn position, which is a quarter of a second old on the server. The
// server evaluates the shot at the runner's position and shield of that time.
//
// Note: the shooter sends where it aims, never what it hit. Its inputs contain the view time, and
// the server limits it to what the shooter can have seen.
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "example.hpp"
#include "purview/prediction.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

constexpr std::uint32_t hz = 60;
constexpr int ticks_each_way = 5;
constexpr float radius = 0.5F;

struct Position {
    Vec3 at;
};
struct Shield {
    std::uint8_t strength = 0;
};
struct Aim {
    Vec3 at;
    bool fires = false;
};

struct Shared {
    Shared() {
        position = schema.component<Position>("place").quantized({"x", "y"}, &Position::at,
                                                                 {-200, 200, 0.01});
        schema.set_position(position.id);
        shield = schema.component<Shield>("shield").integer("strength", &Shield::strength, 0, 9);
        soldier = schema.kind("soldier", {position.id, shield.id});
        aim = schema.input<Aim>("aim")
                  .quantized({"x", "y"}, &Aim::at, {-200, 200, 0.01})
                  .boolean("fires", &Aim::fires);
        schema.take_input(soldier, aim.id);
        schema.predict(position.id);
        schema.rewind(position.id);  // keeps a history of one second
        schema.rewind(shield.id);
    }
    Schema schema;
    Component<Position> position;
    Component<Shield> shield;
    Input<Aim> aim;
    KindId soldier{};
};

/// The server moves the runner. The shooter's own soldier stays at the origin.
struct Range final : Game {
    explicit Range(const Shared& its) : shared(&its) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        const EntityId shooter = server.world().spawn({.kind = shared->soldier, .owner = observer});
        runner = server.world().spawn({.kind = shared->soldier, .position = {-50, 30, 0}});
        return shooter;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server& server, Tick tick) override {
        if (runner == EntityId::none) return;
        Vec3 to = server.world().position_of(runner);
        to.x += 10.0F / hz;
        must(server.world().move(runner, to));
        // A shield every other second.
        server.world().edit(runner, shared->shield)->strength = tick / hz % 2 == 0 ? 5 : 0;
    }
    void on_input(Server& server, ObserverId observer, GroupState& group,
                  const GroupInput& command) override {
        const Aim* aim = command.part(0, shared->aim);
        if (aim == nullptr || !aim->fires) return;
        ++shots;
        const Vec3 muzzle = server.world().position_of(group.entity(0));
        const Result<PastView> view = server.rewind(observer, command.view_tick());
        std::vector<PastHit> hits;
        if (!view || view->find_along(muzzle, aim->at, radius, hits) != Status::ok) return;
        const Vec3 now = server.world().position_of(runner);
        hits_now += std::hypot(now.x - aim->at.x, now.y - aim->at.y) <= radius ? 1 : 0;
        if (hits.empty()) return;
        // null: the shooter did not receive the shield
        const Shield* shield = view->get(hits[0].entity, shared->shield);
        if (shield != nullptr) ++(shield->strength > 0 ? blocked : wounds);
    }
    const Shared* shared;
    EntityId runner = EntityId::none;
    int shots = 0, hits_now = 0, blocked = 0, wounds = 0;
};

}  // namespace

int main() {
    const Shared its;
    Range game(its);
    ServerDef def;
    def.schema = &its.schema;
    def.tick_hz = hz;
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // no other process uses this connection
    Server server = Server::create(def, game).value();
    ClientDef client_def;
    client_def.nonce = 1;  // in production: 64 random bits from the system
    Client client(client_def);
    Prediction prediction = Prediction::create(client, {.schema = &its.schema}).value();
    struct Flight {
        int arrives;
        std::vector<std::byte> bytes;
    };
    std::deque<Flight> up, down;
    GhostId own = GhostId::none, other = GhostId::none;
    int saw_shield = 0;
    for (int tick = 0; tick < 6 * static_cast<int>(hz); ++tick) {
        const Micros now = 1'000'000 + static_cast<Micros>(tick) * (1'000'000 / hz);
        for (; !down.empty() && down.front().arrives <= tick; down.pop_front())
            client.receive(down.front().bytes, now);
        for (const ClientEvent& event : client.events())
            if (event.is_enter()) (client.is_owned(event.ghost) ? own : other) = event.ghost;
        client.clear_events();
        for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
            if (own != GhostId::none && other != GhostId::none) {
                const bool fires = tick % 20 == 0 && tick > 2 * static_cast<int>(hz);
                const Vec3 seen = prediction.position_of(other, now);  // the drawn position
                must(prediction.set_part(own, its.aim, Aim{seen, fires}));
                const bool is_shielded = client.value_of(other, its.shield.id, 0) > 0;
                saw_shield += fires && is_shielded ? 1 : 0;
            }
            must(prediction.run_tick());
        }
        client.tick(now);
        std::span<const std::byte> out;
        while (client.next_datagram(out))
            up.push_back({tick + ticks_each_way, {out.begin(), out.end()}});
        for (; !up.empty() && up.front().arrives <= tick; up.pop_front())
            server.receive(up.front().bytes, {}, now);
        server.tick(now);
        OutgoingDatagram datagram;
        while (server.next_datagram(datagram))
            down.push_back({tick + ticks_each_way, {datagram.bytes.begin(), datagram.bytes.end()}});
    }
    std::printf(
        "%d shots: %d wounds, %d blocked by a shield (the shooter saw one at %d of them); in the "
        "current world %d would have hit\n",
        game.shots, game.wounds, game.blocked, saw_shield, game.hits_now);
    expect(game.shots > 8, "there are enough shots");
    expect(game.wounds + game.blocked == game.shots, "each shot hits the runner it was aimed at");
    expect(game.blocked > 0 && game.wounds > 0, "some hit a shield");
    expect(game.hits_now == 0, "none would hit in the current world");
}
