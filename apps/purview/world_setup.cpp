// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scene/tile_sight.hpp"

namespace purview::app {

using scene::Loaded;
using scene::Problem;
using scene::WorldFile;

namespace {

/// Rules for a Tiled map without a world file, as in Phaser Quest: areas of 34 x 20 tiles, and a
/// range about as large as an area with its neighbors.
constexpr const char* map_world = R"(
name = "map"
[map]
file = "%FILE%"
collision_property = "c"
area_tiles = [34, 20]
start_type = "start"
[players]
speed_mps = 5.0
carts = 24
[[interest.node]]
name = "near or same team, not cloaked"
steps = ["add within 45 leave 50", "add same team", "subtract flag cloaked"]
)";

/// Rules for a trace without a world file: a person is relevant to others within touching distance.
constexpr const char* trace_world = R"(
name = "trace"
[trace]
file = "%FILE%"
[players]
teams = 0
[[interest.node]]
name = "at arm's length"
steps = ["add within 1.5 leave 1.7"]
)";

/// The object layer that populates the world.
constexpr std::string_view roaming = "roaming";

std::string with_file(std::string text, const std::string& path) {
    std::string quoted;
    for (const char c : path)
        quoted += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
    return text.replace(text.find("%FILE%"), 6, quoted);
}

vale::Motion motion_of(scene::Motion motion) {
    switch (motion) {
        case scene::Motion::rest:
            return vale::Motion::rest;
        case scene::Motion::wander:
            return vale::Motion::wander;
        case scene::Motion::herd:
            return vale::Motion::herd;
        case scene::Motion::patrol:
            return vale::Motion::patrol;
    }
    return vale::Motion::wander;
}

bool is_the_games_own(const std::string& kind) {
    return kind == "player" || kind == "person" || kind == "crate" || kind == "cart" ||
           kind == "turret";
}

std::uint32_t kind_index(vale::Setup& setup, const std::string& name, vale::Motion otherwise) {
    for (std::uint32_t k = 0; k < setup.kinds.size(); ++k) {
        if (setup.kinds[k].name == name) return k;
    }
    vale::KindSetup kind;
    kind.name = name;
    kind.motion = otherwise;
    setup.kinds.push_back(kind);
    return static_cast<std::uint32_t>(setup.kinds.size() - 1);
}

vale::SpawnSetup area_of(const scene::MapObject& object, const scene::TileMap& map) {
    vale::SpawnSetup area;
    area.min = {std::clamp(object.x_m, 0.0F, map.width_m()),
                std::clamp(object.y_m, 0.0F, map.height_m()), 0};
    area.max = {std::clamp(object.x_m + object.width, 0.0F, map.width_m()),
                std::clamp(object.y_m + object.height, 0.0F, map.height_m()), 0};
    return area;
}

/// Reads a property if it is present. Returns an error text, or an empty string.
std::string read_number(const scene::MapObject& object, const std::string& property,
                        std::uint32_t max, std::uint32_t& out) {
    const auto value = object.number(property, out);
    if (!value || *value < 0 || *value > max) {
        return fmt::format(
            "layer '{}': property '{}' must be a whole number from 0 to {}, not '{}'", object.layer,
            property, max, object.properties.at(property));
    }
    out = static_cast<std::uint32_t>(*value);
    return {};
}

/// Returns an error text for an impossible map, or an empty string.
std::string use_map(const WorldFile& file, vale::Setup& setup) {
    const scene::TileMap& map = *file.map;
    setup.max = {map.width_m(), map.height_m(), 0};
    setup.ground = {map.width, map.height, map.tile_m, map.blocked};
    const auto problem_of = [](const std::string& layer, const std::string& kind) {
        return "layer '" + layer + "': kind '" + kind + "' is reserved for the game";
    };
    for (const auto& [layer, kind] : file.object_layers) {
        if (is_the_games_own(kind)) return problem_of(layer, kind);
    }
    for (const scene::MapObject& object : map.objects) {
        if (!file.start_type.empty() && object.type == file.start_type) {
            setup.starts.push_back(area_of(object, map));
            continue;
        }
        vale::SpawnSetup spawn = area_of(object, map);
        if (object.layer == roaming) {
            if (object.type.empty())
                return "layer 'roaming': an object has no type (the type is the name of its kind)";
            if (is_the_games_own(object.type)) return problem_of(object.layer, object.type);
            for (const std::string& wrong : {read_number(object, "nb", 1'000'000, spawn.count),
                                             read_number(object, "team", 1000, spawn.team)}) {
                if (!wrong.empty()) return wrong;
            }
            spawn.kind = kind_index(setup, object.type, vale::Motion::wander);
        } else if (const auto layer = file.object_layers.find(object.layer);
                   layer != file.object_layers.end()) {
            spawn.kind = kind_index(setup, layer->second, vale::Motion::rest);
            spawn.max = spawn.min;
        } else {
            continue;
        }
        setup.spawns.push_back(spawn);
    }
    return {};
}

