// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Custom nodes in the RFC's form: they are told of the entities that they are about, and may keep a
// store of their own. What a node was told is compared with what it must be about.
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// Answers from its store alone.
class StoreNode final : public InterestNode {
  public:
    void query_for(const InterestManager& manager, ObserverId,
                   std::vector<EntityId>& out) override {
        for (const EntityId entity : store) {
            CHECK(manager.is_known(entity));
            out.push_back(entity);
        }
    }
    void added(const InterestManager& manager, EntityId entity) override {
        CHECK(store.insert(entity).second);
        log += "+" + std::to_string(index_of(entity));
        (void)manager;
    }
    void removed(const InterestManager&, EntityId entity) override {
        CHECK(store.erase(entity) == 1);
        log += "-" + std::to_string(index_of(entity));
    }
    void updated(const InterestManager& manager, EntityId entity) override {
        CHECK(manager.is_known(entity));
        CHECK(store.contains(entity));
        log += "!" + std::to_string(index_of(entity));
    }
    std::string take_log() { return std::exchange(log, {}); }

    std::set<EntityId> store;
    std::string log;
};

std::set<EntityId> ids(std::initializer_list<std::uint32_t> indices) {
    std::set<EntityId> out;
    for (const std::uint32_t index : indices) out.insert(id(index));
    return out;
}

}  // namespace

TEST_CASE("custom nodes: a node keeps a store by what it is told of its entities" *
          doctest::test_suite("N4 N5 N55")) {
    const auto mine = std::make_shared<StoreNode>();
    InterestManager manager =
        make({own_node("mine", mine, Members::bound), node("rest", {}, Members::unbound)});
    const ObserverId observer = watch(manager);
    spawn(manager, 0, bound_to(10, {node0}));
    spawn(manager, 1, 20);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(mine->take_log() == "+0");
    CHECK(manager.add_node(id(1), node0) == Status::ok);
    CHECK(manager.update(id(0)) == Status::ok);
    CHECK(manager.recheck(id(1)) == Status::ok);
    manager.tick();
    CHECK(mine->take_log() == "+1!0!1");
    CHECK(manager.remove_node(id(0), node0) == Status::orphaned);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(mine->take_log() == "-0");
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{});
    CHECK(mine->take_log() == "-1");
    // Within one tick, in the order of the edits; an index is used again.
    spawn(manager, 2, bound_to(10, {node0}));
    CHECK(manager.despawn(id(2)) == Status::ok);
    CHECK(manager.spawn(make_entity_id(2, 2), bound_to(10, {node0})) == Status::ok);
    CHECK(ticked(manager, observer) == Set{2});
    CHECK(mine->take_log() == "+2-2+2");
    CHECK(mine->store == std::set{make_entity_id(2, 2)});
}

TEST_CASE("custom nodes: members of a group are in no node while they are members" *
          doctest::test_suite("N55")) {
    const auto all = std::make_shared<StoreNode>();
    InterestManager manager = make({own_node("all", all)});
    const ObserverId observer = watch(manager);
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 10);
    CHECK(manager.join_unit(id(1), id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(all->store == ids({0, 2}));
    CHECK(manager.leave_unit(id(1), {.place = {5, 5, 0}}) == Status::ok);
    manager.tick();
    CHECK(all->store == ids({0, 1, 2}));
}

TEST_CASE("custom nodes: a node that comes into force or goes is told of all its entities" *
          doctest::test_suite("N39 N55")) {
    const auto first = std::make_shared<StoreNode>(), second = std::make_shared<StoreNode>();
    InterestManager manager = make({node("rest", {}), own_node("first", first)});
    const ObserverId observer = watch(manager);
    for (std::uint32_t i = 0; i < 4; ++i)
        spawn(manager, i, i < 2 ? bound_to(10, {node1}) : bound_to(10, {node0}));
    manager.tick();
    CHECK(first->store == ids({0, 1, 2, 3}));
    InterestRules rules = manager.rules();
    rules.nodes[1].members = Members::bound;  // about fewer from now on
    rules.nodes.push_back(own_node("second", second, Members::bound));
    (void)manager.try_rules(rules);  // a trial tells nothing
    CHECK(manager.set_rules(rules) == Status::ok);
    CHECK(manager.set_nodes(id(3), std::array{node2}) == Status::ok);
    manager.tick();
    CHECK(first->store == ids({0, 1}));
    CHECK(second->store == ids({3}));
    rules.nodes[1].enabled = false;
    CHECK(manager.set_rules(rules) == Status::ok);
    manager.tick();
    CHECK(first->store.empty());
    rules.nodes[1].enabled = true;
    CHECK(manager.set_rules(rules) == Status::ok);
    manager.tick();
    CHECK(first->store == ids({0, 1}));
    CHECK(seen(manager, observer) == Set{0, 1, 2, 3});
}

TEST_CASE("custom nodes: a store is right after random edits, whatever the order" *
          doctest::test_suite("N55")) {
    constexpr std::uint32_t count = 12;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        const auto bound = std::make_shared<StoreNode>(), rest = std::make_shared<StoreNode>();
        InterestManager manager = make(
            {own_node("bound", bound, Members::bound), own_node("rest", rest, Members::unbound)});
        std::array<std::uint32_t, count> generation{};
        std::array<EntityId, count> alive{}, root{};
        std::array<int, count> binding{};  // 0: unbound, 1: to the node, 2: orphaned
        for (int t = 0; t < 60; ++t) {
            for (int edits = 0; edits < 8; ++edits) {
                const std::uint32_t i = random.below(count);
                const bool leads = std::find(root.begin(), root.end(), alive[i]) != root.end();
                const bool is_member = root[i] != EntityId::none;
                if (alive[i] == EntityId::none) {
                    alive[i] = make_entity_id(i, ++generation[i]);
                    binding[i] = static_cast<int>(random.below(2));
                    CHECK(manager.spawn(alive[i], binding[i] == 1 ? bound_to(5, {node0})
                                                                  : bound_to(5, {})) == Status::ok);
                    continue;
                }
                switch (random.below(5)) {
                    case 0:
                        if (leads) break;
                        CHECK(manager.despawn(alive[i]) == Status::ok);
                        alive[i] = root[i] = EntityId::none;
                        break;
                    case 1:
                        if (is_member) break;
                        CHECK(manager.set_nodes(alive[i], std::array{node0}) == Status::ok);
                        binding[i] = 1;
                        break;
                    case 2:
                        if (is_member) break;
                        CHECK(manager.add_default_node(alive[i]) == Status::ok);
                        binding[i] = 0;
                        break;
                    case 3: {
                        const std::uint32_t other = random.below(count);
                        if (is_member || leads || other == i || alive[other] == EntityId::none ||
                            root[other] != EntityId::none)
                            break;
                        CHECK(manager.join_unit(alive[i], alive[other]) == Status::ok);
                        root[i] = alive[other];
                        break;
                    }
                    default:
                        if (!is_member) break;
                        CHECK(manager.leave_unit(alive[i], bound_to(5, {})) == Status::ok);
                        root[i] = EntityId::none;
                        binding[i] = 0;
                }
            }
            manager.tick();
            std::set<EntityId> of_bound, of_rest;
            for (std::uint32_t i = 0; i < count; ++i) {
                if (alive[i] == EntityId::none || root[i] != EntityId::none) continue;
                if (binding[i] == 1) of_bound.insert(alive[i]);
                if (binding[i] == 0) of_rest.insert(alive[i]);
            }
            REQUIRE(bound->store == of_bound);
            REQUIRE(rest->store == of_rest);
        }
    }
}

