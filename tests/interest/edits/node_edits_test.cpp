// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/node_edits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "purview/extend/node.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::node_edits_test {

namespace {

constexpr NodeId near_node = id_at<NodeId>(0), team_node = id_at<NodeId>(1),
                 all_node = id_at<NodeId>(2), no_node = id_at<NodeId>(4);

}  // namespace

TEST_CASE("node edits: unknown nodes and entities are refused, and so are group members") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    const EntityId gone = make_entity_id(9, 1);
    parts.attach(member, root);
    NodeEdits& nodes = parts.nodes;
    const std::array unknown{team_node, no_node};
    CHECK(nodes.add_node(root, no_node) == Status::bad_argument);
    CHECK(nodes.set_nodes(root, unknown) == Status::bad_argument);
    CHECK(nodes.rescan_node(no_node) == Status::bad_argument);
    CHECK(nodes.remove_node(root, team_node) == Status::not_found);
    CHECK(nodes.add_node(member, team_node) == Status::refused);
    CHECK(nodes.remove_node(member, team_node) == Status::refused);
    CHECK(nodes.add_default_node(member) == Status::refused);
    CHECK(nodes.add_node(gone, team_node) == Status::stale_id);
    CHECK(nodes.remove_node(gone, team_node) == Status::stale_id);
    CHECK(nodes.set_nodes(gone, {}) == Status::stale_id);
    CHECK(nodes.add_default_node(gone) == Status::stale_id);
    CHECK(nodes.recheck(gone) == Status::stale_id);
    CHECK(nodes.update(gone) == Status::stale_id);
    CHECK(nodes.recheck(member) == Status::ok);
    CHECK(nodes.update(member) == Status::ok);
    CHECK(parts.stores.rebound.pending.empty());
}

TEST_CASE("node edits: random bindings equal a plain set; an empty one is an orphan") {
    InterestParts parts(random_rules());
    const ObserverId observer = parts.watch();
    SplitMix random(8);
    struct Plain {
        std::set<NodeId> nodes;
        bool is_unbound = true;
    };
    std::map<EntityId, Plain> plain;
    for (std::uint32_t i = 0; i < 8; ++i) plain[parts.spawn(i, 50)];
    int orphans = 0;
    for (int step = 0; step < 2'000; ++step) {
        const EntityId one = make_entity_id(random.below(8), 1);
        Plain& its = plain[one];
        const NodeId node = id_at<NodeId>(random.below(4));
        Status found = Status::ok, expected = Status::ok;
        switch (random.below(5)) {
            case 0:
                found = parts.nodes.add_node(one, node);
                its.nodes.insert(node);
                its.is_unbound = false;
                break;
            case 1:
            case 2:
                found = parts.nodes.remove_node(one, node);
                expected = its.nodes.erase(node) == 0 ? Status::not_found
                           : its.nodes.empty()        ? Status::orphaned
                                                      : Status::ok;
                break;
            case 3: {
                const std::array list{node, all_node, node};
                found = parts.nodes.set_nodes(one, list);
                its = {{node, all_node}, false};
                break;
            }
            default:
                found = parts.nodes.add_default_node(one);
                its = {};
        }
        REQUIRE(found == expected);
        orphans += found == Status::orphaned ? 1 : 0;
        const auto nodes = parts.lookup.nodes_of(one);
        REQUIRE(std::equal(nodes.begin(), nodes.end(), its.nodes.begin(), its.nodes.end()));
        REQUIRE(parts.stores.facts_table.bindings.is_unbound(one) == its.is_unbound);
        // The observer has no viewpoint: only the node without steps makes entities relevant.
        REQUIRE(parts.answers.is_relevant(observer, one) == its.nodes.contains(all_node));
        if (step % 20 == 0) parts.tick();
    }
    CHECK(orphans > 50);
}

