// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/world_file.hpp"

#include <set>

#include "core/hash.hpp"
#include "scene/kind_bindings.hpp"
#include "scene/strict_table.hpp"

namespace purview::scene {

namespace {

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string beside(const std::string& path, const std::string& file) {
    return file.empty() || file[0] == '/' ? file : directory_of(path) + file;
}

void hash_text(WorldFile& world, const std::string& text) {
    world.text_hash =
        hash_bytes(std::as_bytes(std::span<const char>(text.data(), text.size())), world.text_hash);
}

void hash_file(WorldFile& world, const std::string& path) {
    if (const auto text = read_file(path)) hash_text(world, *text);
}

void read_map(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "map");
    std::string file;
    MapOptions options;
    in.read("file", file);
    in.read_real("meters_per_tile", options.meters_per_tile, 0.001, 10'000);
    in.read("collision_property", world.collision_property);
    options.collision_property = world.collision_property;
    in.read("start_type", world.start_type);
    if (const toml::array* areas = in.array("area_tiles")) {
        const auto* width = areas->size() == 2 ? areas->get(0)->as_integer() : nullptr;
        const auto* height = areas->size() == 2 ? areas->get(1)->as_integer() : nullptr;
        if (width == nullptr || height == nullptr || width->get() < 1 || height->get() < 1 ||
            width->get() > 100'000 || height->get() > 100'000) {
            in.fail(*areas, "'map.area_tiles' must be two whole numbers above 0, width and height");
        }
        world.area_width_tiles = static_cast<std::uint32_t>(width->get());
        world.area_height_tiles = static_cast<std::uint32_t>(height->get());
    }
    if (const toml::table* layers = in.table("objects")) {
        for (const auto& [key, node] : *layers) {
            if (!node.is_string())
                in.fail(node, "'map.objects." + std::string(key.str()) + "' must be a kind");
            world.object_layers[std::string(key.str())] = node.as_string()->get();
        }
    }
    in.finish();
    if (file.empty()) throw WorldError{in.where(table) + ": 'map.file' is missing"};
    auto map = load_tile_map(beside(world.path, file), options);
    if (!map) throw WorldError{map.problem()};
    hash_file(world, beside(world.path, file));
    for (const std::string& warning : map->warnings)
        world.warnings.push_back(file + ": " + warning);
    for (const auto& [layer, kind] : world.object_layers) {
        bool exists = false;
        for (const std::string& name : map->layers) exists = exists || name == layer;
        if (!exists) throw WorldError{in.where(table) + ": the map has no layer '" + layer + "'"};
    }
    world.map = std::move(*map);
}

void read_trace(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "trace");
    std::string file;
    in.read("file", file);
    in.finish();
    if (file.empty()) throw WorldError{in.where(table) + ": 'trace.file' is missing"};
    auto trace = load_trace(beside(world.path, file));
    if (!trace) throw WorldError{trace.problem()};
    hash_file(world, beside(world.path, file));
    world.trace = std::move(*trace);
}

void read_players(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "players");
    in.read_integer("teams", world.teams, 0, 255);
    in.read_real("speed_mps", world.player_speed_mps, 0, 1000);
    in.read_real("cloaked_share", world.player_cloaked_share, 0, 1);
    in.read_integer("carts", world.carts, 0, 10'000);
    in.finish();
}

/// Settings of a kind that the game uses.
void read_game(StrictTable& in, KindEntry& kind) {
    constexpr std::pair<const char*, Motion> motions[] = {{"rest", Motion::rest},
                                                          {"wander", Motion::wander},
                                                          {"herd", Motion::herd},
                                                          {"patrol", Motion::patrol}};
    if (in.has("motion")) in.read_choice("motion", motions, kind.motion.emplace());
    in.read_real("speed_mps", kind.speed_mps, 0, 1000);
    in.read_real("idle_share", kind.idle_share, 0, 1);
    in.read_real("cloaked_share", kind.cloaked_share, 0, 1);
    in.read_real("priority", kind.priority, 0.001, 1000);
    in.read_integer("cargo", kind.cargo, 0, 63);
    in.read("hidden", kind.hidden);
    for (const char* key :
         {"motion", "speed_mps", "idle_share", "cloaked_share", "priority", "cargo", "hidden"}) {
        if (!kind.game_key && in.has(key)) kind.game_key = {key, in.position(key)};
    }
}

void read_kinds(const toml::table& kinds, WorldFile& world) {
    for (const auto& [key, node] : kinds) {
        const std::string name(key.str());
        if (!node.is_table()) {
            throw WorldError{text_of(world.path, position_of(node)) + ": 'kinds." + name +
                             "' must be a table"};
        }
        StrictTable in(*node.as_table(), world.path, "kinds." + name);
        KindEntry kind;
        kind.name = name;
        kind.position = position_of(node);
        if (name.empty() || name.size() > Schema::name_bytes_max) {
            in.fail(node, "'kinds." + name + "': a kind's name must have 1 to " +
                              std::to_string(Schema::name_bytes_max) + " bytes");
        }
        read_game(in, kind);
        if (const toml::array* nodes = in.array("nodes")) {
            kind.nodes.emplace();
            for (const toml::node& bound : *nodes) {
                if (!bound.is_string())
                    in.fail(bound, "a bound node must be given by its name, a string");
                kind.nodes->push_back({bound.as_string()->get(), position_of(bound)});
            }
        }
        constexpr std::pair<const char*, EntityMode> modes[] = {
            {"nodes", EntityMode::nodes},
            {"global", EntityMode::global},
            {"explicit", EntityMode::explicit_only}};
        in.read_choice("mode", modes, kind.mode);
        in.read("owner_sees", kind.owner_sees);
        in.read("culled_independently", kind.culled_independently);
        in.read("keeps_ancestors", kind.keeps_ancestors);
        if (kind.keeps_ancestors && !kind.culled_independently)
            in.fail(*in.find("keeps_ancestors"),
                    in.title("keeps_ancestors") + " needs culled_independently = true");
        in.read("uses_group_radius", kind.uses_group_radius);
        if (kind.uses_group_radius) kind.group_radius_position = in.position("uses_group_radius");
        in.read_real("range_m", kind.range, 0.001, rule_meters_max);
        if (in.has("range_m")) kind.range_position = in.position("range_m");
        in.finish();
        world.kinds.push_back(std::move(kind));
    }
}

WorldFile read_world(const toml::table& root, const std::string& path, const std::string& text) {
    WorldFile world;
    world.path = path;
    hash_text(world, text);
    StrictTable in(root, path, "");
    in.read("name", world.name);
    in.read_integer("tick_hz", world.tick_hz, 1, 1000);
    in.read_integer("budget_bytes_per_tick", world.budget_bytes_per_tick, 128, 1 << 20);
    in.read_integer("seed", world.seed, 0, INT64_MAX);
    const toml::table* map = in.table("map");
    const toml::table* trace = in.table("trace");
    const toml::table* players = in.table("players");
    const toml::table* kinds = in.table("kinds");
    const toml::table* interest = in.table("interest");
    in.finish();
    if ((map != nullptr) == (trace != nullptr)) {
        throw WorldError{path + ": a world needs either [map] or [trace]"};
    }
    if (map != nullptr) read_map(*map, world);
    if (trace != nullptr) read_trace(*trace, world);
    if (players != nullptr) read_players(*players, world);
    if (kinds != nullptr) read_kinds(*kinds, world);
    world.interest.path = path;
    if (interest != nullptr) world.interest = read_interest(*interest, path, text);
    if (world.name.empty()) world.name = "unnamed";
    return world;
}

/// Uses the range classes in the file; without them, the ranges of its kinds.
void use_ranges(const WorldFile& world, Rules& rules) {
    rules.range_classes = world.interest.range_classes;
    if (rules.range_classes.empty()) {
        std::set<float> ranges;
        for (const KindEntry& kind : world.kinds) {
            if (kind.range > 0) ranges.insert(kind.range);
        }
        if (ranges.size() > range_classes_max) {
            throw WorldError{text_of(world.path, world.interest.position) +
                             ": kinds have more than 6 different ranges: "
                             "list the 6 to use in 'interest.range_classes_m'"};
        }
        rules.range_classes.assign(ranges.begin(), ranges.end());
    }
    for (const KindEntry& kind : world.kinds) {
        if (kind.range > 0 && kind.range > rules.range_classes.back()) {
            throw WorldError{text_of(world.path, kind.range_position) + ": 'kinds." + kind.name +
                             ".range_m' is larger than the last of 'interest.range_classes_m'"};
        }
    }
}

std::string node_names(const Rules& rules) {
    std::string text;
    for (const NodeDef& node : rules.nodes) text += (text.empty() ? "'" : ", '") + node.name + "'";
    return text.empty() ? "none" : text;
}

NodeId find_node(const WorldFile& world, const KindEntry& kind, const NameEntry& wanted,
                 const Rules& rules) {
    const std::string where =
        text_of(world.path, wanted.position) + ": 'kinds." + kind.name + ".nodes': ";
    for (std::size_t n = 0; n < rules.nodes.size(); ++n) {
        if (rules.nodes[n].name != wanted.name) continue;
        if (rules.nodes[n].members != Members::bound) {
            throw WorldError{where + "node '" + wanted.name +
                             "' has no bound members: set members = \"bound\""};
        }
        return id_at<NodeId>(n);
    }
    throw WorldError{where + "no node '" + wanted.name + "'; available: " + node_names(rules)};
}

}  // namespace

