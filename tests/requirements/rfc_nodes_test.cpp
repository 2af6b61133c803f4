// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes: membership, dispatching, storage and queries.
#include <array>
#include <cmath>
#include <thread>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// Returns fixed results, and records how often and about which entities it is queried.
class RecordingNode final : public CustomNode {
  public:
    explicit RecordingNode(bool by_entity = false) : by_entity_(by_entity) {}
    void query_for(const Visibility&, ObserverId, std::vector<EntityId>& out) override {
        ++queried;
        out.insert(out.end(), verdict.begin(), verdict.end());
    }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        ++queried;
        queried_about.insert(index_of(entity));
        out.insert(out.end(), shown_to.begin(), shown_to.end());
    }
    bool is_entity_centric() const noexcept override { return by_entity_; }
    std::vector<EntityId> verdict;
    std::vector<ObserverId> shown_to;
    Set queried_about;
    int queried = 0;

  private:
    bool by_entity_;
};

/// Puts even and odd entities into a cell each. Observers cover the cells in `looks_into`.
class OddAndEven final : public Dispatcher {
  public:
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(index_of(entity.entity) % 2);
    }
    void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
        out.insert(out.end(), looks_into.begin(), looks_into.end());
    }
    bool reads_positions() const noexcept override { return false; }
    std::vector<CellId> looks_into;
};

}  // namespace

TEST_CASE("interest: managers share no state and release all their memory (N1)") {
    CountedMemory memory;
    {
        InterestManager first = make(std::vector{node("near", {within(Combine::add, 10)})});
        spawn(first, 0, 50);
        const ObserverId observer = watch(first, id(0));
        CHECK(ticked(first, observer) == Set{0});
        InterestManager second = make(std::vector{node("near", {within(Combine::add, 10)})});
        CHECK_FALSE(second.is_relevant(observer, id(0)));
        CHECK(second.move(id(0), {1, 1, 0}) == Status::stale_id);
        CHECK(second.set_ready(observer, true) == Status::stale_id);
        spawn(second, 0, 90);
        second.tick();
        CHECK(ticked(first, observer) == Set{0});
        CHECK(memory.held > 0);
    }
    CHECK(memory.held == 0);
}

TEST_CASE("interest: a destroyed manager leaves no memory allocated by its hooks") {
    const auto request = [] {
        Rules def = def_of(
            {node("near", {within(Combine::add, 10, 2)}), node("team", {same(Combine::add, 0)})});
        def.max = {10'000, 10'000, 0};
        def.minimum_relevance_ticks = 100;
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 9'000);  // outside the visible blocks
        spawn(manager, 2, 55);
        for (const std::uint32_t i : {0U, 1U})
            CHECK(manager.set_key(id(i), id_at<KeyId>(0), Key{7}) == Status::ok);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1, 2});
        put(manager, 2, 5'000);
        CHECK(ticked(manager, observer) == Set{0, 1, 2});
        const std::array<EntityId, 3> client{id(0), id(1), id(2)};
        std::array<float, 3> score{};
        std::array<Replication, 3> settings;
        internal(manager).answers.score(observer, client, score, settings);
        CHECK(score[1] > 0);
    };
    CountedMemory memory;
    std::size_t held = 1;
    // A new thread, which ran no query before and has not ended when memory is counted.
    std::thread([&] {
        request();
        held = memory.held;
    }).join();
    CHECK(memory.calls > 0);
    CHECK(held == 0);
}

TEST_CASE("interest: without rules every ready observer gets every entity (N2)") {
    InterestManager manager = make(std::vector<NodeDef>{});
    EntityDef nowhere;
    nowhere.has_position = false;
    spawn(manager, 0, 50);
    spawn(manager, 1, 1e8F, -1e8F);
    spawn(manager, 2, nowhere);
    const ObserverId player = watch(manager, id(0)), spectator = watch(manager);
    const ObserverId unready = manager.add_observer({.is_ready = false});
    manager.tick();
    CHECK(seen(manager, player) == Set{0, 1, 2});
    CHECK(seen(manager, spectator) == Set{0, 1, 2});
    CHECK(seen(manager, unready).empty());
    put(manager, 0, -1e8F);
    manager.tick();
    CHECK(manager.events().empty());
    spawn(manager, 3, 0);
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(tick_news(manager, player) == News{{3}, {1}});
    CHECK(news(manager, spectator) == News{{3}, {1}});
}

