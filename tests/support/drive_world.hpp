// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Vehicles with a turret and a jetpack, driven over a bad network with a simulated clock. The
// server and the clients run the same step.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "core/internal_access.hpp"
#include "faulty_network.hpp"
#include "protocol/schema_access.hpp"
#include "purview/prediction.hpp"
#include "purview/server.hpp"
#include "record/io_recorder.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

struct Spot {
    Vec3 at;
};
struct Motion {
    float heading = 0;
    float speed = 0;
};
struct Tank {
    float fuel = 100;
};
struct Shield {
    std::int32_t score = 100;
};
struct Aim {
    float yaw = 0;
};
struct Drive {
    float throttle = 0;
    float steer = 0;
    bool jet = false;
};
struct Turn {
    float rate = 0;
    bool fire = false;
};

struct DriveSchema {
    /// With `by_corrections`, an owner receives its predicted state only as corrections.
    explicit DriveSchema(bool by_corrections = false) {
        auto position_of = schema.component<Spot>("place");
        position = position_of;
        auto motion_of = schema.component<Motion>("motion");
        motion_of.real("heading", &Motion::heading).real("speed", &Motion::speed);
        motion = motion_of;
        auto fuel_of = schema.component<Tank>("tank");
        fuel_of.quantized("fuel", &Tank::fuel, {0, 100, 0.001});
        tank = fuel_of;
        auto shield_of = schema.component<Shield>("shield");
        shield_of.integer("strength", &Shield::score, 0, 1000);
        shield = shield_of;
        auto aim_of = schema.component<Aim>("aim");
        aim_of.real("yaw", &Aim::yaw);
        aim = aim_of;
        struct Xyz {
            float x, y, z;
        };
        for (const char* name : {"x", "y", "z"}) {
            FieldDef field;
            field.name = name;
            field.type = FieldType::quantized;
            field.offset_bytes = static_cast<std::uint16_t>(4 * (*name - 'x'));
            field.size_bytes = 4;
            field.min = -4096;
            field.max = 4096;
            field.step = 1.0 / 256;
            SchemaAccess::add_field(schema, position.id, field);
        }
        schema.set_position(position.id);
        auto drive_of = schema.input<Drive>("drive");
        drive_of.quantized("throttle", &Drive::throttle, {-1, 1, 1.0 / 127})
            .quantized("steer", &Drive::steer, {-1, 1, 1.0 / 127})
            .boolean("jet", &Drive::jet);
        drive = drive_of;
        auto turn_of = schema.input<Turn>("turn");
        turn_of.quantized("rate", &Turn::rate, {-1, 1, 1.0 / 127}).boolean("fire", &Turn::fire);
        turn = turn_of;
        vehicle = schema.kind("vehicle", {position.id, motion.id});
        turret = schema.kind("turret", {position.id, aim.id});
        jetpack = schema.kind("jetpack", {tank.id});
        shell = schema.kind("shield", {shield.id});
        player = schema.kind("player", {position.id, motion.id});
        rider = schema.kind("rider", {position.id});
        walker = schema.kind("walker", {position.id, motion.id});
        for (const KindId kind : {rider, walker})
            schema.edit_kind(kind).relative_position = !by_corrections;
        if (by_corrections) schema.edit_kind(vehicle).leave = Retention::freeze;
        for (const KindId kind : {vehicle, walker})
            schema.set_orientation(kind, motion.id, "heading");
        schema.take_input(vehicle, drive.id);
        schema.take_input(turret, turn.id);
        schema.take_input(player, drive.id);
        schema.take_input(walker, drive.id);
        schema.edit_kind(player).is_inner_root = true;
        for (const ComponentId component : {position.id, motion.id, tank.id, aim.id})
            schema.predict(component);
        for (const ComponentId component : {position.id, motion.id, tank.id, aim.id}) {
            if (by_corrections) schema.audience(component, {AudienceType::unpredicted});
        }
        schema.rewind(position.id);
        schema.rewind(shield.id);
        REQUIRE_MESSAGE(schema.problem().empty(), schema.problem());
    }
    Schema schema;
    Component<Spot> position;
    Component<Motion> motion;
    Component<Tank> tank;
    Component<Shield> shield;
    Component<Aim> aim;
    Input<Drive> drive;
    Input<Turn> turn;
    KindId vehicle{}, turret{}, jetpack{}, shell{}, player{}, rider{}, walker{};
};