Loaded<Rules> compile_rules(const WorldFile& world, const RuleNames& names) {
    Rules rules;
    rules.cell_size = world.interest.cell_size;
    rules.axes = world.interest.axes;
    rules.observer_range_max = world.interest.observer_range_max;
    rules.group_radius_max = world.interest.group_radius_max;
    if (world.map) {
        rules.max = {world.map->width_m(), world.map->height_m(), 0};
    } else if (world.trace) {
        rules.min = {world.trace->min.x - 1, world.trace->min.y - 1, 0};
        rules.max = {world.trace->max.x + 1, world.trace->max.y + 1, 0};
    }
    if (rules.axes != Axes::xy) {  // the file contains no height: use the depth
        rules.min.z = rules.min.y;
        rules.max.z = rules.max.y;
    }
    try {
        use_ranges(world, rules);
    } catch (const WorldError& error) {
        return Problem{error.text};
    }
    return compile_rules(world.interest, names, rules);
}

/// A kind with an empty node list must not be visible through a node for all kinds.
void refuse_nodes_for_all(const WorldFile& world, const KindEntry& entry, const Rules& rules) {
    const std::size_t n = node_for_all(rules);
    if (n == rules.nodes.size()) return;
    throw WorldError{text_of(world.path, entry.position) + ": 'kinds." + entry.name +
                     ".nodes' is empty, but node '" + rules.nodes[n].name +
                     "' has members = \"all\": bind that node, or set mode = \"explicit\""};
}

