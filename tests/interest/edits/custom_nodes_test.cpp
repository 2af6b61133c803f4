// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Custom nodes in the RFC's form: a node receives callbacks for its entities and may keep its own
// store. The callbacks and the store are compared with the expected members.
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

/// Returns the entities of its store.
class StoreNode final : public CustomNode {
  public:
    void query_for(const Visibility& visibility, ObserverId, std::vector<EntityId>& out) override {
        for (const EntityId entity : store) {
            CHECK(visibility.entity(entity).is_alive());
            out.push_back(entity);
        }
    }
    void added(const Visibility&, EntityId entity) override {
        CHECK(store.insert(entity).second);
        log += "+" + std::to_string(index_of(entity));
    }
    void removed(const Visibility&, EntityId entity) override {
        CHECK(store.erase(entity) == 1);
        log += "-" + std::to_string(index_of(entity));
    }
    void updated(const Visibility& visibility, EntityId entity) override {
        CHECK(visibility.entity(entity).is_alive());
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

EntityId spawn_as(InterestManager& manager, EntityId entity, EntityDef def) {
    def.id = entity;
    return manager.spawn(def);
}

}  // namespace

TEST_CASE("custom nodes: callbacks keep the store of a node equal to its members" *
          doctest::test_suite("N4 N5 N55")) {
    const auto mine = std::make_shared<StoreNode>();
    InterestManager manager =
        make({own_node("mine", mine, Members::bound), node("rest", {}, Members::unbound)});
    const ObserverId observer = watch(manager);
    spawn(manager, 0, bound_to(10, {node0}));
    spawn(manager, 1, 20);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(mine->take_log() == "+0");
    CHECK(manager.bind(id(1), node0) == Status::ok);
    CHECK(manager.update(id(0)) == Status::ok);
    CHECK(manager.recheck(id(1)) == Status::ok);
    manager.tick();
    CHECK(mine->take_log() == "+1!0!1");
    CHECK(manager.unbind(id(0), node0) == Status::orphaned);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(mine->take_log() == "-0");
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{});
    CHECK(mine->take_log() == "-1");
    // Within one tick, callbacks follow the order of the edits, also for a reused index.
    spawn(manager, 2, bound_to(10, {node0}));
    CHECK(manager.despawn(id(2)) == Status::ok);
    CHECK(spawn_as(manager, make_entity_id(2, 2), bound_to(10, {node0})) == make_entity_id(2, 2));
    CHECK(ticked(manager, observer) == Set{2});
    CHECK(mine->take_log() == "+2-2+2");
    CHECK(mine->store == std::set{make_entity_id(2, 2)});
}

