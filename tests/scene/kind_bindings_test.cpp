// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/kind_bindings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace purview::test {

TEST_CASE("rule text: a node with bound kinds keeps its index (N40)") {
    Rules before;
    for (const char* name : {"a", "b", "c"}) {
        before.nodes.emplace_back();
        before.nodes.back().name = name;
    }
    const std::vector<KindRules> kinds = {{}, {.nodes = {id_at<NodeId>(1)}}};
    const auto problem = [&](std::vector<std::string> names) {
        Rules after;
        for (const std::string& name : names) {
            after.nodes.emplace_back();
            after.nodes.back().name = name;
        }
        const auto found = scene::problem_of_bindings(before, after, kinds);
        return found ? found->text : std::string();
    };
    CHECK(problem({"a", "b", "c"}).empty());
    CHECK(problem({"x", "b"}).empty());
    CHECK(problem({"a", "renamed", "c"}).empty());
    const std::string expected =
        "kinds are bound to node 'b', so it must stay number 2 in the list (use enabled = false to "
        "disable it)";
    CHECK(problem({"b", "a", "c"}) == expected);
    CHECK(problem({"b"}) == expected);
    CHECK(problem({"a", "c"}) == expected);
    CHECK(problem({"a"}) == expected);
    CHECK(problem({}) == expected);
}

TEST_CASE("rule text: a node with bound kinds keeps members = bound") {
    Rules before;
    before.nodes.resize(2);
    before.nodes[0].name = "a";
    before.nodes[1].name = "b";
    before.nodes[1].members = Members::bound;
    const std::vector<KindRules> kinds = {{}, {.nodes = {id_at<NodeId>(1)}}};
    Rules after = before;
    CHECK_FALSE(scene::problem_of_bindings(before, after, kinds));
    for (const Members members : {Members::all, Members::unbound}) {
        after.nodes[1].members = members;
        const auto found = scene::problem_of_bindings(before, after, kinds);
        REQUIRE(found);
        CHECK(found->text == "kinds are bound to node 'b': it must keep members = \"bound\"");
        CHECK(found->node == 1);
        CHECK(found->key == "members");
        CHECK_FALSE(scene::problem_of_bindings(before, after, {}));
        CHECK_FALSE(scene::problem_of_bindings(after, after, kinds));  // unchanged rules
    }
}

TEST_CASE("rule text: no node may be for all kinds if a kind is bound to no node") {
    Rules before;
    before.nodes.resize(2);
    before.nodes[0].name = "a";
    before.nodes[0].members = Members::unbound;
    before.nodes[1].name = "b";
    before.nodes[1].combine = Combine::subtract;
    Rules after = before;
    after.nodes[0].members = Members::all;
    KindRules hidden;
    hidden.needs_node = true;
    const auto found = scene::problem_of_bindings(before, after, {{}, hidden});
    REQUIRE(found);
    CHECK(found->text ==
          "a kind is bound to no node (nodes = []), so node 'a' must not have members = \"all\"");
    CHECK(found->node == 0);
    CHECK(found->key == "members");
    CHECK_FALSE(scene::problem_of_bindings(before, before, {{}, hidden}));
    CHECK_FALSE(scene::problem_of_bindings(after, after, {{}, hidden}));  // unchanged rules
    CHECK_FALSE(scene::problem_of_bindings(before, after, {{}, {}}));
    hidden.mode = EntityMode::explicit_only;
    CHECK_FALSE(scene::problem_of_bindings(before, after, {{}, hidden}));
}

}  // namespace purview::test
