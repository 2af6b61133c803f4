// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/tile_map.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace purview::scene {

using nlohmann::json;

Loaded<std::string> read_file(const std::string& path) {
    const auto problem = [&](const std::string& why) {
        return Problem{path + ": cannot be read: " + why};
    };
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error) return problem(error.message());
    // A device or a pipe may be endless or block.
    if (!std::filesystem::is_regular_file(status)) return problem("it is not a regular file");
    const auto size = std::filesystem::file_size(path, error);
    if (error) return problem(error.message());
    if (size > file_bytes_max) {
        return problem("it has " + std::to_string(size) + " bytes, more than " +
                       std::to_string(file_bytes_max));
    }
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) return problem(errno != 0 ? std::strerror(errno) : "it cannot be opened");
    std::string text(static_cast<std::size_t>(size), '\0');
    in.read(text.data(), static_cast<std::streamsize>(size));
    if (static_cast<std::uintmax_t>(in.gcount()) != size ||
        in.peek() != std::ifstream::traits_type::eof()) {
        return problem("it was read only in part, or changed during the read");
    }
    return text;
}

std::optional<long> MapObject::number(const std::string& property, long otherwise) const {
    const auto found = properties.find(property);
    if (found == properties.end()) return otherwise;
    const std::string& text = found->second;
    const char* end = text.data() + text.size();
    long value = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

namespace {

constexpr std::uint32_t gid_mask = 0x1fffffffU;  // the upper bits contain the orientation of a tile
constexpr std::size_t tiles_max = 64U << 20;
// More than any real map; each level is a recursive call.
constexpr std::uint32_t groups_depth_max = 32;

struct Tileset {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::set<std::uint32_t> blocking;  ///< by gid
};

/// Thrown only within this file; load_tile_map catches it.
struct MapError {
    std::string text;
};

/// Returns an empty string for tables and lists: they are not needed, and printing them is
/// recursive.
std::string text_of(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_structured() ? std::string() : value.dump();
}

/// Calls visit(name, value) for properties in the old form {name: value} or the new one [{name,
/// value}].
template <class Visit>
void for_each_property(const json& properties, Visit&& visit) {
    if (properties.is_object()) {
        for (const auto& [name, value] : properties.items()) visit(name, value);
    } else if (properties.is_array()) {
        const json nothing = "";
        for (const auto& property : properties) {
            if (property.is_object() && property.contains("name") && property["name"].is_string()) {
                visit(property["name"].get<std::string>(),
                      property.contains("value") ? property["value"] : nothing);
            }
        }
    }
}

std::map<std::string, std::string> read_properties(const json& owner) {
    std::map<std::string, std::string> out;
    const auto found = owner.find("properties");
    if (found == owner.end()) return out;
    for_each_property(
        *found, [&](const std::string& name, const json& value) { out[name] = text_of(value); });
    return out;
}

/// Tiled also stores an unset checkbox, which counts as absent.
bool has_property(const json& properties, const std::string& wanted) {
    bool has = false;
    for_each_property(properties, [&](const std::string& name, const json& value) {
        has |= name == wanted && value != json(false);
    });
    return has;
}

std::uint32_t unsigned_of(const json& owner, const char* key, const std::string& where) {
    const auto found = owner.find(key);
    if (found == owner.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0) {
        throw MapError{where + ": '" + key + "' must be a whole number of 0 or more"};
    }
    return static_cast<std::uint32_t>(
        std::min<std::int64_t>(found->get<std::int64_t>(), 0xffffffffLL));
}

float real_of(const json& owner, const char* key) {
    const auto found = owner.find(key);
    return found != owner.end() && found->is_number() ? found->get<float>() : 0.0F;
}

std::string string_of(const json& owner, const char* key) {
    const auto found = owner.find(key);
    return found != owner.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Tileset read_tileset(const json& set, std::size_t number, const std::string& collision_property) {
    const std::string where = "tileset " + std::to_string(number + 1);
    if (!set.is_object()) throw MapError{where + " is not a table"};
    if (set.contains("source")) {
        throw MapError{where + " is external ('" + string_of(set, "source") +
                       "'): embed it in the map (Tiled: Embed Tileset)"};
    }
    Tileset out;
    out.first = unsigned_of(set, "firstgid", where);
    out.count = set.contains("tilecount")
                    ? unsigned_of(set, "tilecount", where)
                    : (unsigned_of(set, "imagewidth", where) /
                       std::max(1U, unsigned_of(set, "tilewidth", where))) *
                          (unsigned_of(set, "imageheight", where) /
                           std::max(1U, unsigned_of(set, "tileheight", where)));
    if (collision_property.empty()) return out;
    if (const auto old = set.find("tileproperties"); old != set.end() && old->is_object()) {
        for (const auto& [id, properties] : old->items()) {
            if (has_property(properties, collision_property)) {
                out.blocking.insert(
                    out.first + static_cast<std::uint32_t>(std::strtoul(id.c_str(), nullptr, 10)));
            }
        }
    }
    if (const auto tiles = set.find("tiles"); tiles != set.end() && tiles->is_array()) {
        for (const auto& tile : *tiles) {
            if (tile.contains("properties") &&
                has_property(tile["properties"], collision_property)) {
                out.blocking.insert(out.first + unsigned_of(tile, "id", where));
            }
        }
    }
    return out;
}

class MapReader {
  public:
    MapReader(const json& root, const MapOptions& options) : root_(root), options_(options) {}

    TileMap read() {
        if (!root_.is_object()) throw MapError{"is not a map (a JSON table)"};
        if (const std::string o = string_of(root_, "orientation");
            !o.empty() && o != "orthogonal") {
            throw MapError{"orientation '" + o + "' is not supported, only orthogonal"};
        }
        if (root_.value("infinite", false)) throw MapError{"infinite maps are not supported"};
        map_.width = unsigned_of(root_, "width", "map");
        map_.height = unsigned_of(root_, "height", "map");
        tile_width_ = static_cast<float>(unsigned_of(root_, "tilewidth", "map"));
        tile_height_ = static_cast<float>(unsigned_of(root_, "tileheight", "map"));
        if (map_.width == 0 || map_.height == 0 || tile_width_ == 0 || tile_height_ == 0) {
            throw MapError{"width, height, tilewidth and tileheight must be above 0"};
        }
        if (std::size_t{map_.width} * map_.height > tiles_max)
            throw MapError{"more than 64 million tiles"};
        map_.tile_m = options_.meters_per_tile;
        map_.blocked.assign(std::size_t{map_.width} * map_.height, 0);
        const auto sets = root_.find("tilesets");
        if (sets != root_.end() && sets->is_array()) {
            for (std::size_t i = 0; i < sets->size(); ++i) {
                tilesets_.push_back(read_tileset((*sets)[i], i, options_.collision_property));
            }
        }
        const auto layers = root_.find("layers");
        if (layers == root_.end() || !layers->is_array()) throw MapError{"has no list 'layers'"};
        for (std::size_t i = 0; i < layers->size(); ++i) read_layer((*layers)[i], i, 0);
        return std::move(map_);
    }

  private:
    /// `depth`: number of enclosing groups.
    void read_layer(const json& layer, std::size_t number, std::uint32_t depth) {
        if (!layer.is_object())
            throw MapError{"layer " + std::to_string(number + 1) + " is not a table"};
        const std::string name = string_of(layer, "name");
        const std::string where =
            "layer '" + (name.empty() ? std::to_string(number + 1) : name) + "'";
        const std::string type = string_of(layer, "type");
        map_.layers.push_back(name);
        unknown_gids_ = 0;
        if (type == "tilelayer") {
            read_tiles(layer, where);
        } else if (type == "objectgroup") {
            read_objects(layer, name, where);
        } else if (type == "group") {
            const auto inner = layer.find("layers");
            if (inner == layer.end() || !inner->is_array())
                throw MapError{where + " has no list 'layers'"};
            if (depth == groups_depth_max) {
                throw MapError{where + ": more than " + std::to_string(groups_depth_max) +
                               " nested groups"};
            }
            for (std::size_t i = 0; i < inner->size(); ++i) read_layer((*inner)[i], i, depth + 1);
            return;
        } else if (type != "imagelayer") {
            throw MapError{where + " has the unknown type '" + type + "'"};
        }
        if (unknown_gids_ > 0) {
            map_.warnings.push_back(where + ": " + std::to_string(unknown_gids_) +
                                    " gids are in no tileset");
        }
    }

    const Tileset* find(std::uint32_t gid) const {
        for (const Tileset& set : tilesets_) {
            if (gid >= set.first && gid - set.first < set.count) return &set;
        }
        return nullptr;
    }

    void read_tiles(const json& layer, const std::string& where) {
        const auto data = layer.find("data");
        if (data == layer.end() || !data->is_array()) {
            throw MapError{
                where +
                ": its data is not a plain list (save the map with the tile layer format CSV)"};
        }
        if (data->size() != map_.blocked.size()) {
            throw MapError{where + ": has " + std::to_string(data->size()) +
                           " tiles, but the map has " + std::to_string(map_.blocked.size())};
        }
        for (std::size_t i = 0; i < data->size(); ++i) {
            if (!(*data)[i].is_number_integer()) {
                throw MapError{where + ": tile " + std::to_string(i) + " is not a whole number"};
            }
            const auto gid = static_cast<std::uint32_t>((*data)[i].get<std::int64_t>()) & gid_mask;
            if (gid == 0) continue;
            const Tileset* set = find(gid);
            if (set == nullptr) {
                ++unknown_gids_;
            } else if (set->blocking.count(gid) != 0) {
                map_.blocked[i] = 1;
            }
        }
    }

    void read_objects(const json& layer, const std::string& name, const std::string& where) {
        const auto objects = layer.find("objects");
        if (objects == layer.end() || !objects->is_array())
            throw MapError{where + ": has no list 'objects'"};
        for (const json& object : *objects) {
            if (!object.is_object()) throw MapError{where + ": an object is not a table"};
            MapObject out;
            out.layer = name;
            out.name = string_of(object, "name");
            out.type = string_of(object, object.contains("class") ? "class" : "type");
            const float scale_x = options_.meters_per_tile / tile_width_;
            const float scale_y = options_.meters_per_tile / tile_height_;
            out.x_m = real_of(object, "x") * scale_x;
            out.y_m = real_of(object, "y") * scale_y;
            out.width = real_of(object, "width") * scale_x;
            out.height = real_of(object, "height") * scale_y;
            if (object.contains("gid")) {
                out.y_m -= out.height;  // a tile object has its origin at the lower left
                const auto gid = unsigned_of(object, "gid", where) & gid_mask;
                if (find(gid) == nullptr) ++unknown_gids_;
            }
            if (!std::isfinite(out.x_m + out.width) || !std::isfinite(out.y_m + out.height))
                throw MapError{where + ": an object's position and size must be finite"};
            out.properties = read_properties(object);
            map_.objects.push_back(std::move(out));
        }
    }

    const json& root_;
    const MapOptions& options_;
    TileMap map_;
    std::vector<Tileset> tilesets_;
    float tile_width_ = 0;
    float tile_height_ = 0;
    std::size_t unknown_gids_ = 0;
};

}  // namespace

Loaded<TileMap> load_tile_map(const std::string& path, const MapOptions& options) {
    const auto text = read_file(path);
    if (!text) return Problem{text.problem()};
    try {
        const json root = json::parse(*text);
        return MapReader(root, options).read();
    } catch (const json::parse_error& error) {
        const auto end =
            text->begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text->size()));
        const auto line = 1 + std::count(text->begin(), end, '\n');
        return Problem{path + ":" + std::to_string(line) + ": is not JSON: " + error.what()};
    } catch (const json::exception& error) {
        return Problem{path + ": " + error.what()};
    } catch (const MapError& error) {
        return Problem{path + ": " + error.text};
    }
}

AreaGrid area_grid(const TileMap& map, std::uint32_t area_width_tiles,
                   std::uint32_t area_height_tiles) {
    AreaGrid grid;
    if (area_width_tiles == 0 || area_height_tiles == 0) return grid;
    grid.columns = (map.width + area_width_tiles - 1) / area_width_tiles;
    grid.rows = (map.height + area_height_tiles - 1) / area_height_tiles;
    return grid;
}

}  // namespace purview::scene
