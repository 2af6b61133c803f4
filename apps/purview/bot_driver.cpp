// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bot_driver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "vale.hpp"

namespace purview::app {

namespace {

constexpr float aim_range_m = vale::shot_range_m * 0.8F;
/// Slower ghosts count as idle and are not targets.
constexpr float target_speed_mps = 1;
constexpr Micros call_every_us = 1'000'000;

float distance_between(Vec3 a, Vec3 b) {
    return std::hypot(a.x - b.x, a.y - b.y);
}

}  // namespace

GhostId BotDriver::nearest_free_cart(const Client& client, Vec3 from) const {
    std::set<GhostId> taken;
    client.for_each([&](GhostId ghost) {
        if (client.kind_of(ghost) == pilot_->schema().player) taken.insert(client.parent_of(ghost));
    });
    GhostId nearest = GhostId::none;
    float least = 1e9F;
    client.for_each([&](GhostId ghost) {
        if (client.kind_of(ghost) != pilot_->schema().cart) return;
        const float distance =
            distance_between(client.position_of(ghost, client.newest_tick()), from);
        if (taken.count(ghost) != 0 || distance >= least) return;
        nearest = ghost;
        least = distance;
    });
    return nearest;
}

void BotDriver::walk_to_cart(Client& client, Micros now, vale::Controls& controls) {
    if (pilot_->player() == GhostId::none) return;
    const Vec3 at = pilot_->position_of(pilot_->player(), now);
    const GhostId cart = nearest_free_cart(client, at);
    if (cart == GhostId::none) {  // walks on, because a cart may come into range
        controls.walk_x = std::cos(steering_ * 3);
        controls.walk_y = std::sin(steering_ * 3);
        return;
    }
    const Vec3 goal = client.position_of(cart, client.newest_tick());
    const float distance = distance_between(at, goal);
    if (distance > 1) {
        controls.walk_x = (goal.x - at.x) / distance;
        controls.walk_y = (goal.y - at.y) / distance;
    }
    if (distance > vale::board_range_m * 0.7F || now < next_call_) return;
    next_call_ = now + call_every_us;
    const std::array command{static_cast<std::byte>(vale::CommandType::board)};
    (void)client.send_command(command);
}

/// Drives curves of some seconds and aims the gun at moving targets.
void BotDriver::drive(Client& client, Micros now, vale::Controls& controls) {
    controls.throttle = 0.8F;
    controls.steering = steering_;
    const Vec3 at = pilot_->position_of(pilot_->cart(), now);
    float least = aim_range_m;
    client.for_each([&](GhostId ghost) {
        if (client.parent_of(ghost) != GhostId::none) return;
        const KindId kind = client.kind_of(ghost);
        const bool has_body = client.schema()->kinds()[index_of(kind)].components.size() == 2 &&
                              kind != pilot_->schema().cart && kind != pilot_->schema().turret;
        if (!has_body) return;
        const Vec3 there = pilot_->position_of(ghost, now);
        Seen& before = seen_[ghost];
        const float seconds = static_cast<float>(now - before.at) / 1e6F;
        const bool moves =
            seconds < 0.2F && distance_between(there, before.position) > target_speed_mps * seconds;
        before = {there, now};
        const float distance = distance_between(there, at);
        if (!moves || distance >= least || distance < 2) return;
        least = distance;
        controls.target = there;
        controls.fires = true;
    });
}

void BotDriver::take_rpcs(Client& client) {
    ReceivedRpc received;
    while (client.next_rpc(received)) {
        if (pilot_ == nullptr || received.ghost != pilot_->cart() ||
            received.ghost == GhostId::none || received.rpc != pilot_->schema().shot.id) {
            continue;
        }
        // The schema arrives only with the connection, so the bot decodes values by index.
        const std::size_t hits = received.values.size() - 2;
        ++counts_.shots;
        counts_.hits += received.number(hits) != 0 ? 1 : 0;
        counts_.hits_present += received.number(hits + 1) != 0 ? 1 : 0;
    }
}

void BotDriver::turn(Client& client, Micros now) {
    if (client.state() != ClientState::joined) return;
    if (pilot_ == nullptr) {
        pilot_ = vale::Pilot::create(client, true);
        if (pilot_ == nullptr) return;
        if (ground_ != nullptr) pilot_->set_ground(*ground_);
    }
    pilot_->find_own();
    take_rpcs(client);
    if (now >= next_curve_) {
        next_curve_ = now + 1'000'000 + random_.below(3'000'000);
        steering_ = random_.chance(0.3F) ? 0.0F : random_.between(-1, 1);
    }
    vale::Controls controls;
    const bool is_driving = pilot_->cart() != GhostId::none;
    is_driving ? drive(client, now, controls) : walk_to_cart(client, now, controls);
    counts_.commands += pilot_->turn(controls, now);
    const PredictionStats stats = pilot_->prediction().stats();
    counts_.driving = is_driving ? 1 : 0;
    counts_.corrections = stats.corrections;
    counts_.invisible = stats.invisible;
    counts_.largest_error_m = stats.largest_error_m;
}

}  // namespace purview::app
