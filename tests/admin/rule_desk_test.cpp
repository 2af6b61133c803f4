// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Operator rules that make many more pairs relevant than the current rules need `force`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "admin/operator_channel.hpp"
#include "core/internal_access.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using nlohmann::json;

struct Requests {
    Requests() {
        for (int i = 0; i < 3; ++i) world.add_client();
        world.run(40);
        REQUIRE(world.joined_count() == 3);
    }
    json query(const json& request) {
        replies.clear();
        channel.message(1, request.dump());
        REQUIRE(replies.size() == 1);
        return replies[0];
    }
    json set(const char* step, const json& force = nullptr) {
        json request = {{"op", "set_rules"},
                        {"nodes", json::array({{{"name", "one"}, {"steps", {step}}}})}};
        if (!force.is_null()) request["force"] = force;
        json reply = query(request);
        world.step();
        return reply;
    }
    std::uint64_t relevant() {
        std::uint64_t all = 0;
        for (const auto& session : internal(*world.server).sessions)
            all += relevant_count(internal(world.server->visibility()), session->observer);
        return all;
    }

    SmallWorld world{41, {}};
    std::vector<json> replies;
    admin::OperatorChannel channel{*world.server,
                                   [this](std::uint32_t, std::string_view text, bool binary) {
                                       if (!binary) replies.push_back(json::parse(text));
                                   }};
};

}  // namespace

TEST_CASE("operator: rules beyond the pair limit are refused without force") {
    Requests requests;
    CHECK(requests.channel.rules().pairs_max == 400'000);
    const std::uint64_t entities = requests.world.server->stats().entities;
    REQUIRE(entities > 30);
    CHECK(requests.set("add within 5")["op"] == "rules");
    const std::uint64_t before = requests.relevant();
    REQUIRE(2 * before < 3 * entities);
    requests.channel.rules().pairs_max = 3 * entities / 2;

    const json refused = requests.set("add within 1000000");
    CHECK(refused["op"] == "error");
    CHECK(refused["about"] == "set_rules");
    const std::string text = refused["text"];
    INFO(text);
    CHECK(text.find(" entities relevant to each of 3 observers: ") != std::string::npos);
    CHECK(text.find(" pairs (now " + std::to_string(before) + "), about 1 MiB; ") !=
          std::string::npos);
    CHECK(text.ends_with("the limit without 'force' is " + std::to_string(3 * entities / 2) +
                         " pairs"));
    CHECK(requests.relevant() < 3 * entities / 2);  // nothing has changed

    CHECK(requests.set("add within 1000000", "yes")["text"] == "'force' must be true or false");
    CHECK(requests.set("add within 1000000", false)["op"] == "error");
    CHECK(requests.set("add within 1000000", true)["op"] == "rules");
    const std::uint64_t all = requests.relevant();
    CHECK(all > 2 * entities);
    // Rules with no more pairs than the current ones need no force.
    CHECK(requests.set("add within 900000")["op"] == "rules");
    CHECK(requests.set("add within 5")["op"] == "rules");
    CHECK(requests.relevant() < all);
}

TEST_CASE("operator: a dry run reports the current and the resulting pair count") {
    Requests requests;
    const json tried = requests.query(
        {{"op", "try_rules"},
         {"nodes", json::array({{{"name", "one"}, {"steps", {"add within 1000000"}}}})}});
    CHECK(tried["op"] == "try_rules");
    CHECK(tried["pairs_then"].get<std::uint64_t>() == tried["pairs_now"].get<std::uint64_t>() +
                                                          tried["gains"].get<std::uint64_t>() -
                                                          tried["losses"].get<std::uint64_t>());
}

}  // namespace purview::test
