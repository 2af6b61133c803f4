// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Every refresh policy evaluates a spawn in its tick. Everything else waits for the node, so only
// the spawn can cause the enter event.
#include <array>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::spawn_refresh {

namespace {

constexpr std::uint32_t interval = 50;

struct Policy {
    std::string name;
    std::uint32_t every_ticks = 1;
    float widen = 0;
    bool lazy_leave = false;
    bool dormant = false;
};

const std::array<Policy, 4> policies{
    {{.name = "every", .every_ticks = interval},
     {.name = "every, lazy", .every_ticks = interval, .lazy_leave = true},
     {.name = "every, wider", .every_ticks = interval, .widen = 3, .lazy_leave = true},
     {.name = "dormant", .dormant = true}}};

InterestManager waiting_world(const Policy& policy, std::vector<Kernel> steps,
                              const std::vector<NodeDef>& others) {
    NodeDef waits = node("waits", std::move(steps));
    waits.every_ticks = policy.every_ticks;
    waits.widen = policy.widen;
    waits.lazy_leave = policy.lazy_leave;
    waits.dormant = policy.dormant;
    std::vector<NodeDef> nodes{waits};
    nodes.insert(nodes.end(), others.begin(), others.end());
    Rules def = def_of(nodes);
    def.max = {400, 400, 0};
    def.cell_size = 15;
    return make(def);
}

}  // namespace

TEST_CASE("refresh: a spawn enters in its tick although nothing else is evaluated" *
          doctest::test_suite("M4 M39 N22")) {
    for (const Policy& policy : policies) {
        for (const bool observer_moves : {false, true}) {
            for (const float margin_m : {0.0F, 4.0F}) {
                for (const bool has_exact_node : {false, true}) {
                    // With an exact node beside it, a dormant node has no positions of its own.
                    if (has_exact_node && policy.dormant) continue;
                    CAPTURE(policy.name);
                    CAPTURE(observer_moves);
                    CAPTURE(margin_m);
                    CAPTURE(has_exact_node);
                    std::vector<NodeDef> others;
                    if (has_exact_node) others = {node("other", {flag(Combine::add, 1)})};
                    InterestManager manager = waiting_world(
                        policy, {within(Combine::add, 10, margin_m), flag(Combine::subtract, 0)},
                        others);
                    spawn(manager, 0, 100);
                    spawn(manager, 1, 150);  // will come near, and has to wait
                    const ObserverId observer = watch(manager, id(0));
                    // Continues to the tick after the node's tick.
                    for (std::uint32_t t = 0; t < 2 * interval; ++t) manager.tick();
                    for (std::uint32_t t = 1; t % interval != 5; ++t) manager.tick();
                    put(manager, 1, 103);
                    manager.tick();
                    const bool waits = !manager.is_relevant(observer, id(1));
                    std::uint32_t next = 2, entered = 0;
                    for (int t = 0; t < 30; ++t) {
                        if (observer_moves) put(manager, 0, 100 + 0.1F * static_cast<float>(t % 7));
                        const float offset = static_cast<float>(t % 19) - 9;
                        spawn(manager, next, bound_to(100 + offset, {}));         // near
                        spawn(manager, next + 1, bound_to(100 + offset, {}, 1));  // hidden
                        spawn(manager, next + 2, bound_to(117, {}));  // in the visible block set
                        spawn(manager, next + 3, bound_to(300, {}));  // far
                        manager.tick();
                        const News now = news(manager, observer);
                        CHECK(now.in.count(next) == 1);
                        for (std::uint32_t i = 1; i < 4; ++i)
                            CHECK_FALSE(manager.is_relevant(observer, id(next + i)));
                        entered += static_cast<std::uint32_t>(now.in.size());
                        next += 4;
                    }
                    // Meanwhile the node was evaluated only in its own ticks.
                    CHECK(entered == 30);
                    CHECK(waits);
                }
            }
        }
    }
}

}  // namespace purview::test::lines::spawn_refresh
