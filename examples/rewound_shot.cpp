// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A shot meets what its shooter saw. Somebody runs by; the shooter aims at where he is drawn, which
// on the server is a quarter of a second ago, and the server looks there: at his place then, and at
// the shield that he had then.
//
// Notice: the shooter says where he aims, and never whom he hit. When he looked, his commands say,
// and the server cuts it to what he can have seen.
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
    std::uint8_t score = 0;
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
        shield = schema.component<Shield>("shield").integer("strength", &Shield::score, 0, 9);
        soldier = schema.kind("soldier", {position.id, shield.id});
        aim = schema.input<Aim>("aim")
                  .quantized({"x", "y"}, &Aim::at, {-200, 200, 0.01})
                  .boolean("fires", &Aim::fires);
        schema.take_input(soldier, aim.id);
        schema.predict(position.id);
        schema.rewind(position.id);  // remembered for a second
        schema.rewind(shield.id);
    }
    Schema schema;
    Component<Position> position;
    Component<Shield> shield;
    Input<Aim> aim;
    KindId soldier{};
};

/// The runner is the server's; the shooter's own soldier stands at the origin.
struct Range final : Game {
    explicit Range(const Shared& its) : shared(&its) {}
    bool joined(Server& server, ObserverId observer, const JoinRequest&) override {
        const EntityId shooter = server.world().spawn(shared->soldier).value();
        runner = server.world().spawn(shared->soldier, {-50, 30, 0}).value();
        return server.world().set_owner(shooter, observer) == Status::ok;
    }
    void left(Server&, ObserverId) override {}
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server& server, Tick tick) override {
        if (runner == EntityId::none) return;
        Vec3 to = server.world().position_of(runner);
        to.x += 10.0F / hz;
        must(server.world().move(runner, to));
        // A shield, every other second.
        server.world().edit(runner, shared->shield)->score = tick / hz % 2 == 0 ? 5 : 0;
    }
    void input(Server& server, ObserverId observer, GroupState& group,
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
        // Null: he did not see it.
        const Shield* shield = view->get(hits[0].entity, shared->shield);
        if (shield != nullptr) ++(shield->score > 0 ? held_off : wounds);
    }
    const Shared* shared;
    EntityId runner = EntityId::none;
    int shots = 0, hits_now = 0, held_off = 0, wounds = 0;
};

}  // namespace

int main() {
    const Shared its;
    Range game(its);
    ServerDef def;
    def.schema = &its.schema;
    def.tick_hz = hz;
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // nobody else is on this line
    Server server = Server::create(def, game).value();
    ClientDef client_def;
    client_def.nonce = 1;  // nobody else is on this line; elsewhere 64 random bits of the system's
    Client client(client_def);
    Prediction prediction = Prediction::create(client, {.schema = &its.schema}).value();
    struct Flight {
        int arrives;
        std::vector<std::byte> bytes;
    };
    std::deque<Flight> up, down;
    GhostId own = no_ghost, other = no_ghost;
    int saw_shield = 0;
    for (int tick = 0; tick < 6 * static_cast<int>(hz); ++tick) {
        const Micros now = 1'000'000 + static_cast<Micros>(tick) * (1'000'000 / hz);
        for (; !down.empty() && down.front().arrives <= tick; down.pop_front())
            client.receive(down.front().bytes, now);
        for (const ClientEvent& event : client.events())
            if (event.is_enter()) (client.is_owned(event.ghost) ? own : other) = event.ghost;
        client.clear_events();
        for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
            if (own != no_ghost && other != no_ghost) {
                const bool fires = tick % 20 == 0 && tick > 2 * static_cast<int>(hz);
                const Vec3 seen = prediction.position_of(other, now);  // where he is drawn
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
        "%d shots: %d wounds, %d held off by a shield (the shooter saw one at %d of them); of the "
        "world "
        "of now %d would have hit\n",
        game.shots, game.wounds, game.held_off, saw_shield, game.hits_now);
    expect(game.shots > 8, "some shots");
    expect(game.wounds + game.held_off == game.shots, "each meets whom the shooter aimed at");
    expect(game.held_off > 0 && game.wounds > 0, "some meet a shield");
    expect(game.hits_now == 0, "where he is by now, none would have");
}
