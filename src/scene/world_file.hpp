// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reads a world from a TOML file: a Tiled map or a trace, the behavior of its kinds, and its
// interest rules. Strict: an unknown key or a wrong type is an error with file, line and column.
// docs/world-file.md lists every key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "purview/interest.hpp"
#include "purview/rules.hpp"
#include "scene/interest_file.hpp"
#include "scene/tile_map.hpp"
#include "scene/trace.hpp"

namespace purview::scene {

/// The movement of a kind.
enum class Motion : std::uint8_t { rest, wander, herd, patrol };

/// A name and its position in the file.
struct NameEntry {
    std::string name;
    FilePlace position;
};

struct KindEntry {
    std::string name;
    FilePlace position;
    // Settings for the game.
    std::optional<Motion> motion;  ///< empty: depends on the layer of its objects
    float speed_mps = 1.5F;
    float idle_share = 0.3F;  ///< share of the time
    float cloaked_share = 0;  ///< share of its entities
    float priority = 1;
    std::uint32_t cargo = 0;            ///< children attached to each entity, of kind `crate`
    bool hidden = false;                ///< from all observers except owners
    std::optional<NameEntry> game_key;  ///< the first key above that the file contains
    // Settings for interest.
    std::optional<std::vector<NameEntry>> nodes;  ///< bound nodes; given and empty: none
    EntityMode mode = EntityMode::nodes;
    bool owner_sees = true;
    bool culled_independently = false;
    bool keeps_ancestors = false;
    bool uses_group_radius = false;
    FilePlace group_radius_position;
    float range = 0;
    FilePlace range_position;
};

struct WorldFile {
    std::string path;
    std::string name;
    std::uint32_t tick_hz = 20;
    std::uint32_t budget_bytes_per_tick = 4'800;
    std::uint64_t seed = 1;
    std::uint32_t teams = 8;
    float player_speed_mps = 6;
    std::uint32_t carts = 0;
    float player_cloaked_share = 0;
    std::optional<TileMap> map;
    std::optional<Trace> trace;
    std::uint32_t area_width_tiles = 0;  ///< 0: no areas
    std::uint32_t area_height_tiles = 0;
    std::vector<KindEntry> kinds;
    std::map<std::string, std::string> object_layers;  ///< layer -> kind of its objects
    std::string collision_property;                    ///< tiles with this property block
    std::string start_type;                            ///< objects of this type are spawn points
    InterestEntry interest;
    std::vector<std::string> warnings;
    std::uint64_t text_hash = 0;  ///< hash of the file and of its map or trace
};

Loaded<WorldFile> load_world_file(const std::string& path);
/// Like load_world_file for a file with this text at this path.
Loaded<WorldFile> parse_world_file(const std::string& path, const std::string& text);

/// Rules of a new world.
Loaded<Rules> compile_rules(const WorldFile& world, const RuleNames& names);
/// Interest settings of each kind of the schema.
Loaded<std::vector<KindRules>> compile_kinds(const WorldFile& world, const Rules& rules,
                                             const Schema& schema);

}  // namespace purview::scene