TEST_CASE("custom nodes: flags, keys, values, owners and bindings of entities can be read" *
          doctest::test_suite("N49")) {
    InterestManager manager = make({node("rest", {}), node("bound", {}, Members::bound)});
    const std::array keys{Key{3}, Key::none};
    const std::array values{1.5F};
    const std::array nodes{node1};
    EntityDef def = bound_to(10, {});
    def.nodes = nodes;
    def.flags = 2;
    def.keys = keys;
    def.values = values;
    def.kind = KindId{7};
    spawn(manager, 0, def);
    spawn(manager, 1, 20);
    const ObserverId observer = watch(manager, id(1));
    CHECK(manager.set_owner(id(0), observer) == Status::ok);
    CHECK(manager.add_key(id(0), KeyDomain{0}, Key{9}) == Status::ok);
    CHECK(manager.join_unit(id(1), id(0)) == Status::ok);
    manager.tick();
    const InterestManager& read = manager;
    CHECK(read.has_flag(id(0), FlagId{1}));
    CHECK_FALSE(read.has_flag(id(0), FlagId{0}));
    CHECK(read.key_of(id(0), KeyDomain{0}) == Key{3});
    CHECK(read.has_key(id(0), KeyDomain{0}, Key{9}));
    CHECK_FALSE(read.has_key(id(0), KeyDomain{1}, Key{9}));
    CHECK(read.value_of(id(0), ValueId{0}) == 1.5F);
    CHECK(read.owner_of(id(0)) == observer);
    CHECK(read.kind_of(id(0)) == KindId{7});
    CHECK(read.nodes_of(id(0)).size() == 1);
    // A member of a group: flags and values of its root, keys of its own.
    CHECK(read.has_flag(id(1), FlagId{1}));
    CHECK(read.value_of(id(1), ValueId{0}) == 1.5F);
    CHECK(read.key_of(id(1), KeyDomain{0}) == Key::none);
    CHECK(read.nodes_of(id(1)).empty());
    // What is not there, or out of range.
    const EntityId gone = make_entity_id(0, 2);
    CHECK_FALSE(read.is_known(gone));
    CHECK_FALSE(read.has_flag(gone, FlagId{1}));
    CHECK_FALSE(read.has_flag(id(0), FlagId{200}));
    CHECK(read.key_of(gone, KeyDomain{0}) == Key::none);
    CHECK(read.key_of(id(0), KeyDomain{7}) == Key::none);
    CHECK(read.value_of(gone, ValueId{0}) == 0);
    CHECK(read.value_of(id(0), ValueId{7}) == 0);
    CHECK(read.owner_of(gone) == ObserverId::none);
    CHECK(read.kind_of(gone) == EntityDef::no_kind);
    CHECK(read.nodes_of(gone).empty());
}

}  // namespace purview::test::lines
