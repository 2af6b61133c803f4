// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The workloads of the interest benchmarks, fully determined by the seed. Positions are integers
// stored in floats, so every exact engine must produce the same sets. Docs: docs/performance.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "purview/interest.hpp"
#include "spatial/move.hpp"

namespace purview::bench {

struct Scene {
    std::string name;
    std::uint32_t entities = 0;
    std::uint32_t observers = 0;       ///< observer c stands on entity c
    std::uint32_t wanted = 0;          ///< relevant entities per observer; 0: `side` is given
    std::uint32_t side = 0;            ///< of the square world; 0: derived from `wanted`
    std::uint32_t entities_move = 0;   ///< per 1000
    std::uint32_t observers_move = 0;  ///< per 1000
    std::uint32_t crowd = 0;           ///< number of observers that start at one spot
    bool three_d = false;
    std::uint32_t radius = 1600;
    std::uint32_t step = 16;  ///< maximum along each axis
};

/// The scene of this name (W1 to W5), or one with no entities.
Scene scene_named(const std::string& name);

/// Positions and the moves of each tick.
class Workload {
  public:
    explicit Workload(const Scene& scene, std::uint64_t seed = 1);
    const Scene& scene() const noexcept { return scene_; }
    std::uint32_t side() const noexcept { return side_; }
    std::span<const Vec3> positions() const noexcept { return positions_; }
    /// Returns the moves of tick t (from 1 on), ascending by index. Valid until the next call.
    std::span<const Move> step(std::uint32_t t);

  private:
    Scene scene_;
    std::uint64_t seed_;
    std::uint32_t side_;
    std::vector<Vec3> positions_;
    std::vector<Move> moves_;
};

std::uint64_t mix(std::uint64_t z) noexcept;
inline EntityId entity_of(std::uint32_t index) noexcept {
    return make_entity_id(index, 1);
}

}  // namespace purview::bench
