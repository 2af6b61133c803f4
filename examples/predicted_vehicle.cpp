// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A vehicle that its driver predicts: one step function for the server and the client, commands
// that go ahead, and a correction when the server knows of something that the client did not.
//
// Notice: Game::input and the client call the same step, and nothing else moves the vehicle.
// Between the two, here, are 5 ticks each way.
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
        // Fields as of a component, no references.
        drive = schema.input<Drive>("drive").quantized("throttle", &Drive::throttle, {-1, 1, 0.01});
        schema.take_input(vehicle, drive.id);  // entities of this kind have such a part
        schema.predict(position.id);           // follows from the owner's commands alone
    }
    Schema schema;
    Component<Position> position;
    Input<Drive> drive;
    KindId vehicle{};
};

/// The rule of the game, once.
struct Step final : GroupStep {
    explicit Step(const World1D& its) : world(&its) {}
    void step(GroupState& group, const GroupInput& command) override {
        for (std::size_t m = 0; m < group.size(); ++m) {
            const Drive* drive = command.part(m, world->drive);   // null: no part
            Position* position = group.edit(m, world->position);  // null: not the owner's
            if (drive != nullptr && position != nullptr)
                position->at.x += drive->throttle * 10 / hz;
        }
    }
    const World1D* world;
};

struct Driving final : Game {
    explicit Driving(const World1D& its) : world(&its), step(its) {}
    bool joined(Server& server, ObserverId observer, const JoinRequest&) override {
        vehicle = server.world().spawn(world->vehicle).value();
        return server.world().set_owner(vehicle, observer) == Status::ok;
    }
    void left(Server&, ObserverId) override {}
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}
    void input(Server&, ObserverId, GroupState& group, const GroupInput& command) override {
        step.step(group, command);
    }
    const World1D* world;
    Step step;
    EntityId vehicle = EntityId::none;
};

/// Five ticks long.
class Line {
  public:
    void send(std::span<const std::byte> bytes, int tick) {
        flights_.push_back({tick + 5, {bytes.begin(), bytes.end()}});
    }
    bool receive(std::vector<std::byte>& out, int tick) {
        if (flights_.empty() || flights_.front().first > tick) return false;
        out = std::move(flights_.front().second);
        flights_.pop_front();
        return true;
    }

  private:
    std::deque<std::pair<int, std::vector<std::byte>>> flights_;
};

}  // namespace

int main() {
    const World1D its;
    Driving game(its);
    ServerDef def;
    def.schema = &its.schema;
    def.tick_hz = hz;
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // nobody else is on this line
    Server server = Server::create(def, game).value();
    ClientDef client_def;
    client_def.nonce = 1;  // nobody else is on this line; elsewhere 64 random bits of the system's
    Client client(client_def);
    Step step(its);
    Prediction prediction =
        Prediction::create(client, {.schema = &its.schema, .step = &step}).value();
    Line up, down;
    GhostId vehicle = no_ghost;  // ours
    const auto run = [&](int from, int to) {
        for (int tick = from; tick < to; ++tick) {
            const Micros now = 1'000'000 + static_cast<Micros>(tick) * (1'000'000 / hz);
            std::vector<std::byte> bytes;
            while (down.receive(bytes, tick)) client.receive(bytes, now);
            for (const ClientEvent& event : client.events())
                if (event.is_enter() && client.is_owned(event.ghost)) vehicle = event.ghost;
            client.clear_events();
            for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
                if (vehicle != no_ghost) (void)prediction.set_part(vehicle, its.drive, Drive{1});
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
    expect(mine > servers + 0.8F, "the client is ahead by what is on its way");
    expect(prediction.stats().corrections == 0, "and was never put right");

    must(server.world().move(game.vehicle, {servers + 3, 0, 0}));  // somebody rammed it
    run(180, 240);
    std::printf("rammed by 3 m: corrections %llu, off by %.2f m\n",
                static_cast<unsigned long long>(prediction.stats().corrections),
                static_cast<double>(prediction.stats().largest_error_m));
    expect(prediction.stats().corrections == 1, "one correction");
    expect(prediction.stats().largest_error_m > 2.9F, "of what the client could not know");

    run(240, 300);
    const float ahead =
        prediction.get(vehicle, its.position)->at.x - server.world().position_of(game.vehicle).x;
    std::printf("a second later: %.2f m ahead, corrections %llu\n", static_cast<double>(ahead),
                static_cast<unsigned long long>(prediction.stats().corrections));
    expect(prediction.stats().corrections == 1, "right again from then on");
    expect(ahead > 0.8F && ahead < 3, "and ahead by what is on its way");
}
