// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A spawn is evaluated in its tick under every refresh policy, while everything else waits for the
// node: so nothing but the spawn can be the reason.
#include <array>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::spawn_refresh {

namespace {

constexpr std::uint32_t every_ticks = 50;

struct Policy {
    std::string name;
    Refresh refresh;
};

const std::array<Policy, 4> policies{{{"every", {RefreshType::every, every_ticks, 0, false}},
                                      {"every, lazy", {RefreshType::every, every_ticks, 0, true}},
                                      {"every, wider", {RefreshType::every, every_ticks, 3, true}},
                                      {"dormant", {RefreshType::dormant, 1, 0, false}}}};

InterestManager waiting_world(const Refresh& refresh, std::vector<StepDesc> steps,
                              const std::vector<NodeDesc>& others) {
    NodeDesc desc = node("waits", std::move(steps));
    desc.refresh = refresh;
    std::vector<NodeDesc> nodes{desc};
    nodes.insert(nodes.end(), others.begin(), others.end());
    InterestDef def = def_of(nodes);
    def.rules.bounds_max = {400, 400, 0};
    def.rules.cell_m = 15;
    return make(def);
}

}  // namespace

TEST_CASE("refresh: a spawn enters in its tick, although nothing else is evaluated in it" *
          doctest::test_suite("M4 M39 N22")) {
    for (const Policy& policy : policies) {
        for (const bool observer_moves : {false, true}) {
            for (const float margin_m : {0.0F, 4.0F}) {
                for (const bool has_exact_node : {false, true}) {
                    // Beside an exact node an entity has no position of its own for a dormant one.
                    if (has_exact_node && policy.refresh.type == RefreshType::dormant) continue;
                    CAPTURE(policy.name);
                    CAPTURE(observer_moves);
                    CAPTURE(margin_m);
                    CAPTURE(has_exact_node);
                    std::vector<NodeDesc> others;
                    if (has_exact_node) others = {node("other", {flag(StepOp::add, 1)})};
                    InterestManager manager = waiting_world(
                        policy.refresh,
                        {within(StepOp::add, 10, margin_m), flag(StepOp::subtract, 0)}, others);
                    spawn(manager, 0, 100);
                    spawn(manager, 1, 150);  // will come near, and has to wait
                    const ObserverId observer = watch(manager, id(0));
                    // To the tick after that of the node.
                    for (std::uint32_t t = 0; t < 2 * every_ticks; ++t) manager.tick();
                    for (std::uint32_t t = 1; t % every_ticks != 5; ++t) manager.tick();
                    put(manager, 1, 103);
                    manager.tick();
                    const bool waits = !manager.is_relevant(observer, id(1));
                    std::uint32_t next = 2, entered = 0;
                    for (int t = 0; t < 30; ++t) {
                        if (observer_moves) put(manager, 0, 100 + 0.1F * static_cast<float>(t % 7));
                        const float offset = static_cast<float>(t % 19) - 9;
                        spawn(manager, next, bound_to(100 + offset, {}));         // near
                        spawn(manager, next + 1, bound_to(100 + offset, {}, 1));  // hidden
                        spawn(manager, next + 2, bound_to(117, {}));              // in the window
                        spawn(manager, next + 3, bound_to(300, {}));              // far
                        manager.tick();
                        const News now = news(manager, observer);
                        CHECK(now.in.count(next) == 1);
                        for (std::uint32_t i = 1; i < 4; ++i)
                            CHECK_FALSE(manager.is_relevant(observer, id(next + i)));
                        entered += static_cast<std::uint32_t>(now.in.size());
                        next += 4;
                    }
                    // The node itself was not evaluated meanwhile, or only in a tick of its own.
                    CHECK(entered == 30);
                    CHECK(waits);
                }
            }
        }
    }
}

}  // namespace purview::test::lines::spawn_refresh
