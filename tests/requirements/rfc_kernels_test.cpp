// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Kernels: the order of steps, borders, refreshing, overlapping cells.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// Cells of size 10 that overlap by 5 on either side. An observer covers its cell and both
/// neighbors.
class OverlappingCells final : public Dispatcher {
  public:
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        if (!entity.has_position) return;
        const auto cell = static_cast<CellId>(entity.position.x / 10);
        out.push_back(cell);
        const float rest = entity.position.x - static_cast<float>(cell) * 10;
        if (rest < 5 && cell > 0) out.push_back(cell - 1);
        if (rest >= 5) out.push_back(cell + 1);
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        for (const Vec3 position : observer.positions) {
            const auto cell = static_cast<CellId>(position.x / 10);
            for (CellId c = cell > 0 ? cell - 1 : 0; c <= cell + 1; ++c) out.push_back(c);
        }
    }
};

/// Runs tasks in reverse order, as if later tasks had been faster.
Executor backwards() {
    Executor executor;
    executor.workers = 4;
    executor.run = [](void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* of) {
        while (count > 0) task(of, --count);
    };
    return executor;
}

}  // namespace

TEST_CASE("interest: the steps of a node apply in the given order (N14 N15 N16)") {
    constexpr std::array ops{Combine::add, Combine::subtract, Combine::require};
    int tried = 0;
    for (const Combine a : ops) {
        for (const Combine b : ops) {
            for (const Combine c : ops) {
                const std::array<Combine, 3> order{a, b, c};
                InterestManager manager =
                    make(std::vector{node("n", {flag(a, 0), flag(b, 1), flag(c, 2)})});
                Set expected;
                for (std::uint32_t i = 0; i < 8; ++i) {
                    EntityDef def;
                    def.position = {static_cast<float>(i), 1, 0};
                    def.flags = FlagSet(static_cast<std::uint16_t>(i));
                    spawn(manager, i, def);
                    bool result = false;  // a leading subtraction has nothing to remove
                    for (std::uint32_t s = 0; s < 3; ++s) {
                        const bool yes = ((i >> s) & 1U) != 0;
                        if (order[s] == Combine::add) result = result || yes;
                        if (order[s] == Combine::subtract) result = result && !yes;
                        if (order[s] == Combine::require) result = result && yes;
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

TEST_CASE("interest: a subtraction applies inside its own node only (N17 N25)") {
    const NodeDef near = node("near", {within(Combine::add, 10)});
    const NodeDef team = node("team", {same(Combine::add, 0), flag(Combine::subtract, 0)});
    for (const bool swapped : {false, true}) {
        InterestManager manager = make(swapped ? std::vector{team, near} : std::vector{near, team});
        const Key key{1};
        EntityDef def;
        def.keys = std::span(&key, 1);
        def.position = {50, 50, 0};
        spawn(manager, 0, def);
        def.flags = FlagSet(1);
        def.position = {55, 50, 0};
        spawn(manager, 1, def);  // cloaked for its team, but near
        def.position = {90, 50, 0};
        spawn(manager, 2, def);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
    NodeDef cloaked = node("cloaked", {flag(Combine::add, 0)});
    cloaked.combine = Combine::subtract;  // a subtracting node: the order of nodes counts
    InterestManager manager = make({near, cloaked});
    spawn(manager, 0, 50);
    spawn(manager, 1, bound_to(55, {}, 1));
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
}

TEST_CASE("interest: the same match of a kernel adds, requires or removes (N18)") {
    const auto even = make_pair_kernel(
        {.name = "even"}, [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 0; });
    const auto result = [&](Combine op) {
        InterestManager manager =
            make(std::vector{node("n", {flag(Combine::add, 0), own_kernel(op, even)})});
        for (std::uint32_t i = 0; i < 6; ++i)
            spawn(manager, i, bound_to(5, {}, i < 4 ? std::uint16_t{1} : std::uint16_t{0}));
        const ObserverId observer = watch(manager);
        return ticked(manager, observer);
    };
    CHECK(result(Combine::add) == Set{0, 1, 2, 3, 4});
    CHECK(result(Combine::require) == Set{0, 2});
    CHECK(result(Combine::subtract) == Set{1, 3});
}

TEST_CASE("interest: the border of a radius is inside, for any radius (N19)") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    InterestManager manager = make(def);
    spawn(manager, 0, 0, 0);
    spawn(manager, 1, 90);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0));
    for (const float fifth : {2.0F, 5.0F, 1.0F, 3.0F}) {
        const float radius = fifth * 5;
        def.nodes[0].steps = {within(Combine::add, radius)};
        CHECK(manager.set_rules(def) == "");
        put(manager, 1, fifth * 3, fifth * 4);
        put(manager, 2, std::nextafter(radius, 100.0F), 0);
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, radius, 0);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: a node that was empty has no entities in its margin") {
    for (const bool is_ordered : {false, true}) {
        CAPTURE(is_ordered);
        NodeDef all = node("all", {});
        if (is_ordered) all.combine = Combine::require;
        // `near` only subtracts, so it is empty. The same step adds from the second rules on.
        Rules def = def_of({node("near", {within(Combine::subtract, 10, 5)}), all});
        if (!is_ordered) def.nodes.pop_back();
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer).empty());
        put(manager, 1, 62);
        def.nodes[0].steps = {within(Combine::add, 10, 5)};
        CHECK(manager.set_rules(def) == "");
        CHECK(ticked(manager, observer) == Set{0});
        put(manager, 1, 58);
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, 62);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: a step without effect because nothing was added causes a warning") {
    const auto warnings = [](std::vector<Kernel> steps) {
        return make(std::vector{node("near", std::move(steps))}).warnings();
    };
    CHECK(warnings({within(Combine::add, 10), flag(Combine::subtract, 0)}).empty());
    const auto reported = warnings({flag(Combine::subtract, 0), flag(Combine::require, 0),
                                    within(Combine::add, 10), flag(Combine::subtract, 0)});
    REQUIRE(reported.size() == 2);
    CHECK(reported[0] == "node 'near', step 1: nothing has been added before it: it has no effect");
    CHECK(reported[1] == "node 'near', step 2: nothing has been added before it: it has no effect");
}

TEST_CASE("interest: an observer's own entity is a candidate like any other (N20)") {
    InterestManager manager =
        make(std::vector{node("near", {within(Combine::add, 10), flag(Combine::subtract, 0)})});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_flag(id(0), id_at<FlagId>(0), true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {0}});
}

TEST_CASE("interest: spatial kernels are unknown for an observer without an entity (N21)") {
    const std::vector<NodeDef> nodes{
        node("near", {within(Combine::add, 1000)}, Members::bound),
        node("required", {flag(Combine::add, 0), within(Combine::require, 1000)}, Members::bound),
        node("removed", {flag(Combine::add, 0), within(Combine::subtract, 1)}, Members::bound),
        node("flagged", {flag(Combine::add, 0)}, Members::bound)};
    InterestManager manager = make(nodes);
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, bound_to(50, {id_at<NodeId>(i)}, 1));
    const ObserverId spectator = watch(manager);
    CHECK(ticked(manager, spectator) == Set{3});
    CHECK(explained(manager, spectator, id(2), "removed").steps[1].unknown);
    CHECK(manager.set_area(spectator, 1, Area::at({40, 50, 0})) ==
          Status::ok);  // now it has a position
    CHECK(ticked(manager, spectator) == Set{0, 1, 2, 3});
    // Its entity despawns: the observer has no position again.
    CHECK(manager.remove_area(spectator, 1) == Status::ok);
    spawn(manager, 9, 50);
    CHECK(manager.set_viewpoint(spectator, id(9)) == Status::ok);
    CHECK(ticked(manager, spectator).count(0) == 1);
    CHECK(manager.despawn(id(9)) == Status::ok);
    CHECK(ticked(manager, spectator) == Set{3});
}

