// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Records a run that covers all wire forms of inputs. PURVIEW_RECORDING may name the output file:
// the second program of tests/conformance reads it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/internal_access.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "support/drive_world.hpp"

using namespace purview;
using namespace purview::test;

namespace {

constexpr std::size_t drivers = 3;
constexpr Faults recorded_network{
    .loss = 0.08F, .duplicate = 0.02F, .delay_us = 40'000, .jitter_us = 15'000};

record::Beginning beginning() {
    const DriveSchema s(true);
    record::Beginning made;
    made.program = "test";
    made.schema_hash = s.schema.hash();
    made.tick_hz = 60;
    return made;
}

/// Each player drives a vehicle with a turret and a jetpack. Persons attach and detach. Convoys
/// spawn and despawn while their parts are in flight. Pushes that clients cannot predict cause
/// corrections.
class Traffic {
  public:
    explicit Traffic(DriveWorld& world) : w(world), random_(17) {
        for (std::size_t i = 0; i < drivers; ++i) {
            const ObserverId owner = w.player(i).observer;
            const Vec3 at{static_cast<float>(i) * 50, 0, 0};
            Car& car = cars_[i];
            car.vehicle = w.spawn(w.schema.vehicle, at, owner);
            car.turret = w.spawn_under(car.vehicle, w.schema.turret, owner, at);
            car.jetpack = w.spawn_under(car.vehicle, w.schema.jetpack, owner);
            car.person = w.spawn(w.schema.player, at, owner);
            w.player(i).control = [this, i](auto& player, InputNumber tick) {
                steer(player, i, tick);
            };
        }
        w.when_tick = [this](Server&, Tick tick) { simulate(tick); };
    }
    bool idle = false;

  private:
    struct Car {
        EntityId vehicle, turret, jetpack, person;
    };

    void steer(DriveWorld::Player& player, std::size_t index, InputNumber tick) {
        const Drive drive{0.8F, tick % 90 < 45 ? 0.3F : -0.4F, tick % 100 < 20};
        const auto set = [&](EntityId entity, auto input, const auto& value) {
            const GhostId ghost = w.ghost(index, entity);
            if (ghost != GhostId::none) (void)player.prediction->set_part(ghost, input, value);
        };
        set(cars_[index].vehicle, w.schema.drive, drive);
        set(cars_[index].turret, w.schema.turn, Turn{0.5F, tick % 30 == 0});
        set(cars_[index].person, w.schema.drive, drive);
        if (tick % 150 == 77) player.step->bias = 0.5F;
    }

    void simulate(Tick tick) {
        if (idle || tick < 80) return;
        World& world = w.world();
        for (std::size_t i = 0; i < drivers; ++i) {
            const Car& car = cars_[i];
            const EntityId bus = cars_[(i + 1) % drivers].vehicle;
            if (tick % 80 == 10 + i) CHECK(world.attach(car.person, bus) == Status::ok);
            if (tick % 80 == 30 + i) {  // after the attached persons in the order of siblings
                CHECK(world.detach(car.jetpack) == Status::ok);
                CHECK(world.attach(car.jetpack, car.vehicle) == Status::ok);
            }
            if (tick % 80 == 50 + i) CHECK(world.detach(car.person) == Status::ok);
            if (tick % 110 == 60 + i)
                CHECK(w.server->set_in_input(car.turret, tick % 220 < 110) == Status::ok);
            if (tick % 130 == 30 + 9 * i) {
                Vec3 at = world.position_of(car.vehicle);
                at.x += 2;
                CHECK(world.move(car.vehicle, at) == Status::ok);
            }
        }
        live_convoys(world, tick);
    }

    /// Attaches each part before the previous one has arrived.
    void live_convoys(World& world, Tick tick) {
        const Vec3 at{random_.between(-100, 100), random_.between(-100, 100), 0};
        if (tick % 40 == 0)
            convoy_.assign(1, world.spawn({.kind = w.schema.vehicle, .position = at}));
        if (tick == 95) {  // too large for one packet
            large_ = world.spawn({.kind = w.schema.vehicle, .position = at});
            for (int i = 0; i < 150; ++i)
                CHECK(world.attach(world.spawn({.kind = w.schema.turret, .position = at}),
                                   large_) == Status::ok);
        }
        if (convoy_.empty()) return;
        if (tick % 40 >= 15 && tick % 40 < 35 && tick % 2 == 0) {
            const EntityId part = world.spawn({.kind = w.schema.turret, .position = at});
            const auto depth = random_.below(2) * (convoy_.size() > 8 ? 1U : 0U);
            CHECK(world.attach(part, convoy_[depth]) == Status::ok);
            convoy_.push_back(part);
        }
        if (tick % 40 != 38) return;
        for (auto one = convoy_.rbegin(); one != convoy_.rend(); ++one)
            CHECK(world.despawn(*one) == Status::ok);
        convoy_.clear();
    }

    DriveWorld& w;
    SplitMix random_;
    Car cars_[drivers];
    std::vector<EntityId> convoy_;
    EntityId large_ = EntityId::none;
};

}  // namespace

TEST_CASE("prediction: a recorded run has inputs, corrections and passengers (O16 O18)") {
    std::stringstream memory;
    std::ofstream file;
    if (const char* path = std::getenv("PURVIEW_RECORDING"))
        file.open(path, std::ios::binary | std::ios::trunc);
    record::Writer writer(file.is_open() ? static_cast<std::ostream&>(file) : memory, beginning());
    ServerDef def;
    def.group_members_max = 255;
    def.budget_bytes_per_tick = 20'000;
    DriveWorld world(drivers, recorded_network, 60, {}, def, &writer, true);
    Traffic traffic(world);
    world.run(900);
    traffic.idle = true;
    for (auto& player : world.players) {
        player->up.faults = player->down.faults = {};
        player->control = {};
    }
    world.run(60);
    CHECK(writer.finish());
    const InputCounters& counters = internal(*world.server).inputs.counters();
    MESSAGE("consumed " << counters.consumed << ", corrections " << counters.corrections
                        << ", parts " << counters.parts << ", wrong " << counters.wrong_input);
    CHECK(counters.consumed > 2'500);
    CHECK(counters.corrections > 30);
    for (auto& player : world.players) {
        CHECK(player->client.stats().packets_malformed == 0);
        CHECK(player->prediction->stats().corrections > 5);
        CHECK(player->down.counts.lost > 30);
    }
}
