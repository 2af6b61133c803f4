// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "scene/tile_map.hpp"
#include "scene/trace.hpp"
#include "scene/world_file.hpp"

namespace purview::test {

namespace {

/// A file with this text. It is deleted at the end of the test.
class TextFile {
  public:
    /// The name contains the process id because tests run in parallel.
    TextFile(const std::string& name, const std::string& text)
        : path("purview-test-" + std::to_string(getpid()) + "-" + name) {
        std::ofstream(path, std::ios::binary) << text;
    }
    ~TextFile() { std::remove(path.c_str()); }
    std::string path;
};

/// Replaces one part of a text, which must be there.
std::string with(std::string text, const std::string& part, const std::string& other) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), other);
}

/// Old form: no orientation, properties as tables, tileproperties.
const std::string old_map = R"({"width":4,"height":3,"tilewidth":32,"tileheight":16,
 "layers":[
  {"name":"ground","type":"tilelayer","width":4,"height":3,"data":[1,2,1,1, 1,1,2147483650,1, 1,1,1,9]},
  {"name":"roaming","type":"objectgroup","objects":[
    {"type":"rat","x":64,"y":16,"width":64,"height":16,"properties":{"nb":"3"}},
    {"gid":77,"type":"","x":32,"y":32,"width":32,"height":16,"properties":{}}]}],
 "tilesets":[{"firstgid":1,"tilecount":2,"tilewidth":32,"tileheight":16,"imagewidth":64,"imageheight":16,
   "tileproperties":{"1":{"c":""}}}]})";

/// New form: the same world.
const std::string new_map =
    R"({"type":"map","orientation":"orthogonal","infinite":false,"width":4,"height":3,"tilewidth":32,"tileheight":16,
 "layers":[{"name":"g","type":"group","layers":[
  {"name":"ground","type":"tilelayer","width":4,"height":3,"data":[1,2,1,1, 1,1,2147483650,1, 1,1,1,9]}]},
  {"name":"roaming","type":"objectgroup","objects":[
    {"class":"rat","x":64,"y":16,"width":64,"height":16,"properties":[{"name":"nb","type":"int","value":3}]},
    {"gid":77,"type":"","x":32,"y":32,"width":32,"height":16}]}],
 "tilesets":[{"firstgid":1,"tilecount":2,"tiles":[{"id":1,"properties":[{"name":"c","type":"bool","value":true}]}]}]})";

/// A map in the shape of Phaser Quest's: 172 x 314 tiles, walls, 23 groups of roaming monsters, and
/// 232 tile objects without a tileset.
std::string generated_map() {
    constexpr int width = 172, height = 314, groups = 23, monsters = 52, untiled = 232;
    std::string tiles, roaming, entities;
    for (int i = 0; i < width * height; ++i)
        tiles += (i == 0 ? "" : ",") + std::to_string(i % 7 == 3 || i % width == 0 ? 2 : 1);
    for (int i = 0; i < groups; ++i) {
        const int count = monsters / groups + (i < monsters % groups ? 1 : 0);
        roaming += (i == 0 ? "" : ",") + (R"({"type":"rat","x":)" + std::to_string(i * 64)) +
                   R"(,"y":320,"width":64,"height":64,"properties":{"nb":")" +
                   std::to_string(count) + "\"}}";
    }
    for (int i = 0; i < untiled; ++i)
        entities += (i == 0 ? "" : ",") +
                    (R"({"gid":4000,"type":"","x":)" + std::to_string(i * 8)) +
                    R"(,"y":64,"width":32,"height":32,"properties":{}})";
    return R"({"width":172,"height":314,"tilewidth":32,"tileheight":32,"layers":[)"
           R"({"name":"layer0","type":"tilelayer","width":172,"height":314,"data":[)" +
           tiles + R"(]},{"name":"roaming","type":"objectgroup","objects":[)" + roaming +
           R"(]},{"name":"entities","type":"objectgroup","objects":[)" + entities +
           R"(]}],"tilesets":[{"firstgid":1,"tilecount":1960,"tilewidth":32,"tileheight":32,)"
           R"("imagewidth":640,"imageheight":3136,"tileproperties":{"1":{"c":""}}}]})";
}