TEST_CASE("interest: a node with an interval of four ticks delays enters, not leaves (N22)") {
    NodeDef near = node("near", {within(Combine::add, 10), flag(Combine::subtract, 0)});
    near.every_ticks = 4;
    InterestManager manager = make(std::vector{near});
    spawn(manager, 0, 50);
    spawn(manager, 1, 90);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 8; ++i) manager.tick();
    int latest = 0;
    for (int start = 0; start < 8; ++start) {  // from every phase of the interval
        put(manager, 1, 55);
        int late = 0;
        while (manager.tick(), !manager.is_relevant(observer, id(1))) REQUIRE(++late < 4);
        latest = std::max(latest, late);
        if (start % 2 == 0) {
            put(manager, 1, 90);
        } else {
            CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
        }
        manager.tick();
        CHECK_FALSE(manager.is_relevant(observer, id(1)));  // neither leave waits
        put(manager, 1, 90);
        CHECK(manager.set_flag(id(1), id_at<FlagId>(0), false) == Status::ok);
        for (int i = 0; i < start % 4; ++i) manager.tick();
    }
    CHECK(latest > 0);  // the interval has an effect
}

TEST_CASE("interest: a kernel with a margin remembers entities between refreshes (N22 N44)") {
    constexpr int every = 16;
    int waited = 0;
    for (int start = 0; start < 2 * every; ++start) {  // from every phase of the interval
        const bool has_neighbor = start >= every;
        NodeDef near = node("near", {within(Combine::add, 10, 5)});
        near.every_ticks = every;
        InterestManager manager = make(std::vector{near});
        spawn(manager, 0, 50);
        spawn(manager, 1, 63, 50.3F);
        if (has_neighbor) spawn(manager, 2, 59.5F, 50.3F);
        const ObserverId observer = watch(manager, id(0));
        for (int i = 0; i <= start % every; ++i) manager.tick();
        put(manager, 1, 59.6F, 50.3F);
        put(manager, 0, 50.01F);  // a moving observer is evaluated again
        manager.tick();
        waited += manager.is_relevant(observer, id(1)) ? 0 : 1;
        put(manager, 1, 63, 50.3F);
        put(manager, 0, 50);
        for (int i = 0; i < every; ++i) manager.tick();
        CHECK(manager.is_relevant(observer, id(1)));  // was nearer than 10, is nearer than 15
    }
    CHECK(waited == 2 * (every - 1));
}