TEST_CASE("node edits: entities with changed bindings are listed for one tick") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50), other = parts.spawn(1, 50);
    REQUIRE(parts.nodes.add_node(one, team_node) == Status::ok);
    REQUIRE(parts.nodes.add_node(other, near_node) == Status::ok);
    parts.tick();
    CHECK(parts.stores.rebound.last == std::vector{one, other});
    CHECK(parts.nodes.remove_node(one, near_node) == Status::not_found);
    REQUIRE(parts.nodes.recheck(one) == Status::ok);
    parts.tick();
    CHECK(parts.stores.rebound.last.empty());
}

TEST_CASE("node edits: an entity without a node is logged once until the rules change") {
    Rules rules = random_rules();
    for (NodeDef& node : rules.nodes) node.members = Members::bound;
    int lines = 0;
    const LogSink sink{[](void* context, LogLevel level, const char*) {
                           CHECK(level == LogLevel::warning);
                           ++*static_cast<int*>(context);
                       },
                       &lines};
    InterestParts parts(rules, WindowUpdate::automatic, sink);
    EntityDef def;
    const std::array nodes{all_node};
    def.nodes = nodes;
    const EntityId one = parts.spawn(0, def);
    CHECK(lines == 0);
    REQUIRE(parts.nodes.add_default_node(one) == Status::ok);
    CHECK(lines == 1);
    REQUIRE(parts.nodes.add_default_node(one) == Status::ok);
    CHECK(lines == 1);
    CHECK(parts.nodes.set_nodes(one, {}) == Status::orphaned);  // intended by the caller
    CHECK(lines == 1);
}

TEST_CASE("node edits: an update applies a dormant position; a recheck does not") {
    Rules rules = random_rules();
    rules.nodes.resize(1);
    rules.nodes[0].dormant = true;
    rules.kinds.clear();
    InterestParts parts(rules);
    const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 95, 95);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
    parts.tick();
    REQUIRE(parts.positions.move(one, {55, 50, 0}) == Status::ok);
    REQUIRE(parts.nodes.recheck(one) == Status::ok);
    CHECK(parts.stores.has_custom_queries);
    parts.tick();
    CHECK_FALSE(parts.stores.has_custom_queries);
    CHECK(parts.relevant(observer) == std::vector{viewpoint});
    REQUIRE(parts.nodes.update(one) == Status::ok);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{viewpoint, one});
}

TEST_CASE("node edits: a rescan of a node scans the block sets of all observers") {
    InterestParts parts(random_rules());
    const EntityId viewpoint = parts.spawn(0, 50);
    const ObserverId observer = parts.watch(viewpoint), other = parts.watch(viewpoint);
    parts.tick();
    parts.tick();
    CHECK_FALSE(parts.stores.observers[index_of(observer)].needs_scan);
    REQUIRE(parts.nodes.rescan_node(near_node) == Status::ok);
    CHECK(parts.stores.observers[index_of(observer)].needs_scan);
    CHECK(parts.stores.observers[index_of(other)].needs_scan);
}

namespace {

/// One inner node for all entities, or one for each. The caller may switch at any time.
class Switched final : public Dispatcher {
  public:
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(is_split ? 1 + index_of(entity.entity) : 0);
    }
    void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
        out.push_back(is_split ? 1 : 0);
    }
    bool reads_positions() const noexcept override { return false; }
    bool is_split = false;
};

}  // namespace

TEST_CASE("node edits: a rescan queries a dispatcher for all entities and observers") {
    const auto dispatcher = std::make_shared<Switched>();
    Rules rules;
    rules.node("inner").dispatcher = dispatcher;
    InterestParts parts(rules);
    const EntityId zero = parts.spawn(0, 10), one = parts.spawn(1, 20), two = parts.spawn(2, 30);
    const ObserverId observer = parts.watch();
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{zero, one, two});
    dispatcher->is_split = true;
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{zero, one, two});
    REQUIRE(parts.nodes.rescan_node(id_at<NodeId>(0)) == Status::ok);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{zero});
    // One entity at a time.
    dispatcher->is_split = false;
    REQUIRE(parts.observers.rescan(observer) == Status::ok);
    REQUIRE(parts.nodes.recheck(two) == Status::ok);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{two});
}

}  // namespace purview::test::node_edits_test