Loaded<std::vector<KindRules>> compile_kinds(const WorldFile& world, const Rules& rules,
                                             const Schema& schema) {
    std::vector<KindRules> kinds(schema.kinds().size());
    try {
        for (const KindEntry& entry : world.kinds) {
            const std::size_t index = index_of(schema.find_kind(entry.name));
            if (index >= kinds.size()) {
                throw WorldError{text_of(world.path, entry.position) +
                                 ": this world has no kind '" + entry.name + "'"};
            }
            KindRules& kind = kinds[index];
            if (entry.nodes) {
                kind.needs_node = entry.nodes->empty();
                if (kind.needs_node && entry.mode == EntityMode::nodes)
                    refuse_nodes_for_all(world, entry, rules);
                for (const NameEntry& node : *entry.nodes)
                    kind.nodes.push_back(find_node(world, entry, node, rules));
            }
            kind.mode = entry.mode;
            kind.owner_sees = entry.owner_sees;
            kind.culled_independently = entry.culled_independently;
            kind.keeps_ancestors = entry.keeps_ancestors;
            kind.uses_group_radius = entry.uses_group_radius;
            if (entry.uses_group_radius && !(rules.group_radius_max > 0)) {
                throw WorldError{text_of(world.path, entry.group_radius_position) + ": 'kinds." +
                                 entry.name +
                                 ".uses_group_radius' needs 'interest.group_bounds_max_m'"};
            }
            kind.range = entry.range;
        }
    } catch (const WorldError& error) {
        return Problem{error.text};
    }
    return kinds;
}

Loaded<WorldFile> parse_world_file(const std::string& path, const std::string& text) {
    try {
        return read_world(parse_toml(text, path), path, text);
    } catch (const WorldError& error) {
        return Problem{error.text};
    }
}

Loaded<WorldFile> load_world_file(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return Problem{text.problem()};
    return parse_world_file(path, *text);
}

}  // namespace purview::scene
