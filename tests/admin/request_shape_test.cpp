// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/request_shape.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "admin/operator_channel.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using nlohmann::json;

std::string repeated(const std::string& what, std::size_t count) {
    std::string all;
    all.reserve(what.size() * count);
    for (std::size_t i = 0; i < count; ++i) all += what;
    return all;
}

/// The largest rules that docs/limits.md allows: the maximum of nodes, steps and step length.
json largest_rules() {
    json nodes = json::array();
    for (int n = 0; n < 64; ++n) {
        json steps = json::array();
        for (int s = 0; s < 32; ++s) steps.push_back(std::string(500, 's'));
        nodes.push_back({{"name", std::string(63, 'n')},
                         {"type", "grid"},
                         {"members", "all"},
                         {"combine", "add"},
                         {"refresh", "exact"},
                         {"mode", "single"},
                         {"widen_m", 1},
                         {"lazy_leave", true},
                         {"enabled", true},
                         {"priority", 1},
                         {"every_ticks", 1},
                         {"leave", "despawn"},
                         {"steps", steps}});
    }
    return {{"op", "set_rules"}, {"nodes", nodes}, {"revision", 1}, {"id", 1}};
}

}  // namespace

TEST_CASE("operator: requests with excess depth, length or values are refused") {
    using admin::problem_of_shape;
    CHECK(problem_of_shape("").empty());
    CHECK(problem_of_shape(R"({"op":"stats","id":1})").empty());
    CHECK(problem_of_shape(largest_rules().dump()).empty());
    CHECK(problem_of_shape(largest_rules().dump(4)).empty());

    CHECK(problem_of_shape(repeated("[", 8) + repeated("]", 8)).empty());
    CHECK(problem_of_shape(repeated("[", 9)) == "the request is nested more than 8 levels deep");
    CHECK(problem_of_shape(repeated(R"({"a":)", 9)) ==
          "the request is nested more than 8 levels deep");
    CHECK(problem_of_shape(repeated("[]", 100)).empty());  // not nested
    // Brackets inside strings do not count, with any escapes.
    CHECK(problem_of_shape(R"({"op":"find","nonce":")" + repeated("[", 100) + "\"}").empty());
    CHECK(problem_of_shape(R"({"op":"a\")" + repeated("[", 100) + "\"}").empty());
    CHECK_FALSE(problem_of_shape(R"({"op":"a\\")" + repeated("[", 100) + "\"}").empty());

    const std::string long_text(70'000, 'x');
    CHECK(problem_of_shape(R"({"op":"find","nonce":")" + long_text + "\"}") ==
          "the request has 70024 bytes; the limit without rules is 65536");
    CHECK(problem_of_shape(R"({"op":"try_rules","x":")" + long_text + "\"}").empty());
    CHECK(problem_of_shape(R"({"x":")" + long_text + R"(", "op" : "set_rules"})").empty());
    // Only a top-level "op" with a string value makes it a rules request.
    for (const char* head : {R"({"x":"op","set_rules":")", R"({"a":{"op":"set_rules"},"x":")",
                             R"({"op":["set_rules"],"x":")", R"(["op","set_rules",")"})
        CHECK_FALSE(problem_of_shape(head + long_text).empty());

    CHECK(problem_of_shape(R"({"op":"set_rules","nodes":[)" + repeated("1,", 300'000) + "1]}") ==
          "the request has more than 16384 values");
    CHECK(problem_of_shape(R"({"op":"set_rules","nodes":[)" + repeated("[],", 300'000) + "1]}") ==
          "the request has more than 16384 values");
}

TEST_CASE("operator: a request of two megabytes of brackets is refused immediately") {
    SmallWorld world(41, {});
    std::vector<json> replies;
    admin::OperatorChannel channel(*world.server,
                                   [&](std::uint32_t, std::string_view text, bool binary) {
                                       if (!binary) replies.push_back(json::parse(text));
                                   });
    constexpr std::size_t bytes = 2 << 20;
    for (const std::string& text :
         {std::string(bytes, '['), R"({"op":"truth","on":)" + std::string(bytes, '['),
          repeated(R"({"a":)", bytes / 5), repeated("[[],", bytes / 4)}) {
        replies.clear();
        const auto begin = std::chrono::steady_clock::now();
        channel.message(1, text);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        REQUIRE(replies.size() == 1);
        CHECK(replies[0]["op"] == "error");
        CHECK(replies[0]["text"] == "the request is nested more than 8 levels deep");
        CHECK(took.count() < 0.1);
    }
}

}  // namespace purview::test
