// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/world_file.hpp"

#include <toml++/toml.h>
#include <charconv>
#include <cmath>
#include <set>

namespace purview::scene {

namespace {

/// Thrown inside this file only.
struct WorldError {
    std::string text;
};

/// A TOML table that must be understood whole: every key is asked for, or it is an error.
class StrictTable {
  public:
    StrictTable(const toml::table& table, std::string path, std::string name)
        : table_(table), path_(std::move(path)), name_(std::move(name)) {}

    std::string where(const toml::node& node) const {
        return path_ + ":" + std::to_string(node.source().begin.line) + ":" +
               std::to_string(node.source().begin.column);
    }
    [[noreturn]] void fail(const toml::node& node, const std::string& text) const {
        throw WorldError{where(node) + ": " + text};
    }
    const toml::node* find(std::string_view key) {
        asked_.insert(std::string(key));
        return table_.get(key);
    }
    std::string title(std::string_view key) const {
        return "'" + (name_.empty() ? std::string(key) : name_ + "." + std::string(key)) + "'";
    }

    void read(std::string_view key, std::string& out) {
        if (const toml::node* node = find(key)) {
            if (!node->is_string()) fail(*node, title(key) + " must be a text");
            out = node->as_string()->get();
        }
    }
    template <class Integer>
    void read_integer(std::string_view key, Integer& out, std::int64_t min, std::int64_t max) {
        if (const toml::node* node = find(key)) {
            if (!node->is_integer()) fail(*node, title(key) + " must be a whole number");
            const std::int64_t value = node->as_integer()->get();
            if (value < min || value > max) {
                fail(*node,
                     title(key) + " must be " + std::to_string(min) + " to " + std::to_string(max));
            }
            out = static_cast<Integer>(value);
        }
    }
    void read_real(std::string_view key, float& out, double min, double max) {
        if (const toml::node* node = find(key)) {
            if (!node->is_number()) fail(*node, title(key) + " must be a number");
            const double value = *node->value<double>();
            if (!(value >= min) || !(value <= max)) {
                fail(*node, title(key) + " must be " + text_of(min) + " to " + text_of(max));
            }
            out = static_cast<float>(value);
        }
    }
    const toml::table* table(std::string_view key) {
        const toml::node* node = find(key);
        if (node == nullptr) return nullptr;
        if (!node->is_table()) fail(*node, title(key) + " must be a table");
        return node->as_table();
    }
    const toml::array* array(std::string_view key) {
        const toml::node* node = find(key);
        if (node == nullptr) return nullptr;
        if (!node->is_array()) fail(*node, title(key) + " must be a list");
        return node->as_array();
    }
    /// The first key that nobody asked for is an error.
    void finish() const {
        for (const auto& [key, node] : table_) {
            if (asked_.count(std::string(key.str())) == 0) {
                throw WorldError{path_ + ":" + std::to_string(key.source().begin.line) + ":" +
                                 std::to_string(key.source().begin.column) + ": unknown key " +
                                 title(key.str())};
            }
        }
    }

  private:
    static std::string text_of(double value) {
        std::string text = std::to_string(value);
        while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
            const bool dot = text.back() == '.';
            text.pop_back();
            if (dot) break;
        }
        return text;
    }
    const toml::table& table_;
    std::string path_;
    std::string name_;
    std::set<std::string> asked_;
};

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string beside(const std::string& path, const std::string& file) {
    return file.empty() || file[0] == '/' ? file : directory_of(path) + file;
}

void read_map(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "map");
    std::string file;
    MapOptions options;
    in.read("file", file);
    in.read_real("metres_per_tile", options.metres_per_tile, 0.001, 10'000);
    in.read("collision_property", options.collision_property);
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
    for (const std::string& warning : map->warnings)
        world.warnings.push_back(file + ": " + warning);
    for (const auto& [layer, kind] : world.object_layers) {
        bool there = false;
        for (const std::string& name : map->layers) there = there || name == layer;
        if (!there) throw WorldError{in.where(table) + ": the map has no layer '" + layer + "'"};
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
    world.trace = std::move(*trace);
}

void read_players(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "players");
    in.read_integer("teams", world.teams, 0, 1000);
    in.read_real("speed_mps", world.player_speed_mps, 0, 1000);
    in.read_real("cloaked_share", world.player_cloaked_share, 0, 1);
    in.finish();
}

void read_kinds(const toml::table& kinds, WorldFile& world) {
    for (const auto& [key, node] : kinds) {
        const std::string name(key.str());
        if (!node.is_table())
            throw WorldError{world.path + ": 'kinds." + name + "' must be a table"};
        StrictTable in(*node.as_table(), world.path, "kinds." + name);
        KindEntry kind;
        kind.name = name;
        std::string motion = "wander";
        in.read("motion", motion);
        if (motion == "rest") {
            kind.motion = Motion::rest;
        } else if (motion == "wander") {
            kind.motion = Motion::wander;
        } else if (motion == "herd") {
            kind.motion = Motion::herd;
        } else if (motion == "patrol") {
            kind.motion = Motion::patrol;
        } else {
            in.fail(*in.find("motion"),
                    "'kinds." + name + ".motion' must be rest, wander, herd or patrol");
        }
        in.read_real("speed_mps", kind.speed_mps, 0, 1000);
        in.read_real("rest_share", kind.rest_share, 0, 1);
        in.read_real("cloaked_share", kind.cloaked_share, 0, 1);
        in.read_real("urgency", kind.urgency, 0.001, 1000);
        in.read_integer("cargo", kind.cargo, 0, 63);
        in.finish();
        world.kinds.push_back(kind);
    }
}

NodeEntry read_node(const toml::node& node, WorldFile& world) {
    if (!node.is_table())
        throw WorldError{world.path + ": 'interest.node' must be a list of tables"};
    StrictTable in(*node.as_table(), world.path, "interest.node");
    NodeEntry entry;
    entry.where = in.where(node);
    std::string type = "grid";
    in.read("name", entry.name);
    in.read("type", type);
    if (type == "grid") {
        entry.type = NodeType::grid;
    } else if (type == "everything") {
        entry.type = NodeType::everything;
    } else {
        in.fail(*in.find("type"), "'interest.node.type' must be grid or everything");
    }
    if (const toml::array* steps = in.array("steps")) {
        for (const toml::node& step : *steps) {
            if (!step.is_string())
                in.fail(step, "a step must be a text such as \"add within 60 leave 66\"");
            entry.steps.push_back({step.as_string()->get(), in.where(step)});
        }
    }
    in.finish();
    if (entry.name.empty()) entry.name = "node " + std::to_string(world.nodes.size() + 1);
    return entry;
}

void read_interest(const toml::table& table, WorldFile& world) {
    StrictTable in(table, world.path, "interest");
    in.read_real("cell_m", world.cell_m, 0, 1e6);
    if (const toml::array* nodes = in.array("node")) {
        for (const toml::node& node : *nodes) world.nodes.push_back(read_node(node, world));
    }
    in.finish();
}

WorldFile read_world(const toml::table& root, const std::string& path) {
    WorldFile world;
    world.path = path;
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
    if (interest != nullptr) read_interest(*interest, world);
    if (world.name.empty()) world.name = "unnamed";
    return world;
}

/// Words of a step; a quoted name may hold blanks.
std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (const char c : text) {
        if (c == '\'') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            if (!word.empty()) words.push_back(word);
            word.clear();
        } else {
            word.push_back(c);
        }
    }
    if (!word.empty()) words.push_back(word);
    return words;
}

