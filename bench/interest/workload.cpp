// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "workload.hpp"

#include <cmath>
#include <numbers>

namespace purview::bench {

std::uint64_t mix(std::uint64_t z) noexcept {
    z += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

Scene scene_named(const std::string& name) {
    if (name == "W1") return {name, 50'000, 100, 200, 0, 100, 1000, 0, false, 1600, 16};
    if (name == "W2") return {name, 1'000'000, 10'000, 200, 0, 100, 1000, 0, false, 1600, 16};
    if (name == "W3") return {name, 2'000, 2'000, 0, 1130, 1000, 1000, 0, false, 1600, 16};
    if (name == "W4") return {name, 1'000'000, 10'000, 200, 0, 5, 100, 0, false, 1600, 16};
    if (name == "W5") return {name, 1'000'000, 10'000, 200, 0, 100, 1000, 2000, false, 1600, 16};
    return {};
}

namespace {

std::uint32_t side_of(const Scene& scene) {
    if (scene.side != 0) return scene.side;
    const double n = scene.entities, r = scene.radius;
    if (scene.three_d) {
        return static_cast<std::uint32_t>(
            std::cbrt(n * 4.0 / 3.0 * std::numbers::pi / scene.wanted) * r);
    }
    return static_cast<std::uint32_t>(std::sqrt(n * std::numbers::pi / scene.wanted) * r);
}

float below_side(std::uint64_t bits, std::uint32_t side) {
    return static_cast<float>(((bits & 0xffffffffU) * (side + 1ULL)) >> 32);
}

float stepped(float value, std::uint64_t bits, std::uint32_t step, std::uint32_t side) {
    const auto delta = static_cast<std::int64_t>((bits & 0xffffffU) % (2ULL * step + 1)) - step;
    std::int64_t to = static_cast<std::int64_t>(value) + delta;
    if (to < 0) to = -to;
    if (to > side) to = 2LL * side - to;
    return static_cast<float>(to);
}

}  // namespace

Workload::Workload(const Scene& scene, std::uint64_t seed)
    : scene_(scene), seed_(seed), side_(side_of(scene)) {
    positions_.resize(scene.entities);
    for (std::uint64_t i = 0; i < scene.entities; ++i) {
        const std::uint64_t h = mix(seed_ * 0x100000001U + i);
        positions_[i] = {below_side(h >> 32, side_), below_side(h, side_), 0};
        if (scene.three_d) positions_[i].z = below_side(mix(h) >> 32, side_);
    }
    const auto corner = static_cast<float>(side_ / 2.0 - 565);
    for (std::uint64_t i = 0; i < scene.crowd; ++i) {
        const std::uint64_t h = mix(seed_ * 77777 + i);
        positions_[i] = {std::floor(corner) + static_cast<float>((h >> 32) % 1131),
                         std::floor(corner) + static_cast<float>((h & 0xffffffffU) % 1131), 0};
    }
}

std::span<const Move> Workload::step(std::uint32_t t) {
    moves_.clear();
    for (std::uint64_t i = 0; i < scene_.entities; ++i) {
        const std::uint64_t h = mix((seed_ * 0x9E3779B97F4A7C15U) ^ (std::uint64_t{t} << 32) ^ i);
        if (h % 1000 >= (i < scene_.observers ? scene_.observers_move : scene_.entities_move)) {
            continue;
        }
        const std::uint64_t g = mix(h);
        Vec3& at = positions_[i];
        at.x = stepped(at.x, g, scene_.step, side_);
        at.y = stepped(at.y, g >> 24, scene_.step, side_);
        if (scene_.three_d) at.z = stepped(at.z, mix(g), scene_.step, side_);
        moves_.push_back({entity_of(static_cast<std::uint32_t>(i)), at});
    }
    return moves_;
}

}  // namespace purview::bench
