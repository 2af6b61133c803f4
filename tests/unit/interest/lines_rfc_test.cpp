// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes and kernels, line by line: membership, the order of steps, refreshing, strength, work done.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "core/hash.hpp"
#include "line_support.hpp"
#include "purview/memory.hpp"

namespace purview::test {

using namespace lines;

namespace {

/// Bytes that the large arrays of the engine hold, while it is alive.
class CountedMemory {
  public:
    CountedMemory() { set_memory_hooks({allocate, release, this}); }
    ~CountedMemory() { set_memory_hooks({}); }
    CountedMemory(const CountedMemory&) = delete;
    CountedMemory& operator=(const CountedMemory&) = delete;
    std::size_t held = 0;
    std::size_t calls = 0;

  private:
    static void* allocate(std::size_t bytes, std::size_t alignment, void* user) {
        auto& self = *static_cast<CountedMemory*>(user);
        self.held += bytes;
        ++self.calls;
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    static void release(void* memory, std::size_t bytes, std::size_t, void* user) {
        static_cast<CountedMemory*>(user)->held -= bytes;
        std::free(memory);
    }
};

/// Says what it is told to, and counts how often it was asked about whom.
class RecordingNode final : public InterestNode {
  public:
    explicit RecordingNode(bool by_entity = false) : by_entity_(by_entity) {}
    void query_for(const InterestManager&, ObserverId, std::vector<EntityId>& out) override {
        ++asked;
        out.insert(out.end(), says.begin(), says.end());
    }
    void observers_for(const InterestManager&, EntityId entity,
                       std::vector<ObserverId>& out) override {
        ++asked;
        asked_about.insert(index_of(entity));
        out.insert(out.end(), shown_to.begin(), shown_to.end());
    }
    bool is_entity_centric() const noexcept override { return by_entity_; }
    std::vector<EntityId> says;
    std::vector<ObserverId> shown_to;
    Set asked_about;
    int asked = 0;

  private:
    bool by_entity_;
};

/// Even and odd entities in inner nodes of their own; observers look into those that they are told.
class OddAndEven final : public InterestDispatcher {
  public:
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(index_of(entity.entity) % 2);
    }
    void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
        out.insert(out.end(), looks_into.begin(), looks_into.end());
    }
    bool reads_places() const noexcept override { return false; }
    std::vector<CellId> looks_into;
};

/// Cells of ten that overlap by five on either side; an observer subscribes to those around it.
class OverlappingCells final : public InterestDispatcher {
  public:
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        if (!entity.placed) return;
        const auto cell = static_cast<CellId>(entity.place.x / 10);
        out.push_back(cell);
        const float rest = entity.place.x - static_cast<float>(cell) * 10;
        if (rest < 5 && cell > 0) out.push_back(cell - 1);
        if (rest >= 5) out.push_back(cell + 1);
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        for (const Vec3 place : observer.places) {
            const auto cell = static_cast<CellId>(place.x / 10);
            for (CellId c = cell > 0 ? cell - 1 : 0; c <= cell + 1; ++c) out.push_back(c);
        }
    }
};

/// For the expression that it stands in: it holds no nodes of its own.
EntityDef bound_to(float x, std::initializer_list<NodeId> nodes, std::uint16_t flags = 0) {
    EntityDef def;
    def.place = {x, 50, 0};
    def.nodes = std::span(nodes.begin(), nodes.size());
    def.flags = flags;
    return def;
}

constexpr NodeId node0{0}, node1{1}, node2{2};
using Members = NodeMembers;

/// Tasks in the opposite order, as if others had been faster.
Executor backwards() {
    Executor executor;
    executor.workers = 4;
    executor.run = [](void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* of) {
        while (count > 0) task(of, --count);
    };
    return executor;
}

}  // namespace

