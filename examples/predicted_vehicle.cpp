// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A vehicle with client-side prediction: one step function for the server and the client, inputs
// that arrive before their server tick, and a correction after an event that the client could not
// predict.
//
// Note: Game::on_input and the client call the same step function, and nothing else moves the
// vehicle. The latency here is 5 ticks in each direction.
#include <deque>
#include <vector>

#include "example.hpp"
#include "purview/prediction.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

constexpr std::uint32_t hz = 60;

struct Position {
    Vec3 at;
};
struct Drive {
    float throttle = 0;
};

struct World1D {
    World1D() {
        position = schema.component<Position>("place").quantized({"x"}, &Position::at,
                                                                 {-1000, 1000, 0.01});
        schema.set_position(position.id);
        vehicle = schema.kind("vehicle", {position.id});
        // Input fields are declared like component fields, but without references.
        drive = schema.input<Drive>("drive").quantized("throttle", &Drive::throttle, {-1, 1, 0.01});
        schema.take_input(vehicle, drive.id);  // entities of this kind have this input
        schema.predict(position.id);           // determined by the owner's inputs alone
    }
    Schema schema;
    Component<Position> position;
    Input<Drive> drive;
    KindId vehicle{};
};

/// The movement rule, used by both sides.
struct Step final : GroupStep {
    explicit Step(const World1D& its) : world(&its) {}
    void step(GroupState& group, const GroupInput& command) override {
        for (std::size_t m = 0; m < group.size(); ++m) {
            const Drive* drive = command.part(m, world->drive);   // null: no input
            Position* position = group.edit(m, world->position);  // null: not owned
            if (drive != nullptr && position != nullptr)
                position->at.x += drive->throttle * 10 / hz;
        }
    }
    const World1D* world;
};

struct Driving final : Game {
    explicit Driving(const World1D& its) : world(&its), step(its) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        vehicle = server.world().spawn({.kind = world->vehicle, .owner = observer});
        return vehicle;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
    void on_input(Server&, ObserverId, GroupState& group, const GroupInput& command) override {
        step.step(group, command);
    }
    const World1D* world;
    Step step;
    EntityId vehicle = EntityId::none;
};

/// A connection with a latency of five ticks.
class Link {
  public:
    void send(std::span<const std::byte> bytes, int tick) {
        in_flight_.push_back({tick + 5, {bytes.begin(), bytes.end()}});
    }
    bool receive(std::vector<std::byte>& out, int tick) {
        if (in_flight_.empty() || in_flight_.front().first > tick) return false;
        out = std::move(in_flight_.front().second);
        in_flight_.pop_front();
        return true;
    }

  private:
    std::deque<std::pair<int, std::vector<std::byte>>> in_flight_;
};

}  // namespace

int main() {
    const World1D its;
    Driving game(its);
    ServerDef def;
    def.schema = &its.schema;
    def.tick_hz = hz;
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // no other process uses this connection
    Server server = Server::create(def, game).value();
    ClientDef client_def;
    client_def.nonce = 1;  // in production: 64 random bits from the system
    Client client(client_def);
    Step step(its);
    Prediction prediction =
        Prediction::create(client, {.schema = &its.schema, .step = &step}).value();
    Link up, down;
    GhostId vehicle = GhostId::none;  // the client's own vehicle
    const auto run = [&](int from, int to) {
        for (int tick = from; tick < to; ++tick) {
            const Micros now = 1'000'000 + static_cast<Micros>(tick) * (1'000'000 / hz);
            std::vector<std::byte> bytes;
            while (down.receive(bytes, tick)) client.receive(bytes, now);
            for (const ClientEvent& event : client.events())
                if (event.is_enter() && client.is_owned(event.ghost)) vehicle = event.ghost;
            client.clear_events();
            for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
                if (vehicle != GhostId::none)
                    (void)prediction.set_part(vehicle, its.drive, Drive{1});
                if (prediction.run_tick() == Status::capacity) break;
            }
            client.tick(now);
            std::span<const std::byte> out;
            while (client.next_datagram(out)) up.send(out, tick);
            while (up.receive(bytes, tick)) server.receive(bytes, {}, now);
            server.tick(now);
            OutgoingDatagram datagram;
            while (server.next_datagram(datagram)) down.send(datagram.bytes, tick);
        }
    };
    run(0, 180);
    const float mine = prediction.get(vehicle, its.position)->at.x;
    const float servers = server.world().position_of(game.vehicle).x;
    std::printf("the driver is at %.2f m, the server at %.2f m, corrections %llu\n",
                static_cast<double>(mine), static_cast<double>(servers),
                static_cast<unsigned long long>(prediction.stats().corrections));
    expect(mine > servers + 0.8F, "the client is ahead by the inputs in flight");
    expect(prediction.stats().corrections == 0, "the client was never corrected");

    must(server.world().move(game.vehicle, {servers + 3, 0, 0}));  // another vehicle rams it
    run(180, 240);
    std::printf("rammed by 3 m: corrections %llu, largest error %.2f m\n",
                static_cast<unsigned long long>(prediction.stats().corrections),
                static_cast<double>(prediction.stats().largest_error_m));
    expect(prediction.stats().corrections == 1, "the ram causes one correction");
    expect(prediction.stats().largest_error_m > 2.9F, "the client could not predict the ram");

    run(240, 300);
    const float ahead =
        prediction.get(vehicle, its.position)->at.x - server.world().position_of(game.vehicle).x;
    std::printf("a second later: %.2f m ahead, corrections %llu\n", static_cast<double>(ahead),
                static_cast<unsigned long long>(prediction.stats().corrections));
    expect(prediction.stats().corrections == 1, "there is no further correction");
    expect(ahead > 0.8F && ahead < 3, "the client is ahead again");
}