/// A recorded crowd of this many people, each of them there for a part of the time.
std::string generated_crowd(int people) {
    std::string rows = "time,id,x,y,z,facing\n";
    for (int tick = 0; tick < 1'300; ++tick) {
        for (int person = 0; person < people; ++person) {
            if (tick % 5 != person % 5 || tick < person || tick > person + 700) continue;
            rows += std::to_string(tick / 16.0) + ',' + std::to_string(person) + ',' +
                    std::to_string(person % 20 + tick * 0.01) + ',' + std::to_string(person / 20) +
                    ",1.7,0\n";
        }
    }
    return rows;
}

void check_phaser_quest(const std::string& path) {
    auto map = scene::load_tile_map(path, {1.0F, "c"});
    REQUIRE_MESSAGE(map, map.problem());
    CHECK(map->width == 172);
    CHECK(map->height == 314);
    CHECK(scene::area_grid(*map, 34, 20).count() == 96);
    long monsters = 0;
    for (const auto& object : map->objects) {
        if (object.layer == "roaming") monsters += object.number("nb", 1).value_or(0);
    }
    CHECK(monsters == 52);
    const auto blocked = std::count(map->blocked.begin(), map->blocked.end(), 1);
    CHECK(blocked > 5000);
    CHECK(blocked < 50000);
    REQUIRE(map->warnings.size() == 1);
    CHECK(map->warnings[0] == "layer 'entities': 232 gids are in no tileset");
}

void check_crowd(const std::string& path, std::size_t people) {
    auto trace = scene::load_trace(path);
    REQUIRE_MESSAGE(trace, trace.problem());
    CHECK(trace->tracks.size() == people);
    CHECK(trace->duration_seconds > 60);
    for (const auto& track : trace->tracks) {
        CHECK(track.samples.front().seconds >= 0);
        CHECK(track.samples.back().seconds <= trace->duration_seconds);
    }
}

}  // namespace