bool read_metres(const std::string& word, float& out) {
    const auto result = std::from_chars(word.data(), word.data() + word.size(), out);
    return result.ec == std::errc{} && result.ptr == word.data() + word.size() &&
           std::isfinite(out) && out > 0;
}

template <class Map>
std::string names_in(const Map& map) {
    std::string text;
    for (const auto& entry : map) text += (text.empty() ? "" : ", ") + entry.first;
    return text.empty() ? "there is none" : "there is " + text;
}

}  // namespace

Loaded<StepDesc> parse_step(const StepText& step, const RuleNames& names) {
    const auto problem = [&](const std::string& text) {
        return Problem{step.where + ": step \"" + step.text + "\": " + text};
    };
    const std::vector<std::string> words = words_of(step.text);
    if (words.size() < 3)
        return problem("must be 'add', 'subtract' or 'require', and what to look at");
    StepDesc out;
    if (words[0] == "add") {
        out.op = StepOp::add;
    } else if (words[0] == "subtract") {
        out.op = StepOp::subtract;
    } else if (words[0] == "require") {
        out.op = StepOp::require;
    } else {
        return problem("'" + words[0] + "' is not add, subtract or require");
    }
    if (words[1] == "within") {
        out.kernel.type = KernelType::distance;
        const bool leaves = words.size() == 5 && words[3] == "leave";
        if ((words.size() != 3 && !leaves) || !read_metres(words[2], out.kernel.enter_m) ||
            (leaves && !read_metres(words[4], out.kernel.leave_m))) {
            return problem("must be 'within METRES' or 'within METRES leave METRES', above 0");
        }
        if (!leaves) out.kernel.leave_m = out.kernel.enter_m;
        if (out.kernel.leave_m < out.kernel.enter_m)
            return problem("leave must not be below within");
        return out;
    }
    if (words.size() != 3) return problem("has too many words");
    if (words[1] == "same") {
        const auto found = names.keys.find(words[2]);
        if (found == names.keys.end())
            return problem("no key '" + words[2] + "': " + names_in(names.keys));
        out.kernel.type = KernelType::same_group;
        out.kernel.domain = found->second;
        return out;
    }
    if (words[1] == "flag") {
        const auto found = names.flags.find(words[2]);
        if (found == names.flags.end())
            return problem("no flag '" + words[2] + "': " + names_in(names.flags));
        out.kernel.type = KernelType::flag;
        out.kernel.flag = found->second;
        return out;
    }
    return problem("'" + words[1] + "' is not within, same or flag");
}

Loaded<InterestRules> compile_rules(const WorldFile& world, const RuleNames& names) {
    InterestRules rules;
    rules.cell_m = world.cell_m;
    if (world.map) {
        rules.bounds_max = {world.map->width_m(), world.map->height_m(), 0};
    } else if (world.trace) {
        rules.bounds_min = {world.trace->min.x - 1, world.trace->min.y - 1, 0};
        rules.bounds_max = {world.trace->max.x + 1, world.trace->max.y + 1, 0};
    }
    for (const NodeEntry& entry : world.nodes) {
        NodeDesc node;
        node.name = entry.name;
        node.type = entry.type;
        for (const StepText& text : entry.steps) {
            const auto step = parse_step(text, names);
            if (!step) return Problem{step.problem()};
            node.steps.push_back(*step);
        }
        rules.nodes.push_back(std::move(node));
    }
    if (const std::string wrong = problem_of(rules); !wrong.empty()) {
        return Problem{world.path + ": interest: " + wrong};
    }
    return rules;
}

Loaded<WorldFile> parse_world_file(const std::string& path, const std::string& text) {
    try {
        return read_world(toml::parse(text, path), path);
    } catch (const toml::parse_error& error) {
        return Problem{path + ":" + std::to_string(error.source().begin.line) + ":" +
                       std::to_string(error.source().begin.column) + ": " +
                       std::string(error.description())};
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
