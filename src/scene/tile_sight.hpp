// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Line of sight on a map: a line of sight ends at the first tile that blocks.
#pragma once

#include <memory>

#include "purview/extend/kernel.hpp"
#include "scene/tile_map.hpp"

namespace purview::scene {

/// The tiles of the two end points never block, so an entity inside a bush is visible from outside.
/// A line through the common corner of diagonal tiles is blocked only if both tiles beside it
/// block. Symmetric in both directions. Nothing blocks outside of the map; height is ignored.
class TileSight final : public RayTest {
  public:
    explicit TileSight(const TileMap& map);
    bool is_visible(Vec3 from, Vec3 to) const noexcept;
    void test(ObserverId observer, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override;

  private:
    std::int64_t width_;
    std::int64_t height_;
    double tile_m_;
    std::vector<std::uint8_t> blocked_;
};

/// Null if no tile of the map blocks.
std::shared_ptr<const RayTest> make_tile_sight(const TileMap& map);

}  // namespace purview::scene