TEST_CASE(
    "interest: two managers share nothing, and one that ends gives back all that it held (N1)") {
    CountedMemory memory;
    {
        InterestManager first = make(std::vector{node("near", {within(StepOp::add, 10)})});
        spawn(first, 0, 50);
        const ObserverId observer = watch(first, id(0));
        CHECK(ticked(first, observer) == Set{0});
        InterestManager second = make(std::vector{node("near", {within(StepOp::add, 10)})});
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

TEST_CASE(
    "interest: without schemes it is as if there were no interest at all: every ready observer has "
    "every entity, near or far, and hears of moves nothing (N2)") {
    InterestManager manager = make(std::vector<NodeDesc>{});
    EntityDef nowhere;
    nowhere.placed = false;
    spawn(manager, 0, 50);
    spawn(manager, 1, 1e8F, -1e8F);
    spawn(manager, 2, nowhere);
    const ObserverId player = watch(manager, id(0)), spectator = watch(manager);
    const ObserverId unready = *manager.add_observer();
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

TEST_CASE(
    "interest: whoever is bound to no node belongs to the default node, and leaves it with the "
    "first node that it gets (N3)") {
    InterestManager manager = make({node("default", {}, Members::unbound),
                                    node("near", {within(StepOp::add, 10)}, Members::bound)});
    spawn(manager, 0, 50);
    spawn(manager, 1, 99);
    spawn(manager, 2, bound_to(99, {node1}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.add_node(id(1), node1) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0});
    put(manager, 1, 55);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: spawns and despawns reach the nodes of the entity, and no other node (N4)") {
    const auto bound = std::make_shared<RecordingNode>(true);
    const auto other = std::make_shared<RecordingNode>(true);
    InterestManager manager =
        make({own_node("bound", bound, Members::bound), own_node("other", other, Members::bound)});
    const ObserverId observer = watch(manager);
    bound->shown_to = {observer};
    spawn(manager, 1, bound_to(10, {node0}));
    spawn(manager, 2, bound_to(10, {node1}));
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(bound->asked_about == Set{1});
    CHECK(other->asked_about == Set{2});
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    bound->asked_about.clear();
    manager.tick();
    CHECK(bound->asked_about.empty());
}

TEST_CASE("interest: an update of an entity reaches every one of its nodes (N5)") {
    const auto custom = std::make_shared<RecordingNode>(true);
    const auto apart = std::make_shared<RecordingNode>(true);
    NodeDesc own = own_node("own", custom, Members::bound);
    NodeDesc not_its = own_node("not its", apart, Members::bound);
    NodeDesc near = node("near", {within(StepOp::add, 10)}, Members::bound);
    own.refresh.type = not_its.refresh.type = near.refresh.type = RefreshType::dormant;
    InterestManager manager = make({near, own, not_its});
    spawn(manager, 0, 50);
    spawn(manager, 1, bound_to(90, {node0, node1}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).empty());
    custom->asked_about.clear();
    apart->asked_about.clear();
    put(manager, 1, 55);
    CHECK(ticked(manager, observer).empty());
    CHECK(custom->asked_about.empty());
    CHECK(manager.update(id(1)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(custom->asked_about == Set{1});
    CHECK(apart->asked_about.empty());
}

TEST_CASE("interest: a node without entities asks its kernels nothing (N6)") {
    int asked = 0;
    const auto counting = make_pair_kernel({.name = "counting"}, [&asked](const Pair&) noexcept {
        ++asked;
        return true;
    });
    InterestManager manager =
        make({node("all", {}), node("own", {own_kernel(StepOp::add, counting)}, Members::bound)});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    put(manager, 0, 60);
    manager.tick();
    CHECK(asked == 0);
    CHECK(manager.add_node(id(0), node1) == Status::ok);
    manager.tick();
    CHECK(asked > 0);
    CHECK(explained(manager, observer, id(0), "own").result);
}

TEST_CASE("interest: a node of one's own is asked about nobody before it has an entity (N6)") {
    for (const bool by_entity : {true, false}) {
        const auto own = std::make_shared<RecordingNode>(by_entity);
        InterestManager manager = make(std::vector{own_node("own", own, Members::bound)});
        spawn(manager, 0, 50);
        watch(manager, id(0));
        manager.tick();
        manager.tick();
        CAPTURE(by_entity);
        CHECK(own->asked == 0);
        CHECK(manager.add_node(id(0), node0) == Status::ok);
        manager.tick();
        CHECK(own->asked > 0);
    }
}

TEST_CASE("interest: nodes come and go while running, and the same one twice is once (N7)") {
    InterestManager manager = make(
        {node("here", {within(StepOp::add, 10)}, Members::bound), node("all", {}, Members::bound)});
    spawn(manager, 0, bound_to(50, {node0}));
    spawn(manager, 1, bound_to(90, {node0}));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    for (int i = 0; i < 2; ++i) CHECK(manager.add_node(id(1), node1) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.remove_node(id(1), node1) == Status::ok);  // once is enough
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.remove_node(id(1), node1) == Status::not_found);
    CHECK(manager.add_node(id(1), NodeId{9}) == Status::bad_argument);
}

TEST_CASE(
    "interest: the last node removed leaves an entity orphaned, and the default node brings it "
    "back (N8)") {
    InterestManager manager =
        make({node("default", {}, Members::unbound), node("all", {}, Members::bound)});
    spawn(manager, 1, bound_to(50, {node1}));
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(manager.remove_node(id(1), node1) == Status::orphaned);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK_FALSE(explained(manager, observer, id(1), "default").is_member);  // no falling back
    CHECK_FALSE(explained(manager, observer, id(1), "all").is_member);
    CHECK(manager.add_default_node(id(1)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1});
    CHECK(manager.set_nodes(id(1), {}) == Status::orphaned);  // the same by another way
    CHECK(ticked(manager, observer).empty());
}

TEST_CASE(
    "interest: one kernel gives the same set from any storage, and one storage serves any kernel "
    "(N9)") {
    const auto near = make_pair_kernel({.name = "near", .reach_m = 12}, [](const Pair& p) noexcept {
        return std::fabs(p.place().x - p.places()[0].x) <= 12;
    });
    const auto near_everywhere = make_pair_kernel({.name = "near"}, [](const Pair& p) noexcept {
        return !p.places().empty() && std::fabs(p.place().x - p.places()[0].x) <= 12;
    });
    NodeDesc hashed = node("grid", {own_kernel(StepOp::add, near)});
    NodeDesc listed = node("list", {own_kernel(StepOp::add, near_everywhere)});
    listed.type = NodeType::everything;
    const auto near_of_places = make_pair_kernel(
        {.name = "near"}, [](Vec3 a, Vec3 b) noexcept { return std::fabs(a.x - b.x) <= 12; });
    NodeDesc of_places = node("list", {own_kernel(StepOp::add, near_of_places)});
    of_places.type = NodeType::everything;
    const NodeDesc built_in = node("grid", {within(StepOp::add, 12)});
    std::vector<Set> sets;
    for (const NodeDesc& one : {hashed, listed, built_in, of_places}) {
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
    const auto bytes_with = [&](std::vector<StepDesc> steps) {
        InterestDef def = def_of({node("n", std::move(steps))});
        def.rules.cell_m = 10;
        InterestManager manager = make(def);
        for (std::uint32_t i = 0; i < 2'000; ++i) spawn(manager, i, static_cast<float>(i % 100));
        manager.tick();
        return memory.held;
    };
    const auto even = make_pair_kernel({.name = "even", .reach_m = 30}, [](const Pair& p) noexcept {
        return index_of(p.entity()) % 2 == 0;
    });
    StepDesc high = step(StepOp::require, KernelType::value);
    high.kernel.value = ValueId{0};
    const std::size_t one = bytes_with({within(StepOp::add, 30)});
    CHECK(one > 2'000 * sizeof(Vec3));
    CHECK(bytes_with({within(StepOp::add, 30), within(StepOp::add, 20, 5),
                      flag(StepOp::subtract, 0), own_kernel(StepOp::add, even), high}) == one);
}

TEST_CASE("interest: radius or team over the same entities gives both, each once (N10 N11)") {
    InterestManager manager =
        make({node("near", {within(StepOp::add, 10)}), node("team", {same(StepOp::add, 0)})});
    const auto of_team = [&](std::uint32_t index, float x, std::uint16_t team) {
        const Key key{team};
        EntityDef def;
        def.place = {x, 50, 0};
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
    CHECK(manager.events_of(observer).size() == 4);
    put(manager, 1, 90);  // one of two nodes goes on saying yes
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_key(id(1), KeyDomain{0}, Key{2}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE("interest: a node may do nothing but dispatch to inner nodes (N12)") {
    const auto inner = std::make_shared<OddAndEven>();
    InterestManager manager = make(std::vector{dispatched("odd and even", inner)});
    for (std::uint32_t i = 0; i < 6; ++i) spawn(manager, i, static_cast<float>(i));
    inner->looks_into = {1};
    const ObserverId odd = watch(manager);
    manager.tick();
    CHECK(seen(manager, odd) == Set{1, 3, 5});
    inner->looks_into = {0, 1};
    CHECK(manager.rescan(odd) == Status::ok);
    CHECK(tick_news(manager, odd) == News{{0, 2, 4}, {}});
    inner->looks_into = {};
    CHECK(manager.rescan(odd) == Status::ok);
    CHECK(ticked(manager, odd).empty());
}

TEST_CASE("interest: a static node without kernels gives all that it manages, and no more (N13)") {
    InterestManager manager = make(std::vector{node("static", {}, Members::bound)});
    for (std::uint32_t i = 0; i < 3; ++i)
        spawn(manager, i, bound_to(static_cast<float>(i) * 1e5F, {node0}));
    spawn(manager, 3, 50);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE(
    "interest: steps reduce in the order given: all orders of three, over all answers (N14 N15 "
    "N16)") {
    constexpr std::array ops{StepOp::add, StepOp::subtract, StepOp::require};
    int tried = 0;
    for (const StepOp a : ops) {
        for (const StepOp b : ops) {
            for (const StepOp c : ops) {
                const std::array<StepOp, 3> order{a, b, c};
                InterestManager manager =
                    make(std::vector{node("n", {flag(a, 0), flag(b, 1), flag(c, 2)})});
                Set expected;
                for (std::uint32_t i = 0; i < 8; ++i) {
                    EntityDef def;
                    def.place = {static_cast<float>(i), 1, 0};
                    def.flags = static_cast<std::uint16_t>(i);
                    spawn(manager, i, def);
                    bool result = false;  // a leading subtraction has nothing to take from
                    for (std::uint32_t s = 0; s < 3; ++s) {
                        const bool yes = ((i >> s) & 1U) != 0;
                        if (order[s] == StepOp::add) result = result || yes;
                        if (order[s] == StepOp::subtract) result = result && !yes;
                        if (order[s] == StepOp::require) result = result && yes;
                    }
                    if (result) expected.insert(i);
                }
                const ObserverId observer = watch(manager);
                manager.tick();
                CHECK_MESSAGE(seen(manager, observer) == expected, to_text(expected));
                ++tried;
            }
        }
    }
    CHECK(tried == 27);
}

TEST_CASE(
    "interest: a subtraction works inside its own node, in whatever order nodes stand (N17 N25)") {
    const NodeDesc near = node("near", {within(StepOp::add, 10)});
    const NodeDesc team = node("team", {same(StepOp::add, 0), flag(StepOp::subtract, 0)});
    for (const bool swapped : {false, true}) {
        InterestManager manager = make(swapped ? std::vector{team, near} : std::vector{near, team});
        const Key key{1};
        EntityDef def;
        def.keys = std::span(&key, 1);
        def.place = {50, 50, 0};
        spawn(manager, 0, def);
        def.flags = 1;
        def.place = {55, 50, 0};
        spawn(manager, 1, def);  // cloaked for its team, near all the same
        def.place = {90, 50, 0};
        spawn(manager, 2, def);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
    NodeDesc cloaked = node("cloaked", {flag(StepOp::add, 0)});
    cloaked.combine = StepOp::subtract;  // asked for by name, order counts
    InterestManager manager = make({near, cloaked});
    spawn(manager, 0, 50);
    spawn(manager, 1, bound_to(55, {}, 1));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
}

TEST_CASE("interest: the same yes of a kernel adds, requires or removes (N18)") {
    const auto even = make_pair_kernel(
        {.name = "even"}, [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 0; });
    const auto result = [&](StepOp op) {
        InterestManager manager =
            make(std::vector{node("n", {flag(StepOp::add, 0), own_kernel(op, even)})});
        for (std::uint32_t i = 0; i < 6; ++i)
            spawn(manager, i, bound_to(5, {}, i < 4 ? std::uint16_t{1} : std::uint16_t{0}));
        const ObserverId observer = watch(manager);
        return ticked(manager, observer);
    };
    CHECK(result(StepOp::add) == Set{0, 1, 2, 3, 4});
    CHECK(result(StepOp::require) == Set{0, 2});
    CHECK(result(StepOp::subtract) == Set{1, 3});
}

TEST_CASE("interest: the border belongs to the radius, whatever it is set to (N19)") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    InterestManager manager = make(def);
    spawn(manager, 0, 0, 0);
    spawn(manager, 1, 90);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0));
    for (const float fifth : {2.0F, 5.0F, 1.0F, 3.0F}) {
        const float radius = fifth * 5;
        def.rules.nodes[0].steps = {within(StepOp::add, radius)};
        CHECK(manager.set_rules(def.rules) == Status::ok);
        put(manager, 1, fifth * 3, fifth * 4);
        put(manager, 2, std::nextafter(radius, 100.0F), 0);
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, radius, 0);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE(
    "interest: a node that was always empty has nobody in its margin, among ordered nodes too") {
    for (const bool is_ordered : {false, true}) {
        CAPTURE(is_ordered);
        NodeDesc all = node("all", {});
        if (is_ordered) all.combine = StepOp::require;
        // As `near` subtracts only, it is empty; the same step adds from the second rules on.
        InterestDef def = def_of({node("near", {within(StepOp::subtract, 10, 5)}), all});
        if (!is_ordered) def.rules.nodes.pop_back();
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer).empty());
        put(manager, 1, 62);
        def.rules.nodes[0].steps = {within(StepOp::add, 10, 5)};
        CHECK(manager.set_rules(def.rules) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0});
        put(manager, 1, 58);
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, 62);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: an observer's own entity is a candidate like any other (N20)") {
    InterestManager manager =
        make(std::vector{node("near", {within(StepOp::add, 10), flag(StepOp::subtract, 0)})});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_flag(id(0), FlagId{0}, true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {0}});
}

TEST_CASE(
    "interest: to an observer without an entity, spatial kernels are unknown: they add nothing, "
    "fail what is required and remove (N21)") {
    const std::vector<NodeDesc> nodes{
        node("near", {within(StepOp::add, 1000)}, Members::bound),
        node("required", {flag(StepOp::add, 0), within(StepOp::require, 1000)}, Members::bound),
        node("removed", {flag(StepOp::add, 0), within(StepOp::subtract, 1)}, Members::bound),
        node("flagged", {flag(StepOp::add, 0)}, Members::bound)};
    InterestManager manager = make(nodes);
    for (std::uint32_t i = 0; i < 4; ++i)
        spawn(manager, i, bound_to(50, {NodeId{static_cast<std::uint16_t>(i)}}, 1));
    const ObserverId spectator = watch(manager);
    CHECK(ticked(manager, spectator) == Set{3});
    CHECK(explained(manager, spectator, id(2), "removed").steps[1].unknown);
    CHECK(manager.set_area(spectator, 1, Vec3{40, 50, 0}) == Status::ok);  // now it is somewhere
    CHECK(ticked(manager, spectator) == Set{0, 1, 2, 3});
    // Its entity ends: it is nowhere again, and nothing falls over.
    CHECK(manager.remove_area(spectator, 1) == Status::ok);
    spawn(manager, 9, 50);
    CHECK(manager.set_main_entity(spectator, id(9)) == Status::ok);
    CHECK(ticked(manager, spectator).count(0) == 1);
    CHECK(manager.despawn(id(9)) == Status::ok);
    CHECK(ticked(manager, spectator) == Set{3});
}

TEST_CASE(
    "interest: a node that is refreshed every fourth tick is late by three at most, and hides "
    "at once (N22)") {
    NodeDesc near = node("near", {within(StepOp::add, 10), flag(StepOp::subtract, 0)});
    near.refresh = {RefreshType::every, 4, 0, false};
    InterestManager manager = make(std::vector{near});
    spawn(manager, 0, 50);
    spawn(manager, 1, 90);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 8; ++i) manager.tick();
    int latest = 0;
    for (int start = 0; start < 8; ++start) {  // from every tick of the round
        put(manager, 1, 55);
        int late = 0;
        while (manager.tick(), !manager.is_relevant(observer, id(1))) REQUIRE(++late < 4);
        latest = std::max(latest, late);
        if (start % 2 == 0) {
            put(manager, 1, 90);
        } else {
            CHECK(manager.set_flag(id(1), FlagId{0}, true) == Status::ok);
        }
        manager.tick();
        CHECK_FALSE(manager.is_relevant(observer, id(1)));  // neither waits
        put(manager, 1, 90);
        CHECK(manager.set_flag(id(1), FlagId{0}, false) == Status::ok);
        for (int i = 0; i < start % 4; ++i) manager.tick();
    }
    CHECK(latest > 0);  // it does save work
}

TEST_CASE(
    "interest: who waits is remembered by a kernel with a margin, whoever stands beside him "
    "(N22 N44)") {
    constexpr int every = 16;
    int waited = 0;
    for (int start = 0; start < 2 * every; ++start) {  // from every tick of the round
        const bool has_neighbour = start >= every;
        NodeDesc near = node("near", {within(StepOp::add, 10, 5)});
        near.refresh = {RefreshType::every, every, 0, false};
        InterestManager manager = make(std::vector{near});
        spawn(manager, 0, 50);
        spawn(manager, 1, 63, 50.3F);
        if (has_neighbour) spawn(manager, 2, 59.5F, 50.3F);
        const ObserverId observer = watch(manager, id(0));
        for (int i = 0; i <= start % every; ++i) manager.tick();
        put(manager, 1, 59.6F, 50.3F);
        put(manager, 0, 50.01F);  // whoever moves looks anew
        manager.tick();
        waited += manager.is_relevant(observer, id(1)) ? 0 : 1;
        put(manager, 1, 63, 50.3F);
        put(manager, 0, 50);
        for (int i = 0; i < every; ++i) manager.tick();
        CHECK(manager.is_relevant(observer, id(1)));  // was nearer than 10, is nearer than 15
    }
    CHECK(waited == 2 * (every - 1));
}

TEST_CASE("interest: a node that waits looks again at once when somebody asks for it (N22 N24)") {
    const auto ticks_until_seen = [](auto&& ask) {
        NodeDesc near = node("near", {within(StepOp::add, 10)});
        near.refresh = {RefreshType::every, 4, 0, false};
        int latest = 0;
        for (int start = 0; start < 4; ++start) {  // from every tick of the round
            InterestManager manager = make(std::vector{near});
            spawn(manager, 0, 50);
            spawn(manager, 1, 90);
            const ObserverId observer = watch(manager, id(0));
            for (int i = 0; i < 4 + start; ++i) manager.tick();
            put(manager, 1, 55);
            ask(manager, observer);
            int late = 0;
            while (manager.tick(), !manager.is_relevant(observer, id(1))) REQUIRE(++late < 4);
            latest = std::max(latest, late);
        }
        return latest;
    };
    const int unasked = ticks_until_seen([](InterestManager&, ObserverId) {});
    const int observer_asked = ticks_until_seen([](InterestManager& manager, ObserverId observer) {
        CHECK(manager.rescan(observer) == Status::ok);
    });
    const int node_asked = ticks_until_seen([](InterestManager& manager, ObserverId) {
        CHECK(manager.rescan_node(node0) == Status::ok);
    });
    const int entity_asked = ticks_until_seen([](InterestManager& manager, ObserverId) {
        CHECK(manager.update(id(1)) == Status::ok);  // a teleport says so
    });
    CHECK(unasked == 3);
    CHECK(observer_asked == 0);
    CHECK(node_asked == 0);
    CHECK(entity_asked == 0);
}

TEST_CASE(
    "interest: in a dormant node the place of the last update counts, and moves cost nothing "
    "(N23)") {
    NodeDesc near = node("near", {within(StepOp::add, 10)}, Members::bound);
    near.refresh.type = RefreshType::dormant;
    InterestManager manager = make({near, node("watchers", {within(StepOp::add, 1)})});
    spawn(manager, 0, bound_to(20, {}));
    spawn(manager, 1, bound_to(25, {node0}));
    spawn(manager, 2, bound_to(25, {node0}));
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(manager.is_relevant(observer, id(0)));
    manager.tick();
    InterestDef only = def_of({near});
    InterestManager still = make(only);
    for (std::uint32_t i = 0; i < 3; ++i) spawn(still, i, bound_to(20, {node0}));
    const ObserverId viewer = watch(still);
    CHECK(still.set_area(viewer, 1, Vec3{20, 50, 0}) == Status::ok);
    CHECK(ticked(still, viewer) == Set{0, 1, 2});
    still.set_count_tested(true);
    still.tick();
    const std::uint64_t tested = still.counters().lanes_tested;
    for (int i = 0; i < 10; ++i) {
        put(still, 1, 60.0F + static_cast<float>(i));
        CHECK(tick_news(still, viewer) == News{});
    }
    CHECK(still.counters().lanes_tested == tested);
    CHECK(still.update(id(1)) == Status::ok);
    CHECK(tick_news(still, viewer) == News{{}, {1}});
    CHECK(still.update(id(2)) == Status::ok);  // where it was
    CHECK(tick_news(still, viewer) == News{});
}

TEST_CASE(
    "interest: an entity in several cells leaves with the last of them, and an observer may look "
    "into a cluster (N24 N53)") {
    const auto cells = std::make_shared<OverlappingCells>();
    InterestManager manager = make(std::vector{dispatched("overlapping", cells)});
    spawn(manager, 0, 52);
    spawn(manager, 1, 52);
    const ObserverId observer = watch(manager, id(0));  // looks into 4, 5, 6
    CHECK(ticked(manager, observer) == Set{0, 1});
    std::mt19937 random(7);
    std::uniform_real_distribution<float> anywhere(0, 99);
    const auto holds = [&](float its, float mine) {
        const DispatchedEntity entity{id(1), {its, 50, 0}, true, 0, {}};
        const std::array<Vec3, 1> places{Vec3{mine, 50, 0}};
        std::vector<CellId> in, looked;
        cells->cells_of(entity, in);
        cells->cover({observer, id(0), places, {}}, looked);
        return std::any_of(in.begin(), in.end(), [&](CellId cell) {
            return std::find(looked.begin(), looked.end(), cell) != looked.end();
        });
    };
    int inside = 0;
    for (int tick = 0; tick < 200; ++tick) {
        const float its = anywhere(random), mine = anywhere(random);
        put(manager, 1, its);
        put(manager, 0, mine);
        manager.tick();
        REQUIRE(manager.is_relevant(observer, id(1)) == holds(its, mine));
        inside += holds(its, mine) ? 1 : 0;
    }
    CHECK(inside > 20);
    put(manager, 0, 52);
    put(manager, 1, 66);  // cells 6 and 7: one of them is looked into
    manager.tick();
    CHECK(manager.is_relevant(observer, id(1)));
    put(manager, 1, 69);
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 1, 71);  // 7 and 6
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 1, 76);  // 7 and 8
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE(
    "interest: with a range widened by speed times cadence nobody within it is missed, in no tick "
    "(N24)") {
    constexpr float speed = 1.5F;
    constexpr std::uint32_t every = 5;
    NodeDesc near = node("near", {within(StepOp::add, 10)});
    near.refresh = {RefreshType::every, every, speed * 2 * every, true};
    InterestManager manager = make(std::vector{near});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 30; ++i) spawn(manager, i, static_cast<float>(i) * 3);
    const ObserverId observer = watch(manager, id(0));
    for (std::uint32_t i = 0; i < every; ++i) manager.tick();
    std::mt19937 random(3);
    std::uniform_real_distribution<float> steps(-speed, speed);
    std::vector<float> at(30);
    for (std::uint32_t i = 0; i < 30; ++i) at[i] = manager.place_of(id(i)).x;
    int within_range = 0;
    for (int tick = 0; tick < 300; ++tick) {
        for (std::uint32_t i = 0; i < 30; ++i) {
            at[i] = std::clamp(at[i] + steps(random), 0.0F, 99.0F);
            put(manager, i, at[i]);
        }
        manager.tick();
        for (std::uint32_t i = 0; i < 30; ++i) {
            if (std::fabs(at[i] - at[0]) > 10) continue;
            ++within_range;
            REQUIRE(manager.is_relevant(observer, id(i)));
        }
    }
    CHECK(within_range > 1'000);
}

TEST_CASE(
    "interest: nodes may be worked on in any order and on any thread, the news is the same "
    "(N25)") {
    const std::vector<NodeDesc> nodes{
        node("near", {within(StepOp::add, 12, 3)}), node("flag", {flag(StepOp::add, 0)}),
        node("far, flagged", {within(StepOp::add, 30), flag(StepOp::require, 1)})};
    const std::vector<NodeDesc> turned(nodes.rbegin(), nodes.rend());
    InterestManager one = make(nodes), other = make(turned);
    other.set_executor(backwards());
    constexpr std::uint32_t n = 300;
    std::vector<ObserverId> observers;
    for (std::uint32_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(i % 97), y = static_cast<float>(i % 89);
        for (InterestManager* manager : {&one, &other}) {
            EntityDef def;
            def.place = {x, y, 0};
            def.flags = i % 11 == 0 ? 1 : i % 3 == 0 ? 2 : 0;
            spawn(*manager, i, def);
        }
        observers.push_back(watch(one, id(i)));
        CHECK(watch(other, id(i)) == observers.back());
    }
    std::mt19937 random(5);
    std::uniform_real_distribution<float> anywhere(0, 99);
    std::size_t told = 0;
    for (int tick = 0; tick < 5; ++tick) {
        one.tick();
        other.tick();
        told += one.events().size();
        for (const ObserverId observer : observers)
            REQUIRE(news(one, observer) == news(other, observer));
        for (std::uint32_t i = 0; i < n; i += 7) {
            const Vec3 place{anywhere(random), anywhere(random), 0};
            CHECK(one.move(id(i), place) == Status::ok);
            CHECK(other.move(id(i), place) == Status::ok);
        }
    }
    CHECK(told > 10'000);
}

TEST_CASE("interest: of every entity it can be asked which nodes it is in (N31)") {
    InterestManager manager =
        make({node("default", {}, Members::unbound), node("walls", {}, Members::bound),
              node("near", {within(StepOp::add, 10)}, Members::bound)});
    spawn(manager, 0, 50);
    spawn(manager, 1, bound_to(50, {node1}));
    spawn(manager, 2, bound_to(50, {node1, node2}));
    const ObserverId observer = watch(manager);
    manager.tick();
    const auto nodes_of = [&](std::uint32_t index) {
        std::set<std::string> names;
        for (const ExplainedNode& node : manager.explain(observer, id(index)).nodes)
            if (node.is_member) names.insert(node.name);
        return names;
    };
    CHECK(nodes_of(0) == std::set<std::string>{"default"});
    CHECK(nodes_of(1) == std::set<std::string>{"walls"});
    CHECK(nodes_of(2) == std::set<std::string>{"walls", "near"});
    CHECK(manager.remove_node(id(2), node1) == Status::ok);
    manager.tick();
    CHECK(nodes_of(2) == std::set<std::string>{"near"});
}

TEST_CASE("interest: who joins or leaves is work for what it sees, not for the world (N38)") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    def.rules.bounds_max = {10'000, 10'000, 0};
    def.rules.entities_expected = 20'000;
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        spawn(manager, i, static_cast<float>(i % 200) * 50, static_cast<float>(i / 200) * 100);
    }
    const ObserverId first = watch(manager, id(0));
    manager.tick();
    manager.set_count_tested(true);
    const std::uint64_t before = manager.counters().lanes_tested;
    const ObserverId second = watch(manager, id(10'100));
    CHECK(tick_news(manager, second) == News{{10'100}, {}});
    CHECK(manager.events().size() == 1);
    const std::uint64_t joined = manager.counters().lanes_tested;
    CHECK(joined > before);
    CHECK(joined - before < 400);
    CHECK(manager.remove_observer(second) == Status::ok);
    manager.tick();
    CHECK(manager.events().size() == 1);
    CHECK(manager.counters().lanes_tested - joined < 400);
    CHECK(seen(manager, first) == Set{0});
}

TEST_CASE("interest: an entity that everybody sees has no list of them (N38)") {
    // What observers cost does not depend on how many entities everybody sees.
    const auto bytes_of_observers = [](std::uint32_t entities) {
        CountedMemory memory;
        InterestManager manager = make(std::vector{node("all", {})});
        for (std::uint32_t i = 0; i < entities; ++i) spawn(manager, i, static_cast<float>(i % 100));
        manager.tick();
        const std::size_t before = memory.held;
        ObserverId last{};
        for (int o = 0; o < 200; ++o) {
            last = watch(manager);
            manager.tick();
        }
        for (int i = 0; i < 200; ++i) manager.tick();
        CHECK(manager.relevant_count(last) == entities);
        return memory.held - before;
    };
    CHECK(bytes_of_observers(2'000) < bytes_of_observers(20) + 200 * 1'980 / 8);
}

TEST_CASE(
    "interest: kernels of a live node are added, taken and reordered: it is then as if it had been "
    "made so (N39)") {
    const StepDesc near = within(StepOp::add, 15), cloak = flag(StepOp::subtract, 0),
                   team = same(StepOp::add, 0);
    InterestDef def = def_of({node("n", {near})});
    const auto fill = [](InterestManager& manager) {
        for (std::uint32_t i = 0; i < 60; ++i) {
            const Key key{static_cast<std::uint16_t>(1 + i % 4)};
            EntityDef one;
            one.place = {static_cast<float>(i) * 1.5F, 50, 0};
            one.flags = i % 5 == 0 ? 1 : 0;
            one.keys = std::span(&key, 1);
            spawn(manager, i, one);
        }
        return watch(manager, id(33));
    };
    InterestManager live = make(def);
    const ObserverId observer = fill(live);
    live.tick();
    std::set<Set> different;
    for (const auto& steps : std::vector<std::vector<StepDesc>>{{near, cloak},
                                                                {near, cloak, team},
                                                                {near, team, cloak},
                                                                {team, near},
                                                                {cloak},
                                                                {near}}) {
        def.rules.nodes[0].steps = steps;
        CHECK(live.set_rules(def.rules) == Status::ok);
        InterestManager fresh = make(def);
        const ObserverId there = fill(fresh);
        fresh.tick();
        live.tick();
        CHECK(seen(live, observer) == seen(fresh, there));
        different.insert(seen(live, observer));
    }
    CHECK(different.size() == 6);
}

TEST_CASE(
    "interest: nodes come with the kind, are the entity's own, or both: its own may stand instead "
    "(N40)") {
    InterestDef def = def_of({node("of kind", {flag(StepOp::add, 0)}, Members::bound),
                              node("its own", {flag(StepOp::add, 1)}, Members::bound),
                              node("default", {}, Members::unbound)});
    KindInterest kind;
    kind.nodes = {node0};
    def.kinds = {kind};
    InterestManager manager = make(def);
    const std::array own{node1};
    const auto add = [&](std::uint32_t index, std::uint16_t flags, bool has_kind, bool has_own,
                         bool replaces) {
        EntityDef one;
        one.flags = flags;
        if (has_kind) one.kind = KindId{0};
        if (has_own) one.nodes = own;
        one.replaces_kind_nodes = replaces;
        spawn(manager, index, one);
    };
    add(0, 1, true, false, false);
    add(1, 2, true, false, false);
    add(2, 1, true, true, false);  // both
    add(3, 2, true, true, false);
    add(4, 1, true, true, true);  // instead
    add(5, 2, true, true, true);
    add(6, 2, false, true, false);
    add(7, 0, false, false, false);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 2, 3, 5, 6, 7});
}

TEST_CASE(
    "interest: kernels read flags of the entity: a change counts in the same tick, without being "
    "announced (N41)") {
    InterestManager manager =
        make(std::vector{node("n", {within(StepOp::add, 10), flag(StepOp::subtract, 0)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);  // has no such flag: the kernel answers no
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_flag(id(1), FlagId{0}, true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.set_flag(id(1), FlagId{0}, false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.set_flag(id(1), FlagId{0}, true) == Status::ok);  // there and back is nothing
    CHECK(manager.set_flag(id(1), FlagId{0}, false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE(
    "interest: spawn, state and nodes of one tick are one step: nobody gets it through the default "
    "node in between (N42)") {
    InterestDef def = def_of({node("default", {}, Members::unbound),
                              node("near", {within(StepOp::add, 10)}, Members::bound)});
    KindInterest shy;
    shy.never_default = true;
    def.kinds = {shy};
    InterestManager manager = make(def);
    const ObserverId observer = watch(manager);
    manager.tick();
    spawn(manager, 1, 50);
    CHECK(manager.set_flag(id(1), FlagId{0}, true) == Status::ok);
    CHECK(manager.add_node(id(1), node1) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(tick_news(manager, observer) == News{});
    EntityDef nodeless;
    nodeless.kind = KindId{0};
    spawn(manager, 2, nodeless);  // no node: nobody's, by its kind
    spawn(manager, 3, EntityDef{});
    CHECK(tick_news(manager, observer) == News{{3}, {}});
}

TEST_CASE(
    "interest: strength comes from the kernel that decides, and asks about no more than is asked "
    "for (N44)") {
    class Measuring final : public InterestKernel {
      public:
        void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
            for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = all_lanes;
            tests += q.blocks.size();
        }
        std::string describe(const Question&, unsigned) const override { return "measuring"; }
        float reach_m() const noexcept override { return 10; }
        void strength(const Question& q, std::span<const Mask>,
                      std::span<float> strength) const noexcept override {
            measured += q.blocks.size();
            for (float& one : strength) one = 0.25F;
        }
        mutable std::size_t tests = 0, measured = 0;
    };
    const auto measuring = std::make_shared<Measuring>();
    InterestManager manager = make(std::vector{node("n", {own_kernel(StepOp::add, measuring)})});
    for (std::uint32_t i = 0; i < 400; ++i)
        spawn(manager, i, static_cast<float>(i % 20) * 5, static_cast<float>(i / 20) * 5);
    const ObserverId observer = watch(manager, id(210));
    manager.tick();
    CHECK(measuring->measured == 0);  // who does not ask for strength does not pay
    std::vector<EntityId> asked{id(210), id(211)};
    std::vector<float> strength(2);
    measuring->tests = 0;
    manager.strength(observer, asked, strength);
    CHECK(strength == std::vector<float>{0.25F, 0.25F});
    CHECK(measuring->measured <= 2);
    CHECK(measuring->tests <= 2);
    asked = {id(0)};
    strength = {9};
    manager.strength(observer, asked, strength);
    CHECK(strength[0] == 0);
    CHECK(measuring->measured <= 2);
}

TEST_CASE(
    "interest: the answer is a view: every entity once, and nothing is allocated to look at it "
    "(N46)") {
    CountedMemory memory;
    InterestManager manager =
        make({node("near", {within(StepOp::add, 20)}), node("all flagged", {flag(StepOp::add, 0)}),
              node("team", {same(StepOp::add, 0)})});
    const Key key{1};
    for (std::uint32_t i = 0; i < 100; ++i) {
        EntityDef def;
        def.place = {static_cast<float>(i), 50, 0};
        def.flags = 1;
        def.keys = std::span(&key, 1);
        spawn(manager, i, def);
    }
    const ObserverId observer = watch(manager, id(50));
    for (std::uint32_t i = 0; i < 100; i += 3)
        CHECK(manager.allow(observer, id(i), true) == Status::ok);
    CHECK(manager.show_to_all(id(4), true) == Status::ok);
    manager.tick();
    std::vector<int> times(100, 0);
    const std::size_t calls = memory.calls;
    manager.for_each_relevant(observer, [&](EntityId entity) { ++times[index_of(entity)]; });
    CHECK(manager.relevant_count(observer) == 100);
    CHECK(memory.calls == calls);
    CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
}

TEST_CASE(
    "interest: show and hide are pairs of the explicit stage, with a fixed precedence "
    "(N47)") {
    InterestManager manager = make(std::vector{node("near", {within(StepOp::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0)), other = watch(manager, id(0));
    CHECK(manager.deny(observer, id(1), true) == Status::ok);
    CHECK(manager.allow(observer, id(2), true) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2});
    CHECK(seen(manager, other) == Set{0, 1});                  // of this pair only
    CHECK(manager.deny(observer, id(2), true) == Status::ok);  // deny before allow
    CHECK(tick_news(manager, observer) == News{{}, {2}});
    CHECK(manager.explain(observer, id(2)).stage == Stage::denied);
    CHECK(manager.deny(observer, id(2), false) == Status::ok);
    CHECK(manager.force_hide(id(2), true) == Status::ok);  // and so does force hidden
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.explain(observer, id(2)).stage == Stage::force_hidden);
    CHECK(manager.deny(observer, id(1), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    // Shown and hidden again within a tick: nobody hears of it.
    CHECK(manager.force_hide(id(2), false) == Status::ok);
    CHECK(manager.allow(observer, id(2), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: many pairs edited at once are the same pairs edited one after the other") {
    SplitMix random(5);
    const auto world = [&] {
        InterestManager manager = make(std::vector{node("near", {within(StepOp::add, 10)})});
        for (std::uint32_t i = 0; i < 60; ++i) spawn(manager, i, static_cast<float>(i));
        return manager;
    };
    InterestManager many = world(), single = world();
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < 20; ++o) {
        observers.push_back(watch(many, id(o)));
        REQUIRE(watch(single, id(o)) == observers.back());
    }
    std::size_t relevant = 0;
    for (int round = 0; round < 100; ++round) {
        std::vector<PairEdit> edits;
        Status first = Status::ok;
        const bool allows = random.chance(0.7F);
        for (std::uint32_t n = random.below(200); n > 0; --n) {
            PairEdit edit{observers[random.below(20)], id(random.below(60)), random.chance(0.5F)};
            if (random.chance(0.02F)) edit.observer = ObserverId::none;
            if (random.chance(0.02F)) edit.entity = EntityId::none;
            if (random.chance(0.02F)) edit.entity = make_entity_id(random.below(60), 77);
            edits.push_back(edit);
            const Status status = allows ? single.allow(edit.observer, edit.entity, edit.value)
                                         : single.deny(edit.observer, edit.entity, edit.value);
            if (first == Status::ok) first = status;
        }
        CHECK((allows ? many.allow(edits) : many.deny(edits)) == first);
        many.tick();
        single.tick();
        for (const ObserverId observer : observers) {
            REQUIRE(seen(many, observer) == seen(single, observer));
            relevant += seen(many, observer).size();
        }
    }
    CHECK(relevant > 10'000);
}

TEST_CASE("interest: results of nodes join in a declared expression (N48)") {
    // (flag 0 or flag 1) and not flag 2, each a node of its own
    NodeDesc a = node("a", {flag(StepOp::add, 0)}), b = node("b", {flag(StepOp::add, 1)}),
             c = node("c", {flag(StepOp::add, 2)});
    const auto joined = [&](StepOp second, StepOp third) {
        b.combine = second;
        c.combine = third;
        InterestManager manager = make({a, b, c});
        for (std::uint32_t i = 0; i < 8; ++i)
            spawn(manager, i, bound_to(5, {}, static_cast<std::uint16_t>(i)));
        const ObserverId observer = watch(manager);
        return ticked(manager, observer);
    };
    CHECK(joined(StepOp::add, StepOp::subtract) == Set{1, 2, 3});
    CHECK(joined(StepOp::add, StepOp::require) == Set{5, 6, 7});
    CHECK(joined(StepOp::require, StepOp::add) == Set{3, 4, 5, 6, 7});
    CHECK(joined(StepOp::require, StepOp::require) == Set{7});
    CHECK(joined(StepOp::subtract, StepOp::require) == Set{5});
}

TEST_CASE("interest: require inside a node is and, over what was added so far (N48)") {
    InterestManager manager = make(std::vector{
        node("n", {within(StepOp::add, 10), flag(StepOp::require, 0), flag(StepOp::add, 1)})});
    spawn(manager, 0, bound_to(50, {}, 1));
    spawn(manager, 1, bound_to(55, {}, 0));
    spawn(manager, 2, bound_to(90, {}, 1));
    spawn(manager, 3, bound_to(90, {}, 2));  // added behind the requirement
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 3});
}

TEST_CASE(
    "interest: a node of one's own reads the one table of entities, and keeps ids only (N49)") {
    class LeftHalf final : public InterestNode {
      public:
        void query_for(const InterestManager& manager, ObserverId,
                       std::vector<EntityId>& out) override {
            manager.entities_in({0, 0, 0}, {50, 100, 0}, out);
            out.insert(out.end(), remembered.begin(), remembered.end());
        }
        std::vector<EntityId> remembered;  ///< some of them long gone
    };
    const auto left = std::make_shared<LeftHalf>();
    InterestManager manager = make(std::vector{own_node("left", left)});
    spawn(manager, 0, 10);
    spawn(manager, 1, 50);
    spawn(manager, 2, 51);
    left->remembered = {id(0), id(7)};
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 1});
    put(manager, 2, 49);
    manager.tick();  // a custom node may see a move of this tick with the next
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1, 2});
    CHECK(manager.spawn(make_entity_id(0, 2), {.place = {90, 90, 0}}) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1, 2});  // a stale id names nobody else
}

TEST_CASE("interest: asking for one pair equals membership of the set, in every tick (N50)") {
    InterestManager manager =
        make({node("near", {within(StepOp::add, 15, 5), flag(StepOp::subtract, 0)}),
              node("team", {same(StepOp::add, 0)})});
    std::mt19937 random(11);
    const auto number = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (std::uint32_t i = 0; i < 30; ++i) spawn(manager, i, static_cast<float>(i) * 3);
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < 4; ++o) observers.push_back(watch(manager, id(o * 7)));
    std::size_t relevant = 0;
    for (int tick = 0; tick < 120; ++tick) {
        for (int i = 0; i < 4; ++i) {
            const EntityId one = id(number(30));
            const ObserverId observer = observers[number(4)];
            const bool value = number(2) == 0;
            Status status = Status::ok;
            switch (number(6)) {
                case 0:
                    status = manager.set_flag(one, FlagId{0}, value);
                    break;
                case 1:
                    status = manager.deny(observer, one, value);
                    break;
                case 2:
                    status = manager.allow(observer, one, value);
                    break;
                case 3:
                    status = manager.set_key(one, KeyDomain{0},
                                             Key{static_cast<std::uint16_t>(number(3))});
                    break;
                case 4:
                    status = manager.set_ready(observer, number(5) > 0);
                    break;
                default:
                    status = manager.move(one, {static_cast<float>(number(100)), 50, 0});
                    break;
            }
            CHECK(status == Status::ok);
        }
        manager.tick();
        for (const ObserverId observer : observers) {
            std::vector<EntityId> out;
            manager.query_for(observer, out);
            relevant += out.size();
            for (std::uint32_t i = 0; i < 30; ++i) {
                const bool listed = std::find(out.begin(), out.end(), id(i)) != out.end();
                REQUIRE(manager.is_relevant(observer, id(i)) == listed);
            }
            CHECK(manager.relevant_count(observer) == out.size());
        }
    }
    CHECK(relevant > 1'000);
}

TEST_CASE(
    "interest: strength lies above 0 and up to 1: or takes the larger, and the smaller: by "
    "distance 1 at the centre, a half at the leave radius (N51)") {
    const auto strength = [](const InterestManager& manager, ObserverId observer,
                             std::uint32_t index) {
        const EntityId one = id(index);
        float value = -1;
        manager.strength(observer, std::span(&one, 1), std::span(&value, 1));
        return value;
    };
    InterestManager manager = make(std::vector{node("near", {within(StepOp::add, 8, 2)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 58);
    spawn(manager, 3, 90);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(strength(manager, observer, 0) == doctest::Approx(1));
    CHECK(strength(manager, observer, 1) == doctest::Approx(0.75));
    put(manager, 2, 60);  // at the leave radius
    manager.tick();
    CHECK(strength(manager, observer, 2) == doctest::Approx(0.5));
    CHECK(strength(manager, observer, 3) == 0);
    // Two kernels of one entity, five away: 0.75 of 10 and 0.875 of 20.
    const auto of = [&](std::vector<NodeDesc> nodes) {
        InterestManager both = make(std::move(nodes));
        spawn(both, 0, 50);
        spawn(both, 1, 55);
        const ObserverId viewer = watch(both, id(0));
        both.tick();
        return strength(both, viewer, 1);
    };
    const auto near = [](StepOp op) { return within(op, 10); };
    const auto far = [](StepOp op) { return within(op, 20); };
    CHECK(of({node("n", {near(StepOp::add), far(StepOp::add)})}) == doctest::Approx(0.875));
    CHECK(of({node("n", {near(StepOp::add), far(StepOp::require)})}) == doctest::Approx(0.75));
    CHECK(of({node("n", {far(StepOp::add), near(StepOp::require)})}) == doctest::Approx(0.75));
    CHECK(of({node("a", {near(StepOp::add)}), node("b", {far(StepOp::add)})}) ==
          doctest::Approx(0.875));
    NodeDesc also = node("b", {far(StepOp::add)});
    also.combine = StepOp::require;
    CHECK(of({node("a", {near(StepOp::add)}), also}) == doctest::Approx(0.75));
    CHECK(of({node("all", {})}) == 1);  // nothing measures
}

TEST_CASE(
    "interest: what an engine cannot see is asked again by entity, by observer or by node (N52)") {
    const auto secret = std::make_shared<std::set<std::uint32_t>>();
    const auto known = make_pair_kernel(
        {.name = "secret", .reach_m = 1'000},
        [secret](const Pair& p) noexcept { return secret->count(index_of(p.entity())) > 0; });
    InterestManager manager = make(std::vector{node("n", {own_kernel(StepOp::add, known)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 10);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 3; ++i) CHECK(ticked(manager, observer).empty());
    *secret = {1};
    CHECK(tick_news(manager, observer) == News{});  // nobody told it
    CHECK(manager.recheck(id(1)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    *secret = {1, 2};
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.rescan(observer) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{2}, {}});
    *secret = {};
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.rescan_node(node0) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1, 2}});
    CHECK(manager.rescan_node(node1) == Status::bad_argument);
}

TEST_CASE(
    "interest: an entity without a position takes part in every node that does not ask for one "
    "(N54)") {
    const Key key{1};
    std::vector<NodeDesc> nodes{
        node("all", {}, Members::bound),
        node("team", {same(StepOp::add, 0)}, Members::bound),
        node("flag", {flag(StepOp::add, 0)}, Members::bound),
        node("near", {within(StepOp::add, 1000)}, Members::bound),
        node("required", {flag(StepOp::add, 0), within(StepOp::require, 1000)}, Members::bound),
        node("removed", {flag(StepOp::add, 0), within(StepOp::subtract, 1)}, Members::bound),
        node("cells", {cells(1000, 1000)}, Members::bound),
        node("either", {within(StepOp::add, 1000), flag(StepOp::add, 0)}, Members::bound)};
    InterestManager manager = make(nodes);
    EntityDef def;
    def.keys = std::span(&key, 1);
    def.flags = 1;
    def.place = {50, 50, 0};
    spawn(manager, 90, def);  // the observer's
    def.placed = false;
    for (std::uint16_t i = 0; i < 8; ++i) {
        const NodeId own{i};
        def.nodes = std::span(&own, 1);
        // A place that it does not have would let it in everywhere.
        def.place = i == 5 ? Vec3{90, 10, 0} : Vec3{50, 50, 0};
        spawn(manager, i, def);
    }
    const ObserverId observer = watch(manager, id(90));
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 7});
    for (const char* name : {"near", "removed", "cells"}) {
        const std::uint32_t index = name[0] == 'n' ? 3 : name[0] == 'r' ? 5 : 6;
        const ExplainedNode why = explained(manager, observer, id(index), name);
        CHECK(why.is_member);
        CHECK(why.steps.back().unknown);
    }
}

}  // namespace purview::test
