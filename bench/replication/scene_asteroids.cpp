// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 250 bodies in a box at 30 Hz. The motion, as described in docs/performance-replication.md: a body
// moves straight and turns at a constant rate. At a wall it bounces. Every second a quarter of all
// bodies are hit, one by one, and continue with another speed and spin. Positions have a step of
// 0.01, orientations 0.001 rad, and both are sent in every tick. 28 bytes are added per datagram.
#include <cmath>
#include <optional>

#include "protocol/schema_access.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t bodies = 250, tick_hz = 30, under_udp_bytes = 28;
constexpr float half_m = 50, speed_mps = 8;
constexpr double pi = 3.14159265358979;

struct Position {
    Vec3 at;
};
struct Turn {
    float yaw = 0, pitch = 0, roll = 0;
};

struct AsteroidSchema {
    AsteroidSchema() {
        position = schema.component<Position>("place");
        const char* names[] = {"x", "y", "z"};
        for (std::uint16_t i = 0; i < 3; ++i) {
            FieldDef f{names[i], FieldType::quantized, 0, 4, true, -half_m, half_m, 0.01, 0};
            f.offset_bytes = static_cast<std::uint16_t>(4 * i);
            SchemaAccess::add_field(schema, position.id, f);
            schema.extrapolate(position.id, f.name);
        }
        const NumberRange angle{-pi, pi, 0.001};
        turn = schema.component<Turn>("turn")
                   .quantized("yaw", &Turn::yaw, angle)
                   .quantized("pitch", &Turn::pitch, angle)
                   .quantized("roll", &Turn::roll, angle)
                   .extrapolated();
        schema.set_position(position.id);
        body = schema.kind("body", {position.id, turn.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Turn> turn;
    KindId body{};
};

class Asteroids {
  public:
    Asteroids() : random_(17) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.tick_hz = tick_hz;
        def.server.rules.min = {-half_m, -half_m, -half_m};
        def.server.rules.max = {half_m, half_m, half_m};
        def.server.rules.entities_expected = bodies;
        def.server.entities_max = 1024;
        def.clients = def.watchers = 1;
        def.ack_ticks = 3;
        Script script;
        script.populate = [this](World& world) {
            for (std::uint32_t i = 0; i < bodies; ++i) {
                Flight flight;
                hit(flight);
                const Vec3 at{within(half_m), within(half_m), within(half_m)};
                flight.entity = world.spawn({.kind = schema_.body, .position = at});
                flights_.push_back(flight);
            }
        };
        script.joined = [](Server&, ObserverId, std::uint32_t) {};
        script.simulate = [this](Server& server, Tick) { fly(server.world()); };
        script.relevant = [](const World& world, std::uint32_t) { return all_of(world); };
        stage.emplace(def, std::move(script));
        meter.emplace(schema_.schema);
        stage->on_datagram = [this](std::span<const std::byte> datagram) { meter->read(datagram); };
    }

    std::optional<Stage> stage;
    std::optional<WireMeter> meter;
    std::uint64_t changes = 0;  ///< speed changes

  private:
    struct Flight {
        EntityId entity{};
        Vec3 speed, spin;
    };
    float within(float bound) { return random_.between(-bound, bound); }
    void hit(Flight& flight) {
        flight.speed = {within(speed_mps), within(speed_mps), within(speed_mps)};
        flight.spin = {within(1.5F), within(1.5F), within(1.5F)};
    }
    void fly(World& world) {
        for (Flight& flight : flights_) {
            if (random_.chance(0.25F / tick_hz)) {
                hit(flight);
                ++changes;
            }
            Vec3 at = world.position_of(flight.entity);
            Turn* turn = world.edit(flight.entity, schema_.turn);
            float* const positions[] = {&at.x, &at.y, &at.z};
            float* const speeds[] = {&flight.speed.x, &flight.speed.y, &flight.speed.z};
            float* const angles[] = {&turn->yaw, &turn->pitch, &turn->roll};
            const float spins[] = {flight.spin.x, flight.spin.y, flight.spin.z};
            for (int i = 0; i < 3; ++i) {
                *positions[i] += *speeds[i] / tick_hz;
                if (std::abs(*positions[i]) > half_m) {
                    *positions[i] = std::copysign(half_m, *positions[i]);
                    *speeds[i] = -*speeds[i];
                    ++changes;
                }
                *angles[i] =
                    static_cast<float>(std::remainder(*angles[i] + spins[i] / tick_hz, 2 * pi));
            }
            (void)world.move(flight.entity, at);
        }
    }

    AsteroidSchema schema_;
    SplitMix random_;
    std::vector<Flight> flights_;
};

}  // namespace

void scene_asteroids(Report& report, const Options& options) {
    Asteroids scene;
    report_progress("asteroids", "joining");
    if (!scene.stage->join()) {
        report.could_not_run("asteroids, joined", "the client did not join");
        return;
    }
    for (int i = 0; i < 60; ++i) scene.stage->step();
    scene.meter->reset();
    scene.changes = 0;
    const std::uint32_t rounds = 3, ticks = ticks_of(options, 10 * tick_hz, 40 * tick_hz);
    Meter ours;
    Checked checked;
    for (std::uint32_t r = 0; r < rounds; ++r) {
        report_progress("asteroids", "round " + std::to_string(r + 1) + " of 3");
        ours.begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {
            ours.add(scene.stage->step());
            checked += check_clients(*scene.stage);
        }
    }
    ours.add_bits(scene.meter->bits());
    Row row = ours.row("asteroids", "purview", 1);
    row.checked = checked;
    const double per_tick = row.bytes + row.datagrams * under_udp_bytes;
    row.more["kb_s"] = per_tick * tick_hz / 1000;
    row.more["bytes_per_body"] = per_tick / bodies;
    row.more["speed_changes_percent_s"] = static_cast<double>(scene.changes) / bodies /
                                          (static_cast<double>(row.ticks) / tick_hz) * 100;
    add_rows(report, {row});
}

void figures_of_asteroids(Report& report) {
    const Row* ours = report.find("asteroids", "purview");
    if (ours == nullptr) return;
    if (ours->more.at("speed_changes_percent_s") < 20) {
        report.could_not_run("asteroids, kB/s", "too few speed changes");
    } else {
        report.count_at_most("asteroids, kB/s", ours->more.at("kb_s"), 30, 15);
    }
    report.count_at_most("asteroids, mismatches", static_cast<double>(ours->checked.wrong), 0, 0);
}

}  // namespace purview::bench
