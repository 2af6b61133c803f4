// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/rules.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "interest/rules/rule_problems.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"

namespace purview {

TEST_CASE("rules: a repeated name has the id of its first declaration") {
    Rules rules;
    const FlagId cloaked = rules.flag("cloaked"), mounted = rules.flag("mounted");
    CHECK(cloaked != mounted);
    CHECK(rules.flag("cloaked") == cloaked);
    CHECK(rules.key("team") == rules.key("team"));
    CHECK(rules.value("level") == rules.value("level"));
    CHECK(rules.flag_names == std::vector<std::string>{"cloaked", "mounted"});
    CHECK(rules.key_names.size() == 1);
    CHECK(rules.value_names.size() == 1);
    const KindId wolf = rules.kind("wolf"), stone = rules.kind("stone");
    rules.for_kind(stone).needs_node = true;
    REQUIRE(rules.kinds.size() == 2);
    CHECK(rules.kinds[index_of(stone)].needs_node);
    CHECK_FALSE(rules.kinds[index_of(wolf)].needs_node);
    rules.node("near").add(within(5));
    rules.node("far").add(within(9)).require(mounted);
    rules.node("near").subtract(cloaked);
    REQUIRE(rules.nodes.size() == 2);
    CHECK(rules.node_id("far") == id_at<NodeId>(1));
    REQUIRE(rules.nodes[0].steps.size() == 2);
    CHECK(rules.nodes[0].steps[0].combine == Combine::add);
    CHECK(rules.nodes[0].steps[1].combine == Combine::subtract);
    CHECK(rules.nodes[1].steps[1].combine == Combine::require);
    CHECK(problem_of(rules) == "");
}

TEST_CASE("rules: the kernel functions set only their own settings") {
    const Kernel near = within(5).leave_at(7).from(Viewpoints::owned).range_from(RangeFrom::entity);
    CHECK(near.enter == 5);
    CHECK(near.leave == 7);
    CHECK(near.view_from == Viewpoints::owned);
    CHECK(near.range == RangeFrom::entity);
    CHECK(within(5).leave == 5);
    CHECK(between(id_at<ValueId>(2), 1, 3).min == 1);
    CHECK(between(id_at<ValueId>(2), 1, 3).max == 3);
    CHECK(cells(3, 4, 2, 5).cell_size == Vec3{3, 4, 5});
    CHECK(cells(3, 4, 2, 5).rings == 2);
    CHECK(hexagons(6).cell_size == Vec3{6, 0, 0});
    CHECK(in_area(3).leave == 3);
    CHECK(Kernel(id_at<FlagId>(1)).type == KernelType::flag);
}

TEST_CASE("rules: everything() minus a flag matches all entities without it") {
    Rules rules;
    const FlagId cloaked = rules.flag("cloaked");
    rules.node("all but cloaked").add(everything()).subtract(cloaked);
    InterestManager manager(rules);
    const EntityId plain = manager.spawn({.position = {1, 1}});
    const EntityId far = manager.spawn({.position = {900, 900}});
    const EntityId spy = manager.spawn({.position = {1, 1}, .flags = {cloaked}});
    const EntityId abstract = manager.spawn({.has_position = false});
    const ObserverId observer = manager.add_observer();
    manager.tick();
    std::vector<EntityId> relevant;
    manager.relevant(observer, relevant);
    CHECK(std::set<EntityId>(relevant.begin(), relevant.end()) ==
          std::set<EntityId>{plain, far, abstract});
    CHECK(manager.set_flag(spy, cloaked, false) == Status::ok);
    CHECK(manager.set_flag(plain, cloaked, true) == Status::ok);
    manager.tick();
    CHECK(manager.is_relevant(observer, spy));
    CHECK_FALSE(manager.is_relevant(observer, plain));
}

TEST_CASE("rules: each check reports the problems of its own part") {
    Rules rules;
    rules.node("near").add(within(5)).subtract(id_at<FlagId>(0));
    CHECK(problem_of_structure(rules) == "");
    CHECK(problem_of_nodes(rules).find("'near', a step uses a flag") != std::string::npos);
    rules.flag("cloaked");
    CHECK(problem_of_nodes(rules) == "");
    rules.for_kind(rules.kind("wolf")).nodes = {id_at<NodeId>(3)};
    CHECK(problem_of_nodes(rules) == "");
    CHECK(problem_of(rules) == "kind 'wolf', node 3 does not exist");
    rules.for_kind(id_at<KindId>(0)).nodes.clear();
    for (std::size_t i = 0; i < Schema::flags_max; ++i) rules.flag("flag " + std::to_string(i));
    CHECK(problem_of(rules) == "more than 16 flags");
    Rules dormant;
    NodeDef& node = dormant.node("store");
    node.dormant = true;
    node.every_ticks = 4;
    CHECK(problem_of(dormant).find("a dormant node") != std::string::npos);
    node.dormant = false;
    node.every_ticks = 0;
    CHECK(problem_of(dormant).find("every_ticks must be 1 to 65535") != std::string::npos);
    node.every_ticks = 1;
    for (const std::uint32_t ticks : {0U, 10'001U}) {
        node.replication.every_ticks = ticks;
        CHECK(problem_of(dormant).find("1 to 10,000 ticks") != std::string::npos);
    }
    node.replication.every_ticks = 10'000;
    CHECK(problem_of(dormant).empty());
}

TEST_CASE("rules: set_rules applies the level and refuses changes of fixed settings") {
    Rules rules;
    rules.node("near").add(within(5));
    InterestManager manager(rules);
    const EntityId here = manager.spawn({.position = {1, 1}});
    const EntityId far = manager.spawn({.position = {900, 900}});
    const ObserverId observer = manager.add_observer({.viewpoint = here});
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, far));
    Rules other = manager.rules();
    other.level = InterestLevel::none;
    Rules smaller = other;
    smaller.max = {5, 5, 5};
    CHECK(manager.set_rules(smaller).find("max is fixed at creation") != std::string::npos);
    CHECK(manager.try_rules(smaller).problem.find("max is fixed") != std::string::npos);
    Rules named = other;
    named.flag("cloaked");
    CHECK(manager.set_rules(named).find("flag_names is fixed") != std::string::npos);
    Rules bound = other;
    bound.for_kind(id_at<KindId>(0)).owner_sees = false;
    CHECK(manager.set_rules(bound).find("kinds is fixed") != std::string::npos);
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, far));  // nothing was changed
    CHECK(manager.set_rules(other) == "");
    manager.tick();
    CHECK(manager.is_relevant(observer, far));
    CHECK(manager.events().size() == 1);
    CHECK(manager.rules().max == rules.max);
    CHECK(manager.set_rules(rules) == "");
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, far));
    CHECK(manager.is_relevant(observer, here));
}

}  // namespace purview
