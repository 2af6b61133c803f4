// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/cube_world.hpp"

#include <algorithm>
#include <cmath>

namespace purview::bench {

namespace {

constexpr double gravity = 9.8, large_radius = 1.1, small_radius = 0.3, pull_m = 3.0;
/// Grid of cells for collision detection.
constexpr int cells_side = 64;
constexpr double cell_size = 1.5;

int cell_of(double v) {
    return std::clamp(static_cast<int>(std::floor(v / cell_size)) + cells_side / 2, 0,
                      cells_side - 1);
}

/// The large cube attracts others during the last 5 of every 12 seconds.
bool draws(double time) {
    return std::fmod(time, 12) > 7;
}

}  // namespace

CubeWorld::CubeWorld(std::uint64_t seed)
    : cells_(static_cast<std::size_t>(cells_side) * cells_side) {
    SplitMix random(seed);
    Body large;
    large.at = {-16, -16, large_radius};
    large.radius = large_radius;
    large.asleep = false;
    bodies_.push_back(large);
    for (int i = 0; i < 900; ++i) {
        Body body;
        body.radius = small_radius;
        body.at = {(i % 30) - 14.5 + 0.05 * random.unit(), (i / 30) - 14.5 + 0.05 * random.unit(),
                   small_radius};
        bodies_.push_back(body);
    }
}

/// Steers along a closed path through the whole field, with slow phases.
void CubeWorld::steer(double seconds) {
    time_ += seconds;
    Body& large = bodies_[0];
    const double t = time_ * 0.11;
    const double pace = std::sin(time_ * 0.7) > -0.4 ? 1 : 0.25;
    const double x = 13 * std::sin(2 * t + 4.4), y = 13 * std::sin(3 * t + 4.1);
    for (int i = 0; i < 2; ++i) {
        const double wanted = ((i == 0 ? x : y) - large.at[i]) * 1.5;
        large.speed[i] += std::clamp(wanted - large.speed[i], -6.0, 6.0) * seconds * 4 * pace;
    }
    for (std::size_t b = 1; b < bodies_.size(); ++b) {
        Body& body = bodies_[b];
        double away[3], distance = 0;
        for (int i = 0; i < 3; ++i) {
            away[i] = body.at[i] - large.at[i];
            distance += away[i] * away[i];
        }
        distance = std::sqrt(distance);
        const bool drawn = draws(time_) && distance < pull_m;
        body.interacting = drawn || distance < large_radius + small_radius + 0.05;
        if (!drawn) continue;
        body.asleep = false;
        body.idle_s = 0;
        for (int i = 0; i < 3; ++i) {
            body.speed[i] +=
                (-away[i] / distance * 26 + (large.speed[i] - body.speed[i]) * 3) * seconds;
        }
    }
}

void CubeWorld::collide(Body& a, Body& b) {
    if (a.asleep && b.asleep) return;
    double n[3], distance = 0;
    for (int i = 0; i < 3; ++i) {
        n[i] = b.at[i] - a.at[i];
        distance += n[i] * n[i];
    }
    const double reach = a.radius + b.radius;
    if (distance >= reach * reach || distance < 1e-9) return;
    distance = std::sqrt(distance);
    double closing = 0;
    for (int i = 0; i < 3; ++i) {
        n[i] /= distance;
        closing += (b.speed[i] - a.speed[i]) * n[i];
    }
    // Small cubes barely slow the large one.
    const double share_a = a.radius > small_radius ? 0.02 : b.radius > small_radius ? 0.98 : 0.5;
    const double deep = reach - distance;
    const double impulse = closing < 0 ? -closing * 1.1 : 0;
    if (a.asleep && b.radius <= small_radius && deep < 0.004 && impulse < 0.1) return;
    if (b.asleep && a.radius <= small_radius && deep < 0.004 && impulse < 0.1) return;
    for (int i = 0; i < 3; ++i) {
        a.at[i] -= n[i] * deep * share_a * 0.6;
        b.at[i] += n[i] * deep * (1 - share_a) * 0.6;
        a.speed[i] -= n[i] * impulse * share_a;
        b.speed[i] += n[i] * impulse * (1 - share_a);
    }
    // Friction makes pushed cubes spin.
    for (Body* body : {&a, &b}) {
        if (body->asleep) {
            body->asleep = false;
            body->idle_s = 0;
        }
        body->spin[0] += n[1] * impulse;
        body->spin[1] -= n[0] * impulse;
        body->spin[2] += (n[0] - n[1]) * impulse * 0.5;
    }
}

void CubeWorld::collide() {
    for (auto& cell : cells_) cell.clear();
    for (std::uint32_t b = 0; b < bodies_.size(); ++b) {
        cells_[static_cast<std::size_t>(cell_of(bodies_[b].at[1])) * cells_side +
               cell_of(bodies_[b].at[0])]
            .push_back(b);
    }
    for (std::uint32_t b = 0; b < bodies_.size(); ++b) {
        if (bodies_[b].asleep) continue;
        const int cx = cell_of(bodies_[b].at[0]), cy = cell_of(bodies_[b].at[1]);
        for (int y = std::max(0, cy - 1); y <= std::min(cells_side - 1, cy + 1); ++y) {
            for (int x = std::max(0, cx - 1); x <= std::min(cells_side - 1, cx + 1); ++x) {
                for (const std::uint32_t o : cells_[static_cast<std::size_t>(y) * cells_side + x]) {
                    if (o == b || (!bodies_[o].asleep && o < b)) continue;
                    collide(bodies_[b], bodies_[o]);
                }
            }
        }
    }
}

void CubeWorld::rotate(Body& body, double seconds) {
    const auto& w = body.spin;
    const auto q = body.turn;
    const double h = seconds / 2;
    body.turn = {q[0] + h * (w[0] * q[3] + w[1] * q[2] - w[2] * q[1]),
                 q[1] + h * (w[1] * q[3] + w[2] * q[0] - w[0] * q[2]),
                 q[2] + h * (w[2] * q[3] + w[0] * q[1] - w[1] * q[0]),
                 q[3] - h * (w[0] * q[0] + w[1] * q[1] + w[2] * q[2])};
    double length = 0;
    for (const double c : body.turn) length += c * c;
    for (double& c : body.turn) c /= std::sqrt(length);
}

void CubeWorld::move(Body& body, double seconds) {
    body.speed[2] -= gravity * seconds;
    for (int i = 0; i < 3; ++i) body.at[i] += body.speed[i] * seconds;
    if (body.at[2] < body.radius) {
        body.at[2] = body.radius;
        body.speed[2] = body.speed[2] < -1 ? -0.25 * body.speed[2] : 0;
        const double drag = body.radius > small_radius ? 0 : 1.8 * seconds;
        for (int i = 0; i < 2; ++i) body.speed[i] -= body.speed[i] * drag;
        // Cubes on the ground roll.
        const double roll = std::min(1.0, 12 * seconds);
        body.spin[0] += (-body.speed[1] / body.radius - body.spin[0]) * roll;
        body.spin[1] += (body.speed[0] / body.radius - body.spin[1]) * roll;
        body.spin[2] -= body.spin[2] * roll * 0.4;
    }
    rotate(body, seconds);
    double energy = 0;
    for (int i = 0; i < 3; ++i) {
        energy += body.speed[i] * body.speed[i] + 0.05 * body.spin[i] * body.spin[i];
    }
    body.idle_s = energy < 0.03 ? body.idle_s + seconds : 0;
    if (body.idle_s > 0.2 && body.radius <= small_radius) {
        body.asleep = true;
        body.speed = body.spin = {};
    }
}

void CubeWorld::step(double seconds) {
    steer(seconds);
    collide();
    for (Body& body : bodies_) {
        if (!body.asleep) move(body, seconds);
    }
}

CubeFrame CubeWorld::frame() const {
    CubeFrame frame(bodies_.size());
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
        const Body& body = bodies_[b];
        CubeState& state = frame[b];
        for (int i = 0; i < 3; ++i) {
            const double from = i < 2 ? -cube_bound_m : 0;
            const unsigned bits = i < 2 ? cube_xy_bits : cube_z_bits;
            state.position[i] = static_cast<std::int32_t>(
                std::clamp(std::floor((body.at[i] - from) * cube_steps_per_m + 0.5), 0.0,
                           static_cast<double>((1U << bits) - 1)));
        }
        std::size_t largest = 0;
        for (std::size_t i = 1; i < 4; ++i) {
            if (std::abs(body.turn[i]) > std::abs(body.turn[largest])) largest = i;
        }
        state.largest = static_cast<std::uint8_t>(largest);
        const double sign = body.turn[largest] < 0 ? -1 : 1;
        for (std::size_t i = 0, out = 0; i < 4; ++i) {
            if (i == largest) continue;
            const double unit = (sign * body.turn[i] / cube_turn_bound + 1) / 2;
            state.turn[out++] =
                static_cast<std::int32_t>(std::floor(std::clamp(unit, 0.0, 1.0) * 511 + 0.5));
        }
        state.interacting = body.interacting;
    }
    return frame;
}

std::vector<CubeFrame> capture_cubes(std::uint64_t seed, std::uint32_t frames) {
    CubeWorld world(seed);
    std::vector<CubeFrame> capture;
    for (std::uint32_t f = 0; f < frames; ++f) {
        world.step(1.0 / 60);
        capture.push_back(world.frame());
    }
    return capture;
}

}  // namespace purview::bench