TEST_CASE("interest: a timed condition keeps its last result until its next evaluation (X4)") {
    // A condition that only the game knows. It is expensive, so it is evaluated every eighth tick.
    // The distance is evaluated in every tick.
    struct Condition {
        std::atomic<int> calls{0};
        std::atomic<bool> result{true};
    };
    const auto condition = std::make_shared<Condition>();
    NodeDef near = node("near", {within(Combine::add, 10)});
    NodeDef timed = node("timed", {within(Combine::add, 50)});
    Kernel timed_step;
    timed_step.combine = Combine::require;
    timed_step.type = KernelType::custom;
    timed_step.custom = make_pair_kernel({.name = "expensive", .reads_positions = false},
                                         [condition](const Pair&) noexcept {
                                             ++condition->calls;
                                             return condition->result.load();
                                         });
    timed.steps.push_back(timed_step);
    timed.combine = Combine::require;
    timed.every_ticks = 8;
    timed.lazy_leave = true;
    InterestManager manager = make(std::vector{near, timed});
    for (std::uint32_t i = 0; i < 40; ++i) spawn(manager, i, 50);
    std::vector<ObserverId> observers;
    for (std::uint32_t i = 0; i < 16; ++i) observers.push_back(watch(manager, id(i)));
    for (int i = 0; i < 16; ++i) manager.tick();
    const auto count = [&] {
        return std::count_if(observers.begin(), observers.end(), [&](ObserverId observer) {
            return manager.is_relevant(observer, id(39));
        });
    };
    CHECK(count() == 16);
    // Its result changes: the observers get it one after the other, all within eight ticks.
    condition->result = false;
    std::vector<std::ptrdiff_t> left;
    std::vector<int> calls;
    for (int i = 0; i < 8; ++i) {
        condition->calls = 0;
        for (std::uint32_t o = 0; o < 16; ++o) put(manager, o, 50 + 0.01F * static_cast<float>(i));
        manager.tick();
        left.push_back(count());
        calls.push_back(condition->calls);
    }
    CHECK(left.back() == 0);
    const int most = *std::max_element(calls.begin(), calls.end());
    CHECK(*std::min_element(calls.begin(), calls.end()) > 0);
    CHECK(most * 4 < std::accumulate(calls.begin(), calls.end(), 0));
    CHECK(std::is_sorted(left.rbegin(), left.rend()));
    CHECK(std::adjacent_find(left.begin(), left.end()) == left.end());  // some in each tick
    // The distance does not wait for it.
    condition->result = true;
    for (int i = 0; i < 8; ++i) manager.tick();
    for (const ObserverId observer : observers) CHECK(manager.recheck(observer) == Status::ok);
    manager.tick();
    CHECK(count() == 16);
    put(manager, 39, 90);
    manager.tick();
    CHECK(count() == 0);
}

