// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Refresh policies of nodes: every policy evaluates a spawn in its tick. A lazy leave waits for the
// node's next tick at every distance.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/hash.hpp"
#include "core/observer_ids.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

constexpr std::uint32_t every = 20;

/// When a node is evaluated.
struct Refresh {
    std::uint32_t every_ticks = 1;
    float widen = 0;
    bool lazy_leave = false;
    bool dormant = false;

    NodeDef applied_to(NodeDef node) const {
        node.every_ticks = every_ticks;
        node.widen = widen;
        node.lazy_leave = lazy_leave;
        node.dormant = dormant;
        return node;
    }
};

constexpr Refresh lazy_refresh{.every_ticks = every, .lazy_leave = true};

NodeDef refreshed(std::vector<Kernel> steps, const Refresh& refresh) {
    return refresh.applied_to(node("near", std::move(steps)));
}

/// A world of 2,000 m with cells of about `cell_size` meters.
InterestManager wide_world(std::vector<NodeDef> nodes, float cell_size) {
    Rules def = def_of(std::move(nodes));
    def.max = {2000, 2000, 0};
    def.cell_size = cell_size;
    return make(def);
}

}  // namespace

TEST_CASE("refresh: a spawn is evaluated in its tick under every policy") {
    const std::array<Refresh, 5> policies{{{},
                                           {.every_ticks = every},
                                           {.every_ticks = every, .lazy_leave = true},
                                           {.every_ticks = every, .widen = 3, .lazy_leave = true},
                                           {.dormant = true}}};
    for (const Refresh& policy : policies) {
        for (const bool has_exact_node : {false, true}) {
            for (const float margin_m : {0.0F, 5.0F}) {
                CAPTURE(policy.every_ticks);
                CAPTURE(policy.dormant);
                CAPTURE(policy.lazy_leave);
                CAPTURE(margin_m);
                std::vector<NodeDef> nodes{refreshed(
                    {within(Combine::add, 10, margin_m), flag(Combine::subtract, 0)}, policy)};
                if (has_exact_node) nodes.push_back(node("other", {within(Combine::add, 1)}));
                InterestManager manager = wide_world(nodes, 15);
                const ObserverId observer = watch(manager);
                SplitMix random(7);
                float x = 1000;
                for (std::uint32_t i = 1; i < 3 * every; ++i) {
                    // The observer moves: its visible block set belongs to an earlier position.
                    x += 3;
                    CHECK(manager.set_area(observer, 0, Area::at({x, 50, 0})) == Status::ok);
                    spawn(manager, 3 * i, bound_to(x + random.between(-9, 9), {}));
                    spawn(manager, 3 * i + 1, bound_to(x + 5, {}, 1));  // hidden by its flag
                    spawn(manager, 3 * i + 2, bound_to(x + 40, {}));    // too far
                    CHECK(manager.despawn(id(3 * i + 2)) == Status::ok);
                    const News now = tick_news(manager, observer);
                    CHECK(now.in.count(3 * i) == 1);
                    CHECK(now.in.count(3 * i + 1) == 0);
                    CHECK(now.in.count(3 * i + 2) == 0);
                }
            }
        }
    }
}

TEST_CASE("refresh: custom nodes are queried for a spawn in its tick" *
          doctest::test_suite("M4 M39")) {
    struct All final : CustomNode {
        explicit All(bool by_entity) : by_entity_(by_entity) {}
        void query_for(const Visibility& visibility, ObserverId,
                       std::vector<EntityId>& out) override {
            for (std::uint32_t i = 0; i < 100; ++i)
                if (visibility.entity(id(i)).is_alive()) out.push_back(id(i));
        }
        void observers_for(const Visibility&, EntityId, std::vector<ObserverId>& out) override {
            out.push_back(make_observer_id(0, 1));
        }
        bool is_entity_centric() const noexcept override { return by_entity_; }
        bool by_entity_;
    };
    for (const bool by_entity : {false, true}) {
        for (const Refresh& refresh : {Refresh{.every_ticks = every}, Refresh{.dormant = true}}) {
            const NodeDef all = own_node("all", std::make_shared<All>(by_entity));
            InterestManager manager = make(std::vector{refresh.applied_to(all)});
            const ObserverId observer = watch(manager);
            manager.tick();
            for (std::uint32_t i = 0; i < 30; ++i) {
                spawn(manager, i, 50);
                CHECK(tick_news(manager, observer) == News{{i}, {}});
            }
        }
    }
}

