// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Line of sight over a map's blocking tiles: whoever looks, sees up to the first tile that blocks.
#pragma once

#include <memory>

#include "purview/sight.hpp"
#include "scene/tile_map.hpp"

namespace purview::scene {

/// The tiles in which the two stand never block: what grows in a bush is seen from outside of it.
/// Through a point where two tiles meet at their corners one sees, unless both block that lie
/// beside the line. Equal in both directions. Outside of the map nothing blocks; height does not
/// matter.
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

/// Null when no tile of the map blocks.
std::shared_ptr<const RayTest> make_tile_sight(const TileMap& map);

}  // namespace purview::scene
