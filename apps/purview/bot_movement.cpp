// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bot_movement.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "vale.hpp"

namespace purview::app {

namespace {

constexpr float turn_full = 6.2831853F;
constexpr float flock_radius_m = 8;
constexpr float hotspot_radius_m = 25;

std::array<std::byte, 9> command_to(vale::CommandType type, Vec3 at) {
    std::array<std::byte, 9> command{static_cast<std::byte>(type)};
    std::memcpy(command.data() + 1, &at.x, 4);
    std::memcpy(command.data() + 5, &at.y, 4);
    return command;
}

}  // namespace

void BotWalker::locate(const Client& client) {
    if (own_ == GhostId::none || !client.is_held(own_) || !client.is_owned(own_)) {
        own_ = GhostId::none;
        client.for_each([&](GhostId ghost) {
            if (own_ == GhostId::none && client.is_owned(ghost)) own_ = ghost;
        });
    }
    if (own_ != GhostId::none) position_ = client.position_of(own_, client.newest_tick());
}

/// The world's size is the range of its quantized position fields.
void BotWalker::find_bounds(const Client& client) {
    const Schema* schema = client.schema();
    if (min_ || schema == nullptr || schema->position() == ComponentId::none) return;
    const ComponentDef& position = schema->components()[index_of(schema->position())];
    if (position.fields.size() < 2) return;
    min_ = Vec3{static_cast<float>(position.fields[0].min),
                static_cast<float>(position.fields[1].min), 0};
    max_ = {static_cast<float>(position.fields[0].max), static_cast<float>(position.fields[1].max),
            0};
}

Vec3 BotWalker::around(Vec3 center, float radius) {
    const float angle = random_.between(0, turn_full);
    const float away = radius * std::sqrt(random_.unit());
    return {center.x + away * std::cos(angle), center.y + away * std::sin(angle), 0};
}

void BotWalker::roam(Client& client) {
    const float angle = random_.between(0, turn_full);
    const float speed = random_.chance(0.1F) ? 0.0F : random_.between(60, 127);
    const std::array<std::byte, 3> walk{
        static_cast<std::byte>(vale::CommandType::walk),
        static_cast<std::byte>(static_cast<std::int8_t>(std::cos(angle) * speed)),
        static_cast<std::byte>(static_cast<std::int8_t>(std::sin(angle) * speed))};
    (void)client.send_command(walk);
}

void BotWalker::go(Client& client, Vec3 goal) {
    if (!gathered_) jump(client, goal);
    gathered_ = true;
    (void)client.send_command(command_to(vale::CommandType::go, goal));
}

void BotWalker::jump(Client& client, Vec3 to) {
    (void)client.send_command(command_to(vale::CommandType::jump, to));
}

void BotWalker::turn(Client& client, const BotWalker& leader, Micros now) {
    if (client.state() != ClientState::joined || now < next_turn_) return;
    next_turn_ = now + 500'000 + random_.below(2'500'000);
    if (movement_ == Movement::flock) locate(client);
    find_bounds(client);
    switch (movement_) {
        case Movement::roam:
            return roam(client);
        case Movement::flock:
            if (&leader == this || !leader.position_) return roam(client);
            return go(client, around(*leader.position_, flock_radius_m));
        case Movement::hotspot:
            if (!min_) return;
            return go(client, around({(min_->x + max_.x) / 2, (min_->y + max_.y) / 2, 0},
                                     hotspot_radius_m));
        case Movement::teleport:
            if (!min_) return;
            return jump(client,
                        {random_.between(min_->x, max_.x), random_.between(min_->y, max_.y), 0});
    }
}

}  // namespace purview::app