void use_trace(const WorldFile& file, vale::Setup& setup) {
    setup.min = {file.trace->min.x, file.trace->min.y, 0};
    setup.max = {file.trace->max.x, file.trace->max.y, 0};
    setup.trace_seconds = file.trace->duration_seconds;
    for (const scene::Track& track : file.trace->tracks) {
        vale::Track out;
        for (const auto& sample : track.samples) {
            // Interest uses the x, y plane, so the height is dropped.
            out.samples.push_back(
                {sample.seconds, {sample.position.x, sample.position.y, 0}, sample.facing});
        }
        setup.tracks.push_back(std::move(out));
    }
}

/// Equal except for upper and lower case.
bool is_misspelled(const std::string& name, std::string_view meant) {
    const auto same = [](char a, char b) { return a == b || (a ^ b) == ('a' ^ 'A'); };
    return name != meant && std::equal(name.begin(), name.end(), meant.begin(), meant.end(), same);
}

/// Warns about settings that nothing in the map or crowd matches.
void warn_of_idle(WorldFile& file, const vale::Setup& setup) {
    const auto warn = [&](const std::string& text) { file.warnings.push_back(text); };
    if (file.map && !file.start_type.empty() && setup.starts.empty())
        warn("map.start_type: no object is of type '" + file.start_type + "'");
    const auto blocks = [](std::uint8_t tile) { return tile != 0; };
    if (file.map && !file.collision_property.empty() &&
        std::none_of(file.map->blocked.begin(), file.map->blocked.end(), blocks))
        warn("map.collision_property: no tile has '" + file.collision_property + "'");
    if (file.trace && file.carts > 0) warn("players.carts: not available in a recorded crowd");
    std::set<std::string> spawned;
    std::uint32_t team = 0;
    for (const vale::SpawnSetup& spawn : setup.spawns) {
        spawned.insert(setup.kinds[spawn.kind].name);
        team = std::max(team, spawn.team);
    }
    for (const scene::KindEntry& kind : file.kinds) {
        if (!is_the_games_own(kind.name) && !spawned.contains(kind.name))
            warn("kinds." + kind.name + ": no entity of this world has this kind");
    }
    if (team > setup.teams)
        warn(fmt::format("layer 'roaming': there is no team {}: players.teams is {}", team,
                         setup.teams));
}

/// Warns about names that the game would read if they were spelled differently.
void warn_of_misspelled(WorldFile& file) {
    for (const std::string& layer : file.map->layers) {
        if (is_misspelled(layer, roaming) && !file.object_layers.contains(layer))
            file.warnings.push_back("layer '" + layer + "': did you mean 'roaming'?");
    }
    std::set<std::string> reported;
    for (const scene::MapObject& object : file.map->objects) {
        for (const auto& [name, value] : object.properties) {
            for (const std::string_view meant : {"nb", "team"}) {
                if (object.layer != roaming || !is_misspelled(name, meant)) continue;
                if (reported.insert(name).second)
                    file.warnings.push_back("layer 'roaming': property '" + name +
                                            "': did you mean '" + std::string(meant) + "'?");
            }
        }
    }
}

/// Returns an error text if the world is too large, or an empty string.
std::string problem_of_size(const vale::Setup& setup) {
    constexpr std::uint64_t players_max = 4'096;  // more than the default of --sessions-max
    const ServerDef def;
    const std::uint64_t begins = vale::entities_at_start(setup);
    // Players of a recorded crowd take over recorded people.
    const std::uint64_t players = setup.tracks.empty() ? players_max : 0;
    if (begins + players <= def.entities_max) return {};
    return fmt::format(
        "{} entities, including cargo and carts, plus {} players exceed the server's maximum of {}",
        begins, players, def.entities_max);
}