TEST_CASE("interest: a recheck or update makes a waiting node evaluate at once (N22 N24)") {
    const auto ticks_until_seen = [](auto&& request) {
        NodeDef near = node("near", {within(Combine::add, 10)});
        near.every_ticks = 4;
        int latest = 0;
        for (int start = 0; start < 4; ++start) {  // from every phase of the interval
            InterestManager manager = make(std::vector{near});
            spawn(manager, 0, 50);
            spawn(manager, 1, 90);
            const ObserverId observer = watch(manager, id(0));
            for (int i = 0; i < 4 + start; ++i) manager.tick();
            put(manager, 1, 55);
            request(manager, observer);
            int late = 0;
            while (manager.tick(), !manager.is_relevant(observer, id(1))) REQUIRE(++late < 4);
            latest = std::max(latest, late);
        }
        return latest;
    };
    const int unasked = ticks_until_seen([](InterestManager&, ObserverId) {});
    const int observer_rechecked =
        ticks_until_seen([](InterestManager& manager, ObserverId observer) {
            CHECK(manager.recheck(observer) == Status::ok);
        });
    const int node_rechecked = ticks_until_seen(
        [](InterestManager& manager, ObserverId) { CHECK(manager.recheck(node0) == Status::ok); });
    const int entity_rechecked = ticks_until_seen([](InterestManager& manager, ObserverId) {
        CHECK(manager.update(id(1)) == Status::ok);  // a teleport requests an update
    });
    CHECK(unasked == 3);
    CHECK(observer_rechecked == 0);
    CHECK(node_rechecked == 0);
    CHECK(entity_rechecked == 0);
}

TEST_CASE("interest: a dormant node uses the position of the last update (N23)") {
    NodeDef near = node("near", {within(Combine::add, 10)}, Members::bound);
    near.dormant = true;
    InterestManager manager = make({near, node("watchers", {within(Combine::add, 1)})});
    spawn(manager, 0, bound_to(20, {}));
    spawn(manager, 1, bound_to(25, {node0}));
    spawn(manager, 2, bound_to(25, {node0}));
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(manager.is_relevant(observer, id(0)));
    manager.tick();
    Rules only = def_of({near});
    InterestManager still = make(only);
    for (std::uint32_t i = 0; i < 3; ++i) spawn(still, i, bound_to(20, {node0}));
    const ObserverId viewer = watch(still);
    CHECK(still.set_area(viewer, 1, Area::at({20, 50, 0})) == Status::ok);
    CHECK(ticked(still, viewer) == Set{0, 1, 2});
    internal(still).windows.set_count_tested(true);
    still.tick();
    const std::uint64_t tested = internal(still).counters().lanes_tested;
    for (int i = 0; i < 10; ++i) {
        put(still, 1, 60.0F + static_cast<float>(i));
        CHECK(tick_news(still, viewer) == News{});
    }
    CHECK(internal(still).counters().lanes_tested == tested);
    CHECK(still.update(id(1)) == Status::ok);
    CHECK(tick_news(still, viewer) == News{{}, {1}});
    CHECK(still.update(id(2)) == Status::ok);  // its position did not change
    CHECK(tick_news(still, viewer) == News{});
}

