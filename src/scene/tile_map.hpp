// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A Tiled map (JSON, orthogonal, finite): the blocking tiles, and the objects of its object layers.
// Coordinates are in meters: x right, y down as in the file, origin at the top left. Loads both old
// files (no `orientation`, properties as a table, `tileproperties`) and new ones
// (`tiles[].properties`, properties as a list).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scene/loaded.hpp"

namespace purview::scene {

struct MapOptions {
    float meters_per_tile = 1;
    /// A tile with this property blocks. If empty, nothing blocks.
    std::string collision_property;
};

struct MapObject {
    std::string layer;
    std::string name;
    std::string type;
    float x_m = 0;  ///< top left corner
    float y_m = 0;
    float width = 0;
    float height = 0;
    std::map<std::string, std::string> properties;  ///< values as text

    /// The property as an integer: `otherwise` if it is missing, nothing if it is not an integer.
    std::optional<long> number(const std::string& property, long otherwise) const;
};

struct TileMap {
    std::uint32_t width = 0;  ///< in tiles
    std::uint32_t height = 0;
    float tile_m = 1;
    std::vector<std::uint8_t> blocked;  ///< [height][width], 1 where a tile of any layer blocks
    std::vector<MapObject> objects;
    std::vector<std::string> layers;
    std::vector<std::string> warnings;

    float width_m() const noexcept { return static_cast<float>(width) * tile_m; }
    float height_m() const noexcept { return static_cast<float>(height) * tile_m; }
};

Loaded<TileMap> load_tile_map(const std::string& path, const MapOptions& options);

/// A grid of areas over a map (as in Phaser Quest), derived from the size of an area.
struct AreaGrid {
    std::uint32_t columns = 0;
    std::uint32_t rows = 0;
    std::uint32_t count() const noexcept { return columns * rows; }
};
AreaGrid area_grid(const TileMap& map, std::uint32_t area_width_tiles,
                   std::uint32_t area_height_tiles);

}  // namespace purview::scene