/// The game's input step. `bias` causes a wrong prediction.
class DriveStep final : public GroupStep {
  public:
    DriveStep(const DriveSchema& schema, float hz) : s(&schema), dt(1 / hz) {}
    void step(GroupState& group, const GroupInput& command) override {
        ++(command.is_replay() ? replays : steps);
        float wanted_jet = 0;
        for (std::size_t m = 0; m < group.size(); ++m) {
            if (const Turn* turn = command.part(m, s->turn)) {
                if (Aim* aim = group.edit(m, s->aim)) aim->yaw += turn->rate * dt;
            }
            const Drive* drive = command.part(m, s->drive);
            Motion* motion = group.edit(m, s->motion);
            Spot* position = group.edit(m, s->position);
            if (motion == nullptr || position == nullptr) continue;
            if (drive != nullptr) {
                motion->speed += (drive->throttle * 20 - motion->speed) * dt;
                motion->heading += drive->steer * dt;
                wanted_jet += drive->jet ? 1 : 0;
            }
            float boost = 1;
            if (wanted_jet > 0) {
                for (std::size_t j = 0; j < group.size(); ++j) {
                    Tank* tank = group.edit(j, s->tank);
                    if (tank == nullptr || tank->fuel <= 0) continue;
                    tank->fuel = std::max(0.0F, tank->fuel - 10 * dt);
                    boost = 2;
                }
            }
            position->at.x += std::cos(motion->heading) * motion->speed * boost * dt + bias;
            position->at.y += std::sin(motion->heading) * motion->speed * boost * dt;
        }
        bias = 0;
    }
    const DriveSchema* s;
    float dt;
    float bias = 0;  ///< meters, in the next step only
    std::uint64_t steps = 0;
    std::uint64_t replays = 0;
};

class DriveWorld : public Game {
  public:
    struct Player {
        Player(const ClientDef& def, std::uint64_t seed)
            : client(def), up(seed * 2 + 1, {}), down(seed * 2 + 2, {}) {}
        Client client;
        FaultyNetwork up, down;
        std::unique_ptr<DriveStep> step;
        std::unique_ptr<Prediction> prediction;
        ObserverId observer = ObserverId::none;
        double clock = 1;  ///< speed of the client's clock: 1.1 is 10 % fast
        Micros skew = 0;
        Address address;
        /// Sets the parts of one input.
        std::function<void(Player&, InputNumber)> control;
        std::vector<Status> statuses;
        bool is_silent = false;  ///< sends no inputs, not even empty ones
    };

    explicit DriveWorld(std::uint32_t count, Faults faults = {}, std::uint32_t hz = 60,
                        PredictionDef prediction = {}, ServerDef def = {},
                        record::Writer* writer = nullptr, bool by_corrections = false)
        : schema(by_corrections), step_(schema, static_cast<float>(hz)), hz_(hz) {
        def.schema = &schema.schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        def.tick_hz = hz;
        auto made = Server::create(def, *this);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
        recorder = std::make_unique<record::IoRecorder>(*server);
        if (writer != nullptr) recorder->record_to(writer, 1);
        for (std::uint32_t i = 0; i < count; ++i) {
            ClientDef client;
            client.nonce = 100 + i;
            client.name = std::to_string(i);
            client.schema_hash = schema.schema.hash();
            client.digest_every = writer != nullptr ? 1 : 0;
            players.push_back(std::make_unique<Player>(client, i + 1));
            Player& player = *players.back();
            player.address.carrier = Address::Carrier::memory;
            player.address.port = static_cast<std::uint16_t>(i + 1);
            player.step = std::make_unique<DriveStep>(schema, static_cast<float>(hz));
            prediction.schema = &schema.schema;
            prediction.step = player.step.get();
            player.prediction = std::make_unique<Prediction>(
                std::move(Prediction::create(player.client, prediction)).value());
        }
        for (int i = 0; i < 400 && joined_ < count; ++i) tick();
        REQUIRE(joined_ == count);
        for (auto& player : players) player->up.faults = player->down.faults = faults;
    }

