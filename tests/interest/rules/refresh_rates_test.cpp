// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The evaluation interval of a node and the send interval of its entities are separate settings.
// Each node has its own, also for entities that leave far beyond the visible block set.
#include <array>
#include <vector>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::refresh_rates {

namespace {

constexpr std::array<float, 5> distances_m{12, 40, 200, 900, 1'900};

/// Uses lazy leaves if `every_ticks` is above 1.
InterestManager evaluated(std::uint32_t every_ticks, std::uint32_t send_every, float cell_size) {
    NodeDef near = node("near", {within(Combine::add, 10)});
    near.every_ticks = every_ticks;
    near.lazy_leave = every_ticks > 1;
    near.replication.every_ticks = send_every;
    Rules def = def_of({near});
    def.max = {2'000, 2'000, 0};
    def.cell_size = cell_size;
    return make(def);
}

}  // namespace

TEST_CASE("refresh: evaluation and send intervals are independent at every distance" *
          doctest::test_suite("P24 N22")) {
    for (const float cell_size : {8.0F, 50.0F, 500.0F}) {
        for (const std::uint32_t send_every : {1U, 7U}) {
            CAPTURE(cell_size);
            CAPTURE(send_every);
            // Evaluated every tick: enters and leaves do not wait for the send interval.
            InterestManager exact = evaluated(1, send_every, cell_size);
            spawn(exact, 0, 5);
            spawn(exact, 1, 8);
            const ObserverId observer = watch(exact, id(0));
            exact.tick();
            CHECK(internal(exact).explainer.settings(observer, id(1)).every_ticks == send_every);
            for (const float distance_m : distances_m) {
                CAPTURE(distance_m);
                put(exact, 1, 5 + distance_m);
                CHECK(tick_news(exact, observer) == News{{}, {1}});
                put(exact, 1, 8);
                CHECK(tick_news(exact, observer) == News{{1}, {}});
            }
            // Evaluated every sixth tick: enters and leaves happen only in ticks of the node.
            InterestManager lazy = evaluated(6, send_every, cell_size);
            spawn(lazy, 0, 5);
            spawn(lazy, 1, 8);
            const ObserverId other = watch(lazy, id(0));
            for (int t = 0; t < 12; ++t) lazy.tick();
            REQUIRE(seen(lazy, other) == Set{0, 1});
            CHECK(internal(lazy).explainer.settings(other, id(1)).every_ticks == send_every);
            std::vector<int> changed;
            bool was = true;
            for (int t = 0; t < 120; ++t) {
                const float distance_m = distances_m[static_cast<std::size_t>(t) / 12 % 5];
                put(lazy, 1, t / 6 % 2 == 0 ? 5 + distance_m : 8);
                lazy.tick();
                const bool now = lazy.is_relevant(other, id(1));
                if (now != was) changed.push_back(t);
                was = now;
            }
            CHECK(changed.size() >= 18);
            for (std::size_t i = 1; i < changed.size(); ++i)
                CHECK(changed[i] - changed[i - 1] == 6);
        }
    }
}

}  // namespace purview::test::lines::refresh_rates