TEST_CASE("interest: an entity belongs to the default node until it is bound (N3)") {
    InterestManager manager = make({node("default", {}, Members::unbound),
                                    node("near", {within(Combine::add, 10)}, Members::bound)});
    spawn(manager, 0, 50);
    spawn(manager, 1, 99);
    spawn(manager, 2, bound_to(99, {node1}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.bind(id(1), node1) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0});
    put(manager, 1, 55);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: spawns and despawns reach only the nodes of the entity") {
    const auto bound = std::make_shared<RecordingNode>(true);
    const auto other = std::make_shared<RecordingNode>(true);
    InterestManager manager =
        make({own_node("bound", bound, Members::bound), own_node("other", other, Members::bound)});
    const ObserverId observer = watch(manager);
    bound->shown_to = {observer};
    spawn(manager, 1, bound_to(10, {node0}));
    spawn(manager, 2, bound_to(10, {node1}));
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(bound->queried_about == Set{1});
    CHECK(other->queried_about == Set{2});
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    bound->queried_about.clear();
    manager.tick();
    CHECK(bound->queried_about.empty());
}

TEST_CASE("interest: an update of an entity reaches all of its nodes (N5)") {
    const auto custom = std::make_shared<RecordingNode>(true);
    const auto apart = std::make_shared<RecordingNode>(true);
    NodeDef own = own_node("own", custom, Members::bound);
    NodeDef not_its = own_node("not its", apart, Members::bound);
    NodeDef near = node("near", {within(Combine::add, 10)}, Members::bound);
    own.dormant = not_its.dormant = near.dormant = true;
    InterestManager manager = make({near, own, not_its});
    spawn(manager, 0, 50);
    spawn(manager, 1, bound_to(90, {node0, node1}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).empty());
    custom->queried_about.clear();
    apart->queried_about.clear();
    put(manager, 1, 55);
    CHECK(ticked(manager, observer).empty());
    CHECK(custom->queried_about.empty());
    CHECK(manager.update(id(1)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(custom->queried_about == Set{1});
    CHECK(apart->queried_about.empty());
}

TEST_CASE("interest: a node without entities does not run its kernels (N6)") {
    int queried = 0;
    const auto counting = make_pair_kernel({.name = "counting"}, [&queried](const Pair&) noexcept {
        ++queried;
        return true;
    });
    InterestManager manager =
        make({node("all", {}), node("own", {own_kernel(Combine::add, counting)}, Members::bound)});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    put(manager, 0, 60);
    manager.tick();
    CHECK(queried == 0);
    CHECK(manager.bind(id(0), node1) == Status::ok);
    manager.tick();
    CHECK(queried > 0);
    CHECK(explained(manager, observer, id(0), "own").result);
}

TEST_CASE("interest: a custom node without entities is not queried (N6)") {
    for (const bool by_entity : {true, false}) {
        const auto own = std::make_shared<RecordingNode>(by_entity);
        InterestManager manager = make(std::vector{own_node("own", own, Members::bound)});
        spawn(manager, 0, 50);
        watch(manager, id(0));
        manager.tick();
        manager.tick();
        CAPTURE(by_entity);
        CHECK(own->queried == 0);
        CHECK(manager.bind(id(0), node0) == Status::ok);
        manager.tick();
        CHECK(own->queried > 0);
    }
}

TEST_CASE("interest: entities of other nodes do not affect when a custom node is queried") {
    NodeDef other = node("other", {}, Members::bound);
    for (const bool has_another : {false, true}) {
        for (const bool rebinds : {false, true}) {
            CAPTURE(has_another);
            CAPTURE(rebinds);
            const auto own = std::make_shared<RecordingNode>();
            NodeDef rare = own_node("own", own, Members::bound);
            rare.every_ticks = 10;
            InterestManager manager = make({rare, other});
            if (has_another) spawn(manager, 0, bound_to(50, {node0}));
            spawn(manager, 1, bound_to(50, {node1}));
            const ObserverId observer = watch(manager);
            CHECK(manager.set_hidden(id(1), true) == Status::ok);
            spawn(manager, 2, bound_to(50, {node0}));  // queried at once, as it is new
            for (int i = 0; i < 3; ++i) manager.tick();
            own->verdict = {id(2)};
            int ticks = 0;
            for (; ticks < 20 && ticked(manager, observer).count(2) == 0; ++ticks) {
                if (rebinds) CHECK(manager.rebind(id(1), {}) == Status::orphaned);
            }
            CHECK(ticks == 6);
        }
    }
}

TEST_CASE("interest: nodes are bound and unbound at run time, twice counts once (N7)") {
    InterestManager manager = make({node("here", {within(Combine::add, 10)}, Members::bound),
                                    node("all", {}, Members::bound)});
    spawn(manager, 0, bound_to(50, {node0}));
    spawn(manager, 1, bound_to(90, {node0}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    for (int i = 0; i < 2; ++i) CHECK(manager.bind(id(1), node1) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.unbind(id(1), node1) == Status::ok);  // one unbind is enough
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.unbind(id(1), node1) == Status::not_found);
    CHECK(manager.bind(id(1), id_at<NodeId>(9)) == Status::bad_argument);
}

TEST_CASE("interest: an entity without nodes is orphaned until it is bound again (N8)") {
    InterestManager manager =
        make({node("default", {}, Members::unbound), node("all", {}, Members::bound)});
    spawn(manager, 1, bound_to(50, {node1}));
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(manager.unbind(id(1), node1) == Status::orphaned);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK_FALSE(explained(manager, observer, id(1), "default").is_member);  // no fallback
    CHECK_FALSE(explained(manager, observer, id(1), "all").is_member);
    CHECK(manager.bind_default(id(1)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(manager.rebind(id(1), {}) == Status::orphaned);  // the same in another way
    CHECK(ticked(manager, observer).empty());
}

TEST_CASE("interest: a kernel gives the same result with any storage (N9)") {
    const auto near = make_pair_kernel({.name = "near", .reach = 12}, [](const Pair& p) noexcept {
        return std::fabs(p.position().x - p.positions()[0].x) <= 12;
    });
    const auto near_everywhere = make_pair_kernel({.name = "near"}, [](const Pair& p) noexcept {
        return !p.positions().empty() && std::fabs(p.position().x - p.positions()[0].x) <= 12;
    });
    NodeDef hashed = node("grid", {own_kernel(Combine::add, near)});
    NodeDef listed = node("list", {own_kernel(Combine::add, near_everywhere)});
    const auto near_of_positions = make_pair_kernel(
        {.name = "near"}, [](Vec3 a, Vec3 b) noexcept { return std::fabs(a.x - b.x) <= 12; });
    NodeDef of_positions = node("list", {own_kernel(Combine::add, near_of_positions)});
    const NodeDef built_in = node("grid", {within(Combine::add, 12)});
    std::vector<Set> sets;
    for (const NodeDef& one : {hashed, listed, built_in, of_positions}) {
        InterestManager manager = make(std::vector{one});
        for (std::uint32_t i = 0; i < 40; ++i) spawn(manager, i, static_cast<float>(i) * 2.5F);
        const ObserverId observer = watch(manager, id(20));
        sets.push_back(ticked(manager, observer));
    }
    CHECK(sets[0] == Set{16, 17, 18, 19, 20, 21, 22, 23, 24});
    CHECK(sets[1] == sets[0]);
    CHECK(sets[2] == sets[0]);
    CHECK(sets[3] == sets[0]);
}

TEST_CASE("interest: more kernels over one storage store no entity twice (N10)") {
    CountedMemory memory;
    const auto bytes_with = [&](std::vector<Kernel> steps) {
        Rules def = def_of({node("n", std::move(steps))});
        def.cell_size = 10;
        InterestManager manager = make(def);
        for (std::uint32_t i = 0; i < 2'000; ++i) spawn(manager, i, static_cast<float>(i % 100));
        manager.tick();
        return memory.held;
    };
    const auto even = make_pair_kernel({.name = "even", .reach = 30}, [](const Pair& p) noexcept {
        return index_of(p.entity()) % 2 == 0;
    });
    Kernel high = step(Combine::require, KernelType::value);
    high.value = id_at<ValueId>(0);
    const std::size_t one = bytes_with({within(Combine::add, 30)});
    CHECK(one > 2'000 * sizeof(Vec3));
    CHECK(bytes_with({within(Combine::add, 30), within(Combine::add, 20, 5),
                      flag(Combine::subtract, 0), own_kernel(Combine::add, even), high}) == one);
}

TEST_CASE("interest: a union of radius and team contains each entity once (N10 N11)") {
    InterestManager manager =
        make({node("near", {within(Combine::add, 10)}), node("team", {same(Combine::add, 0)})});
    const auto of_team = [&](std::uint32_t index, float x, std::uint16_t team) {
        const Key key{team};
        EntityDef def;
        def.position = {x, 50, 0};
        def.keys = std::span(&key, 1);
        spawn(manager, index, def);
    };
    of_team(0, 50, 1);
    of_team(1, 55, 1);  // both
    of_team(2, 55, 2);  // near
    of_team(3, 99, 1);  // team
    of_team(4, 99, 2);  // neither
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(manager.events(observer).size() == 4);
    put(manager, 1, 90);  // one of two nodes still matches
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_key(id(1), id_at<KeyId>(0), Key{2}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE("interest: a node can consist of a dispatcher to inner nodes only (N12)") {
    const auto inner = std::make_shared<OddAndEven>();
    InterestManager manager = make(std::vector{dispatched("odd and even", inner)});
    for (std::uint32_t i = 0; i < 6; ++i) spawn(manager, i, static_cast<float>(i));
    inner->looks_into = {1};
    const ObserverId odd = watch(manager);
    manager.tick();
    CHECK(seen(manager, odd) == Set{1, 3, 5});
    inner->looks_into = {0, 1};
    CHECK(manager.recheck(odd) == Status::ok);
    CHECK(tick_news(manager, odd) == News{{0, 2, 4}, {}});
    inner->looks_into = {};
    CHECK(manager.recheck(odd) == Status::ok);
    CHECK(ticked(manager, odd).empty());
}

TEST_CASE("interest: a node without kernels contains exactly its members (N13)") {
    InterestManager manager = make(std::vector{node("static", {}, Members::bound)});
    for (std::uint32_t i = 0; i < 3; ++i)
        spawn(manager, i, bound_to(static_cast<float>(i) * 1e5F, {node0}));
    spawn(manager, 3, 50);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE("interest: a group member in the result of a custom node is ignored") {
    const auto own = std::make_shared<RecordingNode>();
    InterestManager manager = make({own_node("own", own), node("off", {within(Combine::add, 1)})});
    for (const std::uint32_t i : {1U, 2U, 3U}) spawn(manager, i, 50);
    CHECK(manager.attach(id(2), id(1)) == Status::ok);
    const ObserverId observer = watch(manager);
    // Denied or not, the group is evaluated by its root.
    for (const bool is_denied : {true, false}) {
        CHECK(manager.deny(observer, id(2), is_denied) == Status::ok);
        own->verdict = {id(2), id(3)};
        CHECK(ticked(manager, observer) == Set{3});
        own->verdict = {id(1)};
        CHECK(ticked(manager, observer) == (is_denied ? Set{1} : Set{1, 2}));
    }
    CHECK(manager.set_node_pair(id_at<NodeId>(0), observer, id(2), true) == Status::refused);
    own->verdict = {id(2)};
    CHECK(manager.detach(id(2), {}) == Status::ok);
    CHECK(ticked(manager, observer) == Set{2});
}

}  // namespace purview::test::lines
