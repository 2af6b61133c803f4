// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A world as a TOML file: a Tiled map or a trace, how things in it behave, and the rules of
// interest. Strict: an unknown key or a wrong type is an error with file, line and column.
// docs/world-file.md lists every key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "purview/rules.hpp"
#include "scene/tile_map.hpp"
#include "scene/trace.hpp"

namespace purview::scene {

/// How things of a kind move.
enum class Motion : std::uint8_t { rest, wander, herd, patrol };

struct KindEntry {
    std::string name;
    Motion motion = Motion::wander;
    float speed_mps = 1.5F;
    float rest_share = 0.3F;  ///< of the time
    float cloaked_share = 0;  ///< of its entities
    float urgency = 1;
    std::uint32_t cargo = 0;  ///< children attached to each, of kind `crate`
};

/// A rule's step as written, before names are known: compiled with the schema.
struct StepText {
    std::string text;
    std::string where;  ///< file:line:column
};

struct NodeEntry {
    std::string name;
    NodeType type = NodeType::grid;
    std::vector<StepText> steps;
    std::string where;
};

struct WorldFile {
    std::string path;
    std::string name;
    std::uint32_t tick_hz = 20;
    std::uint32_t budget_bytes_per_tick = 4'800;
    std::uint64_t seed = 1;
    std::uint32_t teams = 8;
    float player_speed_mps = 6;
    float player_cloaked_share = 0;
    std::optional<TileMap> map;
    std::optional<Trace> trace;
    std::uint32_t area_width_tiles = 0;  ///< 0: no areas
    std::uint32_t area_height_tiles = 0;
    std::vector<KindEntry> kinds;
    std::map<std::string, std::string> object_layers;  ///< layer -> kind of its objects
    std::string start_type;                            ///< objects of this type are starting places
    float cell_m = 0;
    std::vector<NodeEntry> nodes;
    std::vector<std::string> warnings;
};

/// Names that steps may use.
struct RuleNames {
    std::map<std::string, FlagId> flags;
    std::map<std::string, KeyDomain> keys;
};

Loaded<WorldFile> load_world_file(const std::string& path);
/// As a file with this text at this path would be.
Loaded<WorldFile> parse_world_file(const std::string& path, const std::string& text);

/// One step: `add|subtract|require` then `within R [leave R]`, `same KEY` or `flag NAME`.
Loaded<StepDesc> parse_step(const StepText& step, const RuleNames& names);
Loaded<InterestRules> compile_rules(const WorldFile& world, const RuleNames& names);

}  // namespace purview::scene