std::string page_json(const WorldSetup& world) {
    nlohmann::json radii = nlohmann::json::array();
    for (const NodeDef& node : world.rules.nodes) {
        if (!node.enabled || node.combine != Combine::add) continue;
        for (const Kernel& step : node.steps) {
            if (step.combine == Combine::add && step.type == KernelType::distance) {
                radii.push_back({{"enter", step.enter}, {"leave", step.leave}});
            }
        }
    }
    nlohmann::json ground;
    if (world.file.map) {
        std::string cells;
        for (const auto blocked : world.setup.ground.blocked)
            cells.push_back(blocked != 0 ? '1' : '0');
        ground = {{"width", world.file.map->width},
                  {"height", world.file.map->height},
                  {"tile_m", world.file.map->tile_m},
                  {"blocked", cells}};
    }
    return nlohmann::json{{"name", world.file.name},
                          {"min", {world.setup.min.x, world.setup.min.y}},
                          {"max", {world.setup.max.x, world.setup.max.y}},
                          {"radii", radii},
                          {"ground", ground},
                          {"teams", world.setup.teams},
                          {"tick_hz", world.file.tick_hz}}
        .dump();
}

}  // namespace

Loaded<std::unique_ptr<WorldSetup>> load_world(WorldSource source, const std::string& path) {
    auto file =
        source == WorldSource::toml ? scene::load_world_file(path)
        : source == WorldSource::map
            ? scene::parse_world_file(path, with_file(map_world, path.substr(path.rfind('/') + 1)))
            : scene::parse_world_file(path,
                                      with_file(trace_world, path.substr(path.rfind('/') + 1)));
    if (!file) return Problem{file.problem()};
    auto world = std::make_unique<WorldSetup>();
    world->file = std::move(*file);
    if (source == WorldSource::map) {
        // The object layers of Phaser Quest maps, if the map has them.
        for (const char* layer : {"chests", "entities"}) {
            for (const std::string& there : world->file.map->layers) {
                if (there == layer)
                    world->file.object_layers[layer] =
                        layer == std::string("chests") ? "chest" : "thing";
            }
        }
    }
    vale::Setup& setup = world->setup;
    setup.seed = world->file.seed;
    setup.tick_hz = world->file.tick_hz;
    setup.teams = world->file.teams;
    setup.player_speed_mps = world->file.player_speed_mps;
    setup.player_cloaked_share = world->file.player_cloaked_share;
    setup.carts = world->file.carts;
    const auto& objects = world->file.object_layers;
    for (const scene::KindEntry& entry : world->file.kinds) {
        if (is_the_games_own(entry.name)) {
            if (!entry.game_key) continue;
            return Problem{fmt::format(
                "{}:{}:{}: 'kinds.{}.{}': the game controls "
                "this kind; only nodes, mode, owner_sees, culled_independently, keeps_ancestors, "
                "uses_group_radius and range_m can be set",
                path, entry.game_key->position.line, entry.game_key->position.column, entry.name,
                entry.game_key->name)};
        }
        const bool is_thing = std::any_of(objects.begin(), objects.end(), [&](const auto& layer) {
            return layer.second == entry.name;
        });
        const auto otherwise = is_thing ? scene::Motion::rest : scene::Motion::wander;
        setup.kinds.push_back({entry.name, motion_of(entry.motion.value_or(otherwise)),
                               entry.speed_mps, entry.idle_share, entry.cloaked_share,
                               entry.priority, entry.cargo, entry.hidden});
    }
    if (world->file.map) {
        if (std::string wrong = use_map(world->file, setup); !wrong.empty())
            return Problem{path + ": " + wrong};
    }
    if (world->file.trace) use_trace(world->file, setup);
    if (source == WorldSource::toml) warn_of_idle(world->file, setup);
    if (world->file.map) warn_of_misspelled(world->file);
    if (const std::string wrong = problem_of_size(setup); !wrong.empty())
        return Problem{path + ": " + wrong};
    world->schema = std::make_unique<vale::ValeSchema>(setup);
    if (!world->schema->schema.problem().empty()) {
        return Problem{path + ": " + world->schema->schema.problem()};
    }
    world->names = scene::names_of(world->schema->schema);
    world->names.sight_def = world->file.interest.sight;
    if (world->file.map) world->names.sight = scene::make_tile_sight(*world->file.map);
    const auto rules = scene::compile_rules(world->file, world->names);
    if (!rules) return Problem{rules.problem()};
    world->rules = *rules;
    const auto kinds = scene::compile_kinds(world->file, world->rules, world->schema->schema);
    if (!kinds) return Problem{kinds.problem()};
    world->kinds = *kinds;
    std::uint32_t entities = 1000;
    for (const auto& spawn : setup.spawns) entities += spawn.count;
    world->rules.entities_expected = entities;
    world->page_json = page_json(*world);
    return world;
}

}  // namespace purview::app
