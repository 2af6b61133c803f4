// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "vale_client.h"

#include <vector>

#include "pilot.hpp"
#include "purview/c_client.hpp"

using purview::Micros;

struct vale_pilot {
    std::unique_ptr<vale::Pilot> pilot;
    vale_pilot_state state{};
    std::vector<std::uint8_t> room = {};
};

namespace {

Micros micros_of(double ms) {
    return ms > 0 ? static_cast<Micros>(ms * 1000) : 0;
}

}  // namespace

vale_pilot* vale_pilot_create(pv_client* client, uint32_t predicts) {
    purview::Client* its = purview::client_of(client);
    if (its == nullptr) return nullptr;
    auto pilot = vale::Pilot::create(*its, predicts != 0);
    return pilot == nullptr ? nullptr : new vale_pilot{std::move(pilot)};
}

void vale_pilot_destroy(vale_pilot* pilot) {
    delete pilot;
}

uint8_t* vale_pilot_room(vale_pilot* pilot, uint32_t bytes) {
    if (pilot == nullptr || bytes > 1U << 24) return nullptr;
    pilot->room.resize(bytes);
    return pilot->room.data();
}

void vale_pilot_ground(vale_pilot* pilot, uint32_t width, uint32_t height, float tile_m,
                       const uint8_t* blocked) {
    if (pilot == nullptr || blocked == nullptr || width == 0 || height == 0 || !(tile_m > 0))
        return;
    pilot->pilot->set_ground(
        {width, height, tile_m, {blocked, blocked + std::size_t{width} * height}});
}

uint32_t vale_pilot_turn(vale_pilot* pilot, double now_ms, float walk_x, float walk_y,
                         float throttle, float steering, float target_x, float target_y,
                         uint32_t fires) {
    if (pilot == nullptr) return 0;
    return pilot->pilot->turn(
        {walk_x, walk_y, throttle, steering, {target_x, target_y, 0}, fires != 0},
        micros_of(now_ms));
}

void vale_pilot_position(vale_pilot* pilot, pv_client* client, uint32_t count, double now_ms) {
    if (pilot == nullptr || client == nullptr) return;
    auto* instances = const_cast<pv_instance*>(pv_client_instances(client));
    for (uint32_t i = 0; i < count; ++i) {
        const purview::Vec3 position =
            pilot->pilot->position_of(purview::GhostId{instances[i].ghost + 1}, micros_of(now_ms));
        instances[i].x = position.x;
        instances[i].y = position.y;
    }
}

const vale_pilot_state* vale_pilot_look(vale_pilot* pilot) {
    if (pilot == nullptr) return nullptr;
    const vale::Pilot& its = *pilot->pilot;
    const purview::PredictionStats stats = its.prediction().stats();
    vale_pilot_state& state = pilot->state;
    state.corrections = static_cast<double>(stats.corrections);
    state.invisible = static_cast<double>(stats.invisible);
    state.replayed = static_cast<double>(stats.replayed_inputs);
    state.largest_error_m = stats.largest_error_m;
    state.last_error_m = stats.last_error_m;
    state.starved = static_cast<double>(stats.starved);
    state.waiting = stats.waiting;
    state.rate = stats.rate;
    const bool has_cart = its.cart() != purview::GhostId::none;
    state.cart = index_of(its.cart());  // same value as pv_instance::ghost
    state.own_ghost = index_of(has_cart ? its.cart() : its.player());
    if (const vale::Engine* engine = its.engine()) {
        state.speed_mps = engine->speed_mps;
        state.heading = engine->heading;
    }
    if (const vale::Gun* gun = its.gun()) {
        state.target_x = gun->target.x;
        state.target_y = gun->target.y;
        state.cooldown = gun->cooldown;
        state.rounds = gun->rounds;
    }
    state.newest_input = stats.newest_input;
    return &state;
}