    World& world() { return server->world(); }
    Player& player(std::size_t i = 0) { return *players[i]; }
    EntityId spawn(KindId kind, Vec3 at = {}, ObserverId owner = ObserverId::none) {
        const EntityId made = world().spawn({.kind = kind, .position = at, .owner = owner});
        REQUIRE(made != EntityId::none);
        return made;
    }
    EntityId spawn_under(EntityId parent, KindId kind, ObserverId owner, Vec3 at = {}) {
        const EntityId made = spawn(kind, at, owner);
        REQUIRE(world().attach(made, parent) == Status::ok);
        return made;
    }
    GhostId ghost(std::size_t player, EntityId entity) {
        Session* session = internal(*server).sessions.find(players[player]->observer);
        const LocalId slot = session->ghosts.slots().find(entity);
        const GhostId ghost = ghost_id_of(slot);
        return players[player]->client.is_held(ghost) ? ghost : GhostId::none;
    }

    /// Runs one server tick. Clients run in between, with their own clocks.
    void tick() {
        now += static_cast<Micros>(1e6 / (hz_ * pace));
        std::vector<std::byte> bytes;
        for (auto& p : players) {
            while (p->down.receive(bytes, now)) p->client.receive(bytes, now);
            const Micros own = static_cast<Micros>(static_cast<double>(now) * p->clock) + p->skew;
            for (unsigned n = p->is_silent ? 0 : p->prediction->ticks_due(own); n > 0; --n) {
                if (p->control) p->control(*p, p->prediction->newest_input() + 1);
                p->statuses.push_back(p->prediction->run_tick());
            }
            if (after_client) after_client(*p, own);
            p->client.tick(now);
            std::span<const std::byte> out;
            while (p->client.next_datagram(out)) p->up.send(out, now);
            while (p->up.receive(bytes, now)) recorder->receive(bytes, p->address, now);
        }
        recorder->tick(now);
        OutgoingDatagram out;
        while (recorder->next_datagram(out)) players[out.to.port - 1U]->down.send(out.bytes, now);
    }
    void run(int ticks) {
        for (int i = 0; i < ticks; ++i) tick();
    }

    std::optional<EntityId> on_join(Server&, ObserverId observer,
                                    const JoinRequest& request) override {
        players[static_cast<std::size_t>(request.name.front() - '0')]->observer = observer;
        ++joined_;
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server& its, Tick tick) override {
        if (when_tick) when_tick(its, tick);
    }
    void on_input(Server& its, ObserverId observer, GroupState& group,
                  const GroupInput& command) override {
        if (when_input) when_input(its, observer, group, command);
        step_.step(group, command);
    }

    DriveSchema schema;
    std::unique_ptr<Server> server;
    std::unique_ptr<record::IoRecorder> recorder;  ///< records the I/O of the server
    std::vector<std::unique_ptr<Player>> players;
    std::function<void(Server&, Tick)> when_tick;
    std::function<void(Server&, ObserverId, GroupState&, const GroupInput&)> when_input;
    std::function<void(Player&, Micros)> after_client;
    Micros now = 1'000'000;
    double pace = 1;  ///< speed of the server: 1 is its nominal tick rate

  private:
    DriveStep step_;
    std::uint32_t hz_;
    std::uint32_t joined_ = 0;
};

}  // namespace purview::test
