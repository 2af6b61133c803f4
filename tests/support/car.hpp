// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A vehicle with a turret and a jetpack, driven by a player.
#pragma once

#include "drive_world.hpp"

namespace purview::test {

/// 150 ms round trip, 20 ms of jitter, 5 % loss in either direction.
inline constexpr Faults bad_network{.loss = 0.05F, .delay_us = 65'000, .jitter_us = 20'000};

struct Car {
    EntityId vehicle, turret, jetpack;
};

inline Car make_car(DriveWorld& world, std::size_t player, Vec3 at = {}) {
    const ObserverId owner = world.player(player).observer;
    Car car{};
    car.vehicle = world.spawn(world.schema.vehicle, at, owner);
    car.turret = world.spawn_under(car.vehicle, world.schema.turret, owner, at);
    car.jetpack = world.spawn_under(car.vehicle, world.schema.jetpack, owner);
    world.world().edit(car.jetpack, world.schema.tank)->fuel = 100;
    return car;
}

/// Drives straight, then curves to both sides, with a turning turret and bursts of the jetpack.
inline void drive(DriveWorld& world, DriveWorld::Player& player, const Car& car, InputNumber tick) {
    const std::size_t which_client = static_cast<std::size_t>(player.address.port - 1);
    const GhostId vehicle = world.ghost(which_client, car.vehicle);
    if (vehicle == GhostId::none) return;
    Drive input;
    input.throttle = 0.8F;
    input.steer = tick % 600 < 300 ? 0 : (tick % 600 < 450 ? 0.7F : -0.9F);
    input.jet = tick % 200 < 40;
    (void)player.prediction->set_part(vehicle, world.schema.drive, input);
    const GhostId turret = world.ghost(which_client, car.turret);
    if (turret != GhostId::none)
        (void)player.prediction->set_part(turret, world.schema.turn, Turn{0.5F});
}

}  // namespace purview::test
