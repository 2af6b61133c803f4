// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "vale_step.hpp"

#include <algorithm>

namespace vale {

using purview::GroupInput;
using purview::GroupState;
using purview::Vec3;

namespace {

constexpr float speed_max_mps = 16;
constexpr float reverse_max_mps = 5;
constexpr float acceleration = 8;  ///< m/s2
constexpr float drag = 0.35F;      ///< share of the speed lost per second
/// Turn rate in radians per second at full steering, reached at `turn_speed_mps`.
constexpr float turn_rate = 1.6F;
constexpr float turn_speed_mps = 5;

/// Sine for -pi/2..pi/2, with an error below 1e-6.
float sine(float x) noexcept {
    const float s = x * x;
    return x * (1 + s * (-1.0F / 6 + s * (1.0F / 120 + s * (-1.0F / 5040 + s * (1.0F / 362880)))));
}

}  // namespace

std::array<float, 2> direction(float angle) noexcept {
    const auto sine_of = [](float a) {
        a = wrap_angle(a);
        if (a > pi + pi / 2) return sine(a - two_pi);
        return a > pi / 2 ? sine(pi - a) : sine(a);
    };
    return {sine_of(angle + pi / 2), sine_of(angle)};
}

/// Moves as far as the ground allows, sliding along walls.
void ValeStep::go(Position& position, float dx, float dy) const {
    const Vec3 from = position.at;
    for (const Vec3 to : {Vec3{from.x + dx, from.y + dy, 0}, Vec3{from.x + dx, from.y, 0},
                          Vec3{from.x, from.y + dy, 0}}) {
        if (!is_free(*setup_, to)) continue;
        position.at = to;
        return;
    }
}

void ValeStep::walk(GroupState& group, const GroupInput& command) const {
    const WalkInput* input = command.part(0, schema_->walk);
    Position* position = group.edit(0, schema_->position);
    if (input == nullptr || position == nullptr) return;
    // The input is untrusted: limits the speed to the maximum of a player, without a square root.
    const float most = walk_speed_max(*setup_);
    const float square = input->x_mps * input->x_mps + input->y_mps * input->y_mps;
    const float share = square > most * most * 1.02F ? most * most / square : 1;
    const float seconds = 1.0F / static_cast<float>(setup_->tick_hz);
    go(*position, input->x_mps * share * seconds, input->y_mps * share * seconds);
}

void ValeStep::drive(GroupState& group, const GroupInput& command) const {
    Position* position = group.edit(0, schema_->position);
    Engine* engine = group.edit(0, schema_->engine);
    if (position == nullptr || engine == nullptr) return;
    const DriveInput* input = command.part(0, schema_->drive);
    const float throttle = input != nullptr ? std::clamp(input->throttle, -1.0F, 1.0F) : 0;
    const float steering = input != nullptr ? std::clamp(input->steering, -1.0F, 1.0F) : 0;
    const float seconds = 1.0F / static_cast<float>(setup_->tick_hz);
    float speed = engine->speed_mps + throttle * acceleration * seconds;
    if (throttle == 0) speed -= speed * drag * 4 * seconds;
    speed = std::clamp(speed - speed * drag * seconds, -reverse_max_mps, speed_max_mps);
    const float grip = std::clamp(speed / turn_speed_mps, -1.0F, 1.0F);
    engine->heading = wrap_angle(engine->heading + steering * grip * turn_rate * seconds);
    const auto [x, y] = direction(engine->heading);
    const Vec3 before = position->at;
    go(*position, x * speed * seconds, y * speed * seconds);
    const float moved = (position->at.x - before.x) * x + (position->at.y - before.y) * y;
    const float wanted = speed * seconds;
    // A collision stops the cart.
    engine->speed_mps = moved * wanted < wanted * wanted * 0.25F ? 0 : speed;
}

void ValeStep::aim(GroupState& group, const GroupInput& command, std::size_t member) const {
    Gun* gun = group.edit(member, schema_->gun);
    if (gun == nullptr) return;
    if (gun->cooldown > 0) --gun->cooldown;
    const AimInput* input = command.part(member, schema_->aim);
    if (input == nullptr) return;
    gun->target = input->target;
    if (!input->fires || gun->cooldown > 0) return;
    gun->cooldown = cooldown_ticks;
    gun->rounds =
        gun->rounds > 0 ? static_cast<std::uint16_t>(gun->rounds - 1) : std::uint16_t{500};
}

bool ValeStep::has_fired(const GroupState& group, const GroupInput& command,
                         std::size_t member) const noexcept {
    const Gun* gun = group.get(member, schema_->gun);
    const AimInput* input = command.part(member, schema_->aim);
    return gun != nullptr && input != nullptr && input->fires && gun->cooldown == cooldown_ticks;
}

/// Moves the root by its own input, then moves everything attached to it to the same position.
void ValeStep::step(GroupState& group, const GroupInput& command) {
    if (group.size() == 0) return;
    group.kind(0) == schema_->cart ? drive(group, command) : walk(group, command);
    const Position* root = group.get(0, schema_->position);
    for (std::size_t member = 1; member < group.size(); ++member) {
        if (group.kind(member) == schema_->turret) aim(group, command, member);
        if (Position* position = group.edit(member, schema_->position);
            position != nullptr && root != nullptr)
            position->at = root->at;
    }
}

}  // namespace vale
