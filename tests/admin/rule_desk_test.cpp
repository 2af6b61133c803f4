// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules of an operator that make far more relevant than what runs: only by force.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "admin/operator_channel.hpp"
#include "core/internal_access.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using nlohmann::json;

struct Asked {
    Asked() {
        for (int i = 0; i < 3; ++i) world.add_client();
        world.run(40);
        REQUIRE(world.joined_count() == 3);
    }
    json ask(const json& request) {
        said.clear();
        channel.message(1, request.dump());
        REQUIRE(said.size() == 1);
        return said[0];
    }
    json set(const char* step, const json& force = nullptr) {
        json request = {{"op", "set_rules"},
                        {"nodes", json::array({{{"name", "one"}, {"steps", {step}}}})}};
        if (!force.is_null()) request["force"] = force;
        json told = ask(request);
        world.step();
        return told;
    }
    std::uint64_t relevant() {
        std::uint64_t all = 0;
        for (const auto& session : internal(*world.server).sessions)
            all += relevant_count(internal(world.server->visibility()), session->observer);
        return all;
    }

    SmallWorld world{41, {}};
    std::vector<json> said;
    admin::OperatorChannel channel{*world.server,
                                   [this](std::uint32_t, std::string_view text, bool binary) {
                                       if (!binary) said.push_back(json::parse(text));
                                   }};
};

}  // namespace

TEST_CASE(
    "operator: rules that make too much relevant are refused with the numbers, but for force") {
    Asked asked;
    CHECK(asked.channel.rules().pairs_max == 400'000);
    const std::uint64_t entities = asked.world.server->stats().entities;
    REQUIRE(entities > 30);
    CHECK(asked.set("add within 5")["op"] == "rules");
    const std::uint64_t before = asked.relevant();
    REQUIRE(2 * before < 3 * entities);
    asked.channel.rules().pairs_max = 3 * entities / 2;

    const json refused = asked.set("add within 1000000");
    CHECK(refused["op"] == "error");
    CHECK(refused["about"] == "set_rules");
    const std::string text = refused["text"];
    INFO(text);
    CHECK(text.find(" entities relevant to each of 3 observers, ") != std::string::npos);
    CHECK(text.find(" pairs (now " + std::to_string(before) + "), which take some 1 MiB; ") !=
          std::string::npos);
    CHECK(text.ends_with("without 'force' at most " + std::to_string(3 * entities / 2) +
                         " pairs are set"));
    CHECK(asked.relevant() < 3 * entities / 2);  // nothing has changed

    CHECK(asked.set("add within 1000000", "yes")["text"] == "'force' must be true or false");
    CHECK(asked.set("add within 1000000", false)["op"] == "error");
    CHECK(asked.set("add within 1000000", true)["op"] == "rules");
    const std::uint64_t all = asked.relevant();
    CHECK(all > 2 * entities);
    // Where as much is relevant already, these are nothing new; and fewer always are welcome.
    CHECK(asked.set("add within 900000")["op"] == "rules");
    CHECK(asked.set("add within 5")["op"] == "rules");
    CHECK(asked.relevant() < all);
}

TEST_CASE("operator: a dry run says how many pairs there are and would be") {
    Asked asked;
    const json tried =
        asked.ask({{"op", "try_rules"},
                   {"nodes", json::array({{{"name", "one"}, {"steps", {"add within 1000000"}}}})}});
    CHECK(tried["op"] == "try_rules");
    CHECK(tried["pairs_then"].get<std::uint64_t>() == tried["pairs_now"].get<std::uint64_t>() +
                                                          tried["gains"].get<std::uint64_t>() -
                                                          tried["losses"].get<std::uint64_t>());
}

}  // namespace purview::test
