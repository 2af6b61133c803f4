// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A capture to compress: 900 cubes on a plain, and a large one that is steered through them on a
// fixed path and alternately pushes and attracts them. Collisions use spheres instead of cubes,
// which is invisible in a capture. Cubes tumble, roll, settle and sleep. The capture is determined
// by its seed. Written for this benchmark, without external data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/hash.hpp"
#include "purview/types.hpp"

namespace purview::bench {

/// As transmitted: position in 1/512 m, orientation as the smallest three components of nine bits
/// each.
struct CubeState {
    std::array<std::int32_t, 3> position{};  ///< x, y: 18 bits; z: 14 bits
    std::uint8_t largest = 0;                ///< index of the omitted quaternion component
    std::array<std::int32_t, 3> turn{};      ///< the other three components, 9 bits each
    bool interacting = false;                ///< attracted or pushed by the large one
    friend bool operator==(const CubeState&, const CubeState&) = default;
};
inline constexpr std::uint32_t cube_count = 901;
using CubeFrame = std::vector<CubeState>;  ///< [cube_count], the large one first

inline constexpr unsigned cube_xy_bits = 18, cube_z_bits = 14, cube_turn_bits = 9;
inline constexpr double cube_steps_per_m = 512, cube_bound_m = 256, cube_turn_bound = 0.70710678;

class CubeWorld {
  public:
    explicit CubeWorld(std::uint64_t seed);
    void step(double seconds);
    CubeFrame frame() const;

  private:
    struct Body {
        std::array<double, 3> at{}, speed{}, spin{};
        std::array<double, 4> turn{0, 0, 0, 1};
        double radius = 0.4;
        double idle_s = 0;
        bool asleep = true;
        bool interacting = false;
    };
    void steer(double seconds);
    void collide();
    void collide(Body& a, Body& b);
    void move(Body& body, double seconds);
    static void rotate(Body& body, double seconds);

    std::vector<Body> bodies_;
    std::vector<std::vector<std::uint32_t>> cells_;
    double time_ = 0;
};

/// Default: 47 seconds at 60 Hz.
std::vector<CubeFrame> capture_cubes(std::uint64_t seed, std::uint32_t frames = 47 * 60);

}  // namespace purview::bench