TEST_CASE("refresh: a lazy leave waits for the next tick of its node at any distance" *
          doctest::test_suite("M40 N22 X4")) {
    for (const float cell_size : {5.0F, 15.0F, 60.0F, 400.0F}) {
        for (const bool has_exact_node : {false, true}) {
            CAPTURE(cell_size);
            CAPTURE(has_exact_node);
            std::vector<NodeDef> nodes{refreshed({within(Combine::add, 10)}, lazy_refresh)};
            if (has_exact_node) nodes.push_back(node("other", {within(Combine::add, 1)}));
            // An entity in a second world shows in which ticks the node is evaluated.
            InterestManager manager = wide_world(nodes, cell_size);
            constexpr std::array<float, 6> far{5.5F, 11, 30, 100, 500, 1500};
            spawn(manager, 0, 100);
            const ObserverId observer = watch(manager, id(0));
            for (std::uint32_t i = 1; i <= far.size(); ++i) spawn(manager, i, 105);
            for (std::uint32_t t = 0; t < 2 * every; ++t) manager.tick();
            const Set all{0, 1, 2, 3, 4, 5, 6};
            CHECK(seen(manager, observer) == all);
            for (int round = 0; round < 3; ++round) {
                for (std::uint32_t i = 1; i <= far.size(); ++i) put(manager, i, 100 + far[i - 1]);
                std::uint32_t waited = 0;
                for (; waited < every + 1 && seen(manager, observer) == all; ++waited)
                    manager.tick();
                // All leave in the node's tick, except the nearest.
                CHECK(waited <= every);
                CHECK(waited > 1);
                CHECK(seen(manager, observer) == Set{0, 1});
                for (std::uint32_t i = 1; i <= far.size(); ++i) put(manager, i, 105);
                std::uint32_t entered = 0;
                for (; entered < every + 1 && seen(manager, observer) != all; ++entered)
                    manager.tick();
                CHECK(entered <= every);
                // Continues past the node's tick, so that the next leaves have to wait.
                for (std::uint32_t t = 0; t < 7; ++t) manager.tick();
            }
            // The same when the observer moves away.
            put(manager, 0, 1800);
            std::uint32_t waited = 0;
            for (; waited < every + 1 && seen(manager, observer) == all; ++waited) manager.tick();
            CHECK(waited <= every);
            CHECK(waited > 1);
            CHECK(seen(manager, observer) == Set{0});
        }
    }
}

TEST_CASE("refresh: an entity with a lazy leave leaves at once when it is hidden" *
          doctest::test_suite("M40 N22")) {
    InterestManager manager = wide_world(
        {refreshed({within(Combine::add, 10), flag(Combine::subtract, 0)}, lazy_refresh)}, 15);
    spawn(manager, 0, 100);
    const ObserverId observer = watch(manager, id(0));
    for (std::uint32_t i = 1; i <= 5; ++i) spawn(manager, i, 105);
    std::uint32_t ticks = 0;
    do manager.tick();
    while ((++ticks + index_of(observer)) % every != 0);
    for (std::uint32_t i = 1; i <= 5; ++i) put(manager, i, 900);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3, 4, 5});
    CHECK(manager.deny(observer, id(1), true) == Status::ok);
    CHECK(manager.set_flag(id(2), id_at<FlagId>(0), true) == Status::ok);
    CHECK(manager.set_hidden(id(3), true) == Status::ok);
    CHECK(manager.despawn(id(4)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1, 2, 3, 4}});
}

TEST_CASE("refresh: an entity that is back in the node's tick has no leave event" *
          doctest::test_suite("M40")) {
    for (const float cell_size : {5.0F, 60.0F}) {
        InterestManager manager =
            wide_world({refreshed({within(Combine::add, 10)}, lazy_refresh)}, cell_size);
        spawn(manager, 0, 100);
        spawn(manager, 1, 105);
        const ObserverId observer = watch(manager, id(0));
        manager.tick();
        SplitMix random(3);
        for (std::uint32_t tick = 2; tick < 300; ++tick) {
            const bool is_due = (tick + index_of(observer)) % every == 0;
            put(manager, 1, is_due ? 105 : random.between(90, 1900));
            CHECK(tick_news(manager, observer) == News{});
        }
    }
}

TEST_CASE("refresh: an interval of 0 or more than 65,535 ticks is refused") {
    for (const std::uint32_t ticks : {0U, 1U, 65'535U, 65'536U}) {
        const bool is_sound = ticks == 1 || ticks == 65'535;
        const NodeDef desc = refreshed({within(Combine::add, 10)}, {.every_ticks = ticks});
        CHECK(problem_of(def_of({desc})).empty() == is_sound);
    }
}

}  // namespace purview::test::lines