TEST_CASE("interest: an entity in several cells leaves with the last one (N24 N53)") {
    const auto cells = std::make_shared<OverlappingCells>();
    InterestManager manager = make(std::vector{dispatched("overlapping", cells)});
    spawn(manager, 0, 52);
    spawn(manager, 1, 52);
    const ObserverId observer = watch(manager, id(0));  // covers cells 4, 5, 6
    CHECK(ticked(manager, observer) == Set{0, 1});
    std::mt19937 random(7);
    std::uniform_real_distribution<float> anywhere(0, 99);
    const auto holds = [&](float its, float mine) {
        const DispatchedEntity entity{id(1), {its, 50, 0}, true, 0, {}};
        const std::array<Vec3, 1> positions{Vec3{mine, 50, 0}};
        std::vector<CellId> in, looked;
        cells->cells_of(entity, in);
        cells->cover({observer, id(0), positions, {}}, looked);
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
    put(manager, 1, 66);  // cells 6 and 7: one of them is covered
    manager.tick();
    CHECK(manager.is_relevant(observer, id(1)));
    put(manager, 1, 69);
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 1, 71);  // cells 7 and 6
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 1, 76);  // cells 7 and 8
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE("interest: a range widened by speed times interval misses no entity (N24)") {
    constexpr float speed = 1.5F;
    constexpr std::uint32_t every = 5;
    NodeDef near = node("near", {within(Combine::add, 10)});
    near.every_ticks = every;
    near.widen = speed * 2 * every;
    near.lazy_leave = true;
    InterestManager manager = make(std::vector{near});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 30; ++i) spawn(manager, i, static_cast<float>(i) * 3);
    const ObserverId observer = watch(manager, id(0));
    for (std::uint32_t i = 0; i < every; ++i) manager.tick();
    std::mt19937 random(3);
    std::uniform_real_distribution<float> steps(-speed, speed);
    std::vector<float> at(30);
    for (std::uint32_t i = 0; i < 30; ++i) at[i] = manager.entity(id(i)).position().x;
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

TEST_CASE("interest: events do not depend on the order or threads of nodes (N25)") {
    const std::vector<NodeDef> nodes{
        node("near", {within(Combine::add, 12, 3)}), node("flag", {flag(Combine::add, 0)}),
        node("far, flagged", {within(Combine::add, 30), flag(Combine::require, 1)})};
    const std::vector<NodeDef> turned(nodes.rbegin(), nodes.rend());
    InterestManager one = make(nodes), other = make(turned);
    other.set_executor(backwards());
    constexpr std::uint32_t n = 300;
    std::vector<ObserverId> observers;
    for (std::uint32_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(i % 97), y = static_cast<float>(i % 89);
        for (InterestManager* manager : {&one, &other}) {
            EntityDef def;
            def.position = {x, y, 0};
            def.flags = FlagSet(i % 11 == 0 ? 1 : i % 3 == 0 ? 2 : 0);
            spawn(*manager, i, def);
        }
        observers.push_back(watch(one, id(i)));
        CHECK(watch(other, id(i)) == observers.back());
    }
    std::mt19937 random(5);
    std::uniform_real_distribution<float> anywhere(0, 99);
    std::size_t reported = 0;
    for (int tick = 0; tick < 5; ++tick) {
        one.tick();
        other.tick();
        reported += one.events().size();
        for (const ObserverId observer : observers)
            REQUIRE(news(one, observer) == news(other, observer));
        for (std::uint32_t i = 0; i < n; i += 7) {
            const Vec3 position{anywhere(random), anywhere(random), 0};
            CHECK(one.move(id(i), position) == Status::ok);
            CHECK(other.move(id(i), position) == Status::ok);
        }
    }
    CHECK(reported > 10'000);
}

TEST_CASE("interest: a node lists its entities, and an entity lists its nodes (N31)") {
    InterestManager manager =
        make({node("default", {}, Members::unbound), node("walls", {}, Members::bound),
              node("near", {within(Combine::add, 10)}, Members::bound)});
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
    const auto entities_of = [&](NodeId node) {
        std::vector<EntityId> list;
        manager.entities_of(node, list);
        return std::set<EntityId>(list.begin(), list.end());
    };
    using Entities = std::set<EntityId>;
    CHECK(entities_of(id_at<NodeId>(0)) == Entities{id(0)});
    CHECK(entities_of(node1) == Entities{id(1), id(2)});
    CHECK(entities_of(node2) == Entities{id(2)});
    CHECK(entities_of(id_at<NodeId>(3)).empty());
    CHECK(manager.unbind(id(2), node1) == Status::ok);
    manager.tick();
    CHECK(nodes_of(2) == std::set<std::string>{"near"});
    CHECK(entities_of(node1) == Entities{id(1)});
}

}  // namespace purview::test::lines
