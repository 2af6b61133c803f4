// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world_setup.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace purview::app {

namespace {

/// A world file and its map. Both files are deleted at the end of the test.
class SmallMap {
  public:
    /// `properties`: the properties of the goblins in layer `layer`.
    explicit SmallMap(const std::string& layer = "roaming", const std::string& properties = "{}",
                      const std::string& type = "goblin") {
        std::ofstream(map_)
            << R"({"width":9,"height":9,"tilewidth":32,"tileheight":32,"tilesets":[],"layers":[)"
            << R"({"name":")" << layer << R"(","type":"objectgroup","objects":[)"
            << R"({"type":")" << type << R"(","x":1,"y":1,"properties":)" << properties << "}]},"
            << R"({"name":"things","type":"objectgroup","objects":[{"type":"","x":9,"y":9}]}]})";
    }
    ~SmallMap() {
        std::remove(map_.c_str());
        std::remove(file_.c_str());
    }
    SmallMap(const SmallMap&) = delete;
    SmallMap& operator=(const SmallMap&) = delete;

    scene::Loaded<std::unique_ptr<WorldSetup>> load(const std::string& more) const {
        std::ofstream(file_) << "[map]\nfile = '" << map_ << "'\n" << more;
        return load_world(WorldSource::toml, file_);
    }
    std::vector<std::string> warnings(const std::string& more) const {
        const auto world = load(more);
        REQUIRE_MESSAGE(world, world.problem());
        return (*world)->file.warnings;
    }
    std::string problem(const std::string& more) const {
        const auto world = load(more);
        REQUIRE_FALSE(world);
        return world.problem();
    }

  private:
    /// The names contain the process id because tests run in parallel.
    std::string map_ = "purview-test-" + std::to_string(getpid()) + "-setup.json";
    std::string file_ = "purview-test-" + std::to_string(getpid()) + "-setup.toml";
};

using Warnings = std::vector<std::string>;

}  // namespace

TEST_CASE("world setup: misspelled names that match nothing cause warnings") {
    const std::string kinds = "[kinds.goblin]\nhidden = true\n[kinds.cart]\nmode = 'global'\n";
    CHECK(SmallMap().warnings(kinds).empty());
    CHECK(SmallMap().warnings("[kinds.gobln]\nhidden = true\n") ==
          Warnings{"kinds.gobln: no entity of this world has this kind"});
    CHECK(SmallMap("Roaming").warnings("") == Warnings{"layer 'Roaming': did you mean 'roaming'?"});
    CHECK(SmallMap("Roaming").warnings("objects = { Roaming = 'rock' }\n").empty());
    CHECK(SmallMap("roaming", R"({"Nb":"20","TEAM":"1","Note":"x"})").warnings("") ==
          Warnings{"layer 'roaming': property 'Nb': did you mean 'nb'?",
                   "layer 'roaming': property 'TEAM': did you mean 'team'?"});
    const SmallMap fifth("roaming", R"({"team":"5"})");
    CHECK(fifth.warnings("[players]\nteams = 5\n").empty());
    CHECK(fifth.warnings("[players]\nteams = 2\n") ==
          Warnings{"layer 'roaming': there is no team 5: players.teams is 2"});
}

TEST_CASE("world setup: layer objects do not move unless their kind sets a motion") {
    const auto motion_of_rocks = [](const std::string& more) {
        const auto world = SmallMap().load("objects = { things = 'rock' }\n" + more);
        REQUIRE_MESSAGE(world, world.problem());
        for (const vale::KindSetup& kind : (*world)->setup.kinds) {
            if (kind.name == "rock") return kind.motion;
        }
        return vale::Motion::herd;
    };
    CHECK(motion_of_rocks("") == vale::Motion::rest);
    CHECK(motion_of_rocks("[kinds.rock]\npriority = 2.0\n") == vale::Motion::rest);
    CHECK(motion_of_rocks("[kinds.rock]\nmotion = 'wander'\n") == vale::Motion::wander);
    CHECK(motion_of_rocks("[kinds.goblin]\npriority = 2.0\n") == vale::Motion::rest);
}

TEST_CASE("world setup: a map cannot contain kinds that the game itself spawns") {
    const auto ends_with = [](const std::string& text, const std::string& end) {
        return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
    };
    CHECK(ends_with(SmallMap("roaming", "{}", "player").problem(""),
                    ".toml: layer 'roaming': kind 'player' is reserved for the game"));
    CHECK(ends_with(SmallMap().problem("objects = { things = 'crate' }\n"),
                    ".toml: layer 'things': kind 'crate' is reserved for the game"));
}

TEST_CASE("world setup: nb and team must be whole numbers") {
    const auto counts = [](const std::string& properties) {
        const auto world = SmallMap("roaming", properties).load("");
        REQUIRE_MESSAGE(world, world.problem());
        const vale::SpawnSetup& spawn = (*world)->setup.spawns.at(0);
        return std::pair(spawn.count, spawn.team);
    };
    CHECK(counts("{}") == std::pair(1U, 0U));
    CHECK(counts(R"({"nb":20,"team":2})") == std::pair(20U, 2U));
    CHECK(counts(R"({"nb":"0","team":"8"})") == std::pair(0U, 8U));
    // A JSON value, and its form in the error message.
    const std::pair<const char*, const char*> wrong[] = {
        {"\"many\"", "many"},
        {"true", "true"},
        {"5.9", "5.9"},
        {"1e300", "1e+300"},
        {"-1", "-1"},
        {"1000001", "1000001"},
        {"\"99999999999999999999\"", "99999999999999999999"},
        {"\"5 sheep\"", "5 sheep"},
        {"\"\"", ""},
        {"[5]", ""}};
    for (const auto& [value, reported] : wrong) {
        for (const auto& [property, max] :
             {std::pair<std::string, std::string>{"nb", "1000000"}, {"team", "1000"}}) {
            const std::string text = "{\"" + property + "\":" + value + "}";
            const std::string expected = "layer 'roaming': property '" + property +
                                         "' must be a whole number from 0 to " + max + ", not '" +
                                         reported + "'";
            const std::string problem = SmallMap("roaming", text).problem("");
            CHECK_MESSAGE(problem.find(expected) != std::string::npos, text, ": ", problem);
        }
    }
}

}  // namespace purview::app