TEST_CASE("scene: old and new Tiled files give the same blocked tiles and objects") {
    for (const std::string& text : {old_map, new_map}) {
        const TextFile file("map.json", text);
        auto map = scene::load_tile_map(file.path, {2.0F, "c"});
        REQUIRE_MESSAGE(map, map.problem());
        CHECK(map->width_m() == 8);
        CHECK(map->height_m() == 6);
        // Tile 2 blocks, also where it is mirrored (upper bits of the gid).
        CHECK(map->blocked == std::vector<std::uint8_t>{0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
        REQUIRE(map->objects.size() == 2);
        CHECK(map->objects[0].type == "rat");
        CHECK(map->objects[0].number("nb", 1) == 3);
        CHECK(map->objects[0].x_m == 4);
        CHECK(map->objects[0].y_m == 2);
        CHECK(map->objects[0].width == 4);
        CHECK(map->objects[1].y_m == 2);  // a tile object hangs from its lower left corner
        // A gid in no tileset is a warning with layer and count.
        REQUIRE(map->warnings.size() == 2);
        CHECK(map->warnings[0] == "layer 'ground': 1 gids are in no tileset");
        CHECK(map->warnings[1] == "layer 'roaming': 1 gids are in no tileset");
        CHECK(scene::area_grid(*map, 3, 2).count() == 4);
    }
}

TEST_CASE("scene: a tile with the collision property false does not block") {
    const auto blocked = [](const std::string& text) {
        const TextFile file("map.json", text);
        auto map = scene::load_tile_map(file.path, {2.0F, "c"});
        REQUIRE_MESSAGE(map, map.problem());
        return std::count(map->blocked.begin(), map->blocked.end(), 1);
    };
    CHECK(blocked(with(new_map, R"("value":true)", R"("value":false)")) == 0);
    CHECK(blocked(with(old_map, R"({"c":""})", R"({"c":false})")) == 0);
    CHECK(blocked(with(old_map, R"({"c":""})", R"({"c":true})")) == 2);
    // Only the boolean false counts. A text or a number still blocks.
    CHECK(blocked(with(new_map, R"("bool","value":true)", R"("string","value":"false")")) == 2);
    CHECK(blocked(with(new_map, R"("bool","value":true)", R"("int","value":0)")) == 2);
    CHECK(blocked(with(new_map, R"("bool","value":true)", R"("string")")) == 2);
}

TEST_CASE("scene: an invalid map is an error that names the file and the layer") {
    const auto problem = [](const std::string& text) {
        const TextFile file("map.json", text);
        auto map = scene::load_tile_map(file.path, {});
        CHECK_FALSE(map);
        CHECK(map.problem().find(file.path) == 0);
        return map.problem();
    };
    CHECK(problem("{ \"width\": 4,\n\n nonsense").find(":3: is not JSON") != std::string::npos);
    CHECK(problem("[]").find("is not a map") != std::string::npos);
    CHECK(problem(with(new_map, "orthogonal", "isometric")).find("isometric") != std::string::npos);
    CHECK(problem(with(new_map, "false", "true")).find("infinite") != std::string::npos);
    CHECK(problem(with(old_map, "1,2,1,1, ", ""))
              .find("layer 'ground': has 8 tiles, but the map has 12") != std::string::npos);
    CHECK(problem(with(old_map, "[1,2,1,1, 1,1,2147483650,1, 1,1,1,9]", "\"AQAA\""))
              .find("layer 'ground'") != std::string::npos);
    CHECK(problem(with(old_map, "objectgroup", "thinggroup"))
              .find("layer 'roaming' has the unknown type 'thinggroup'") != std::string::npos);
    CHECK(problem(with(old_map, "\"tilecount\":2", "\"source\":\"x.tsx\"")).find("embed") !=
          std::string::npos);
    CHECK(problem(with(old_map, "\"width\":4,\"height\":3,\"tilewidth\":32",
                       "\"width\":-4,\"height\":3,\"tilewidth\":32"))
              .find("'width'") != std::string::npos);
    for (const char* far : {R"("x":1e300,"y":16,"width":-1e300)", R"("x":64,"y":16,"width":1e300)",
                            R"("x":-1e300,"y":16,"width":64)", R"("x":64,"y":1e300,"width":64)"}) {
        CHECK(problem(with(old_map, R"("x":64,"y":16,"width":64)", far))
                  .find("layer 'roaming': an object's position and size must be finite") !=
              std::string::npos);
    }
    const auto missing = scene::load_tile_map("no-such-file.json", {});
    CHECK(missing.problem().find("no-such-file.json: cannot be read: No such file") == 0);
}

TEST_CASE("scene: layer groups nest at most 32 deep") {
    const auto nested = [](std::size_t depth) {
        std::string groups = R"({"name":"x","type":"imagelayer"})";
        for (std::size_t i = 0; i < depth; ++i)
            groups = R"({"name":"g","type":"group","layers":[)" + groups + "]}";
        return R"({"width":1,"height":1,"tilewidth":1,"tileheight":1,"layers":[)" + groups + "]}";
    };
    const TextFile good("good.json", nested(32));
    const auto map = scene::load_tile_map(good.path, {});
    REQUIRE_MESSAGE(map, map.problem());
    CHECK(map->layers.back() == "x");
    const TextFile bad("bad.json", nested(33));
    CHECK(scene::load_tile_map(bad.path, {}).problem() ==
          bad.path + ": layer 'g': more than 32 nested groups");
}

TEST_CASE("scene: properties other than texts, numbers and booleans are ignored") {
    const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
    const TextFile file(
        "map.json", with(old_map, R"({"nb":"3"})",
                         R"({"nb":3,"on":true,"list":[1],"table":{"a":1},"deep":)" + deep + "}"));
    const auto map = scene::load_tile_map(file.path, {});
    REQUIRE_MESSAGE(map, map.problem());
    auto properties = map->objects[0].properties;
    CHECK(properties["nb"] == "3");
    CHECK(properties["on"] == "true");
    CHECK(properties["list"].empty());
    CHECK(properties["table"].empty());
    CHECK(properties["deep"].empty());
}

TEST_CASE("scene: only regular files of at most 256 MiB are read, and as a whole") {
    // /dev/null ends at once. It stands in for devices that never end.
    CHECK(scene::read_file("/dev/null").problem() ==
          "/dev/null: cannot be read: it is not a regular file");
    CHECK(scene::read_file(".").problem() == ".: cannot be read: it is not a regular file");
    const TextFile text("text", std::string("a\0b\n", 4));
    const auto read = scene::read_file(text.path);
    REQUIRE_MESSAGE(read, read.problem());
    CHECK(*read == std::string("a\0b\n", 4));
    const TextFile empty("empty", "");
    CHECK(scene::read_file(empty.path));
    std::filesystem::resize_file(text.path, scene::file_bytes_max + 1);  // a sparse file
    CHECK(scene::read_file(text.path).problem() ==
          text.path + ": cannot be read: it has 268435457 bytes, more than 268435456");
    // This file has more bytes than its reported size.
    if (std::filesystem::exists("/proc/self/status")) {
        CHECK(scene::read_file("/proc/self/status").problem() ==
              "/proc/self/status: cannot be read: it was read only in part, or changed during the "
              "read");
    }
}

TEST_CASE("scene: a map in the shape of Phaser Quest's has 96 areas and 52 monsters (P1)") {
    const TextFile file("quest.json", generated_map());
    check_phaser_quest(file.path);
}

TEST_CASE("scene: the Phaser Quest map loads like the generated one") {
    const std::string path =
        std::string(PURVIEW_SHARED_DIR) + "/data/maps/phaserquest-minimap.json";
    if (!std::ifstream(path)) {
        std::printf("SKIPPED: the Phaser Quest map is missing\n");
        return;
    }
    check_phaser_quest(path);
}

TEST_CASE("scene: a generated crowd loads, with each person between first and last row") {
    const TextFile file("crowd.csv", generated_crowd(304));
    check_crowd(file.path, 304);
}

TEST_CASE("scene: recorded crowds load, with each person between first and last row") {
    for (const auto& [name, people] : {std::pair{"crowd-hermes-bot-360-250-250.csv", 304},
                                       std::pair{"campus-ucy-students03.csv", 428}}) {
        const std::string path = std::string(PURVIEW_SHARED_DIR) + "/data/traces/" + name;
        if (!std::ifstream(path)) {
            std::printf("SKIPPED: the recorded crowds are missing\n");
            return;
        }
        check_crowd(path, people);
    }
}

TEST_CASE("scene: a trace error names the line") {
    const auto problem = [](const std::string& rows) {
        const TextFile file("trace.csv", rows);
        auto trace = scene::load_trace(file.path);
        CHECK_FALSE(trace);
        return trace.problem().substr(file.path.size());
    };
    const std::string header = "time,id,x,y,z,facing\n";
    CHECK(problem("time;id\n") == ":1: the header must be 'time,id,x,y,z,facing'");
    CHECK(problem(header) == ": has no rows");
    CHECK(problem(header + "1,1,0,0,0,0\n0.5,2,0,0,0,0\n") == ":3: rows must be in time order");
    CHECK(problem(header + "1,1,0,0,0\n") == ":2: must have six values");
    CHECK(problem(header + "1,1,0,0,0,0,9\n") == ":2: must have six values");
    CHECK(problem(header + "1,1,0,nan,0,0\n") == ":2: 'nan' is not a number");
    CHECK(problem(header + "1,one,0,0,0,0\n") == ":2: id must be a whole number");
    CHECK(problem(header + "1,1,0,0,0,0\n1,1,2,0,0,0\n") ==
          ":3: id 1 has two rows at the same time");
    for (const char* facing : {"1e30", "-1e300", "1.4e8", "100000.1"}) {
        CHECK(problem(header + "1,1,0,0,0," + facing + "\n") ==
              ":2: facing must be -100000 to 100000 radians, not '" + std::string(facing) + "'");
    }
    for (const char* far : {"1e300", "-1e39", "10000000.5"}) {
        CHECK(problem(header + "1,1,0," + far + ",0,0\n") ==
              ":2: positions must be -10000000 to 10000000 m, not '" + std::string(far) + "'");
    }
    const TextFile turned("turned.csv", header + "1,1,0,0,0,100000\n2,1,0,0,0,-100000\n");
    CHECK(scene::load_trace(turned.path));
}

TEST_CASE("scene: unknown keys and wrong types in world files have line and column") {
    const TextFile map("map.json", new_map);
    const std::string good =
        "name = \"w\"\n[map]\nfile = \"" + map.path +
        "\"\ncollision_property = \"c\"\n[[interest.node]]\nsteps = [\"add within 60 leave 66\", "
        "\"add same team\", \"subtract flag cloaked\"]\n";
    scene::RuleNames names;
    names.flags["cloaked"] = id_at<FlagId>(0);
    names.keys["team"] = id_at<KeyId>(0);
    auto world = scene::parse_world_file("w.toml", good);
    REQUIRE_MESSAGE(world, world.problem());
    auto rules = scene::compile_rules(*world, names);
    REQUIRE_MESSAGE(rules, rules.problem());
    REQUIRE(rules->nodes.size() == 1);
    REQUIRE(rules->nodes[0].steps.size() == 3);
    CHECK(rules->nodes[0].steps[0].leave == 66);
    CHECK(rules->nodes[0].steps[2].combine == Combine::subtract);

    const auto problem = [&](const std::string& text) {
        auto broken = scene::parse_world_file("w.toml", text);
        if (!broken) return broken.problem();
        auto compiled = scene::compile_rules(*broken, names);
        CHECK_FALSE(compiled);
        return compiled.problem();
    };
    CHECK(problem(good + "color = 3\n") == "w.toml:7:1: unknown key 'interest.node.color'");
    CHECK(problem("tick_hz = \"fast\"\n" + good) ==
          "w.toml:1:11: 'tick_hz' must be a whole number");
    CHECK(problem("tick_hz = 0\n" + good) == "w.toml:1:11: 'tick_hz' must be 1 to 1000");
    CHECK(scene::parse_world_file("w.toml", good + "[players]\nteams = 255\n"));
    CHECK(problem(good + "[players]\nteams = 256\n").find("'players.teams' must be 0 to 255") !=
          std::string::npos);
    CHECK(problem("= 3\n").find("w.toml:1:1: ") == 0);
    CHECK(problem("name = \"x\"\n") == "w.toml: a world needs either [map] or [trace]");
    CHECK(
        problem(with(good, "within 60 leave 66", "within 60 leave 50"))
            .find("w.toml:6:31: step \"add within 60 leave 50\": leave must not be below within") ==
        0);
    CHECK(problem(with(good, "same team", "same clan")).find("no key 'clan'; available: team") !=
          std::string::npos);
    CHECK(problem(with(good, "flag cloaked", "flag invisible"))
              .find("no flag 'invisible'; available: cloaked") != std::string::npos);
    CHECK(problem(with(good, "add same", "plus same"))
              .find("'plus' is not add, subtract or require") != std::string::npos);
    CHECK(problem(with(good, map.path, "elsewhere.json")).find("elsewhere.json: cannot be read") !=
          std::string::npos);
    CHECK(
        problem(good + "[map.objects]\nnowhere = \"x\"\n").find("the map has no layer 'nowhere'") !=
        std::string::npos);
}

}  // namespace purview::test