TEST_CASE("custom nodes: a group member belongs to no node until it is detached" *
          doctest::test_suite("N55")) {
    const auto all = std::make_shared<StoreNode>();
    InterestManager manager = make({own_node("all", all)});
    const ObserverId observer = watch(manager);
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 10);
    CHECK(manager.attach(id(1), id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(all->store == ids({0, 2}));
    CHECK(manager.detach(id(1), {.position = {5, 5, 0}}) == Status::ok);
    manager.tick();
    CHECK(all->store == ids({0, 1, 2}));
}

TEST_CASE("custom nodes: enabling or disabling a node adds or removes all its members" *
          doctest::test_suite("N39 N55")) {
    const auto first = std::make_shared<StoreNode>(), second = std::make_shared<StoreNode>();
    InterestManager manager = make({node("rest", {}), own_node("first", first)});
    const ObserverId observer = watch(manager);
    for (std::uint32_t i = 0; i < 4; ++i)
        spawn(manager, i, i < 2 ? bound_to(10, {node1}) : bound_to(10, {node0}));
    manager.tick();
    CHECK(first->store == ids({0, 1, 2, 3}));
    Rules rules = manager.rules();
    rules.nodes[1].members = Members::bound;  // fewer members from here on
    rules.nodes.push_back(own_node("second", second, Members::bound));
    (void)manager.try_rules(rules);  // a trial calls no callbacks
    CHECK(manager.set_rules(rules) == "");
    CHECK(manager.rebind(id(3), std::array{node2}) == Status::ok);
    manager.tick();
    CHECK(first->store == ids({0, 1}));
    CHECK(second->store == ids({3}));
    rules.nodes[1].enabled = false;
    CHECK(manager.set_rules(rules) == "");
    manager.tick();
    CHECK(first->store.empty());
    rules.nodes[1].enabled = true;
    CHECK(manager.set_rules(rules) == "");
    manager.tick();
    CHECK(first->store == ids({0, 1}));
    CHECK(seen(manager, observer) == Set{0, 1, 2, 3});
}

TEST_CASE("custom nodes: a store equals the members of its node after random edits" *
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
                    CHECK(spawn_as(manager, alive[i],
                                   binding[i] == 1 ? bound_to(5, {node0}) : bound_to(5, {})) ==
                          alive[i]);
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
                        CHECK(manager.rebind(alive[i], std::array{node0}) == Status::ok);
                        binding[i] = 1;
                        break;
                    case 2:
                        if (is_member) break;
                        CHECK(manager.bind_default(alive[i]) == Status::ok);
                        binding[i] = 0;
                        break;
                    case 3: {
                        const std::uint32_t other = random.below(count);
                        if (is_member || leads || other == i || alive[other] == EntityId::none ||
                            root[other] != EntityId::none)
                            break;
                        CHECK(manager.attach(alive[i], alive[other]) == Status::ok);
                        root[i] = alive[other];
                        break;
                    }
                    default:
                        if (!is_member) break;
                        CHECK(manager.detach(alive[i], bound_to(5, {})) == Status::ok);
                        root[i] = EntityId::none;
                        binding[i] = 0;
                }
            }
            manager.tick();
            std::set<EntityId> of_bound, of_remainder;
            for (std::uint32_t i = 0; i < count; ++i) {
                if (alive[i] == EntityId::none || root[i] != EntityId::none) continue;
                if (binding[i] == 1) of_bound.insert(alive[i]);
                if (binding[i] == 0) of_remainder.insert(alive[i]);
            }
            REQUIRE(bound->store == of_bound);
            REQUIRE(rest->store == of_remainder);
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
    def.flags = FlagSet(2);
    def.keys = keys;
    def.values = values;
    def.kind = id_at<KindId>(7);
    spawn(manager, 0, def);
    spawn(manager, 1, 20);
    const ObserverId observer = watch(manager, id(1));
    CHECK(manager.set_owner(id(0), observer) == Status::ok);
    CHECK(manager.add_key(id(0), id_at<KeyId>(0), Key{9}) == Status::ok);
    CHECK(manager.attach(id(1), id(0)) == Status::ok);
    manager.tick();
    const InterestManager& read = manager;
    CHECK(read.entity(id(0)).has_flag(id_at<FlagId>(1)));
    CHECK_FALSE(read.entity(id(0)).has_flag(id_at<FlagId>(0)));
    CHECK(read.entity(id(0)).key(id_at<KeyId>(0)) == Key{3});
    CHECK(read.entity(id(0)).has_key(id_at<KeyId>(0), Key{9}));
    CHECK_FALSE(read.entity(id(0)).has_key(id_at<KeyId>(1), Key{9}));
    CHECK(read.entity(id(0)).value(id_at<ValueId>(0)) == 1.5F);
    CHECK(read.entity(id(0)).owner() == observer);
    CHECK(read.entity(id(0)).kind() == id_at<KindId>(7));
    CHECK(read.entity(id(0)).nodes().size() == 1);
    // A group member has the flags and values of its root, and its own keys.
    CHECK(read.entity(id(1)).has_flag(id_at<FlagId>(1)));
    CHECK(read.entity(id(1)).value(id_at<ValueId>(0)) == 1.5F);
    CHECK(read.entity(id(1)).key(id_at<KeyId>(0)) == Key::none);
    CHECK(read.entity(id(1)).nodes().empty());
    // Unknown entities, and ids out of range.
    const EntityId gone = make_entity_id(0, 2);
    CHECK_FALSE(read.entity(gone).is_alive());
    CHECK_FALSE(read.entity(gone).has_flag(id_at<FlagId>(1)));
    CHECK_FALSE(read.entity(id(0)).has_flag(id_at<FlagId>(200)));
    CHECK(read.entity(gone).key(id_at<KeyId>(0)) == Key::none);
    CHECK(read.entity(id(0)).key(id_at<KeyId>(7)) == Key::none);
    CHECK(read.entity(gone).value(id_at<ValueId>(0)) == 0);
    CHECK(read.entity(id(0)).value(id_at<ValueId>(7)) == 0);
    CHECK(read.entity(gone).owner() == ObserverId::none);
    CHECK(read.entity(gone).kind() == KindId::none);
    CHECK(read.entity(gone).nodes().empty());
}

}  // namespace purview::test::lines
