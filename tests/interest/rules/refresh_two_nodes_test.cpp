// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Two nodes with different intervals. Entities leave far beyond the visible block set of both.
#include <array>
#include <vector>

#include "support/line_support.hpp"

namespace purview::test::lines::refresh_two_nodes {

namespace {

/// Moves entities out of the range of an exact and a lazy node, to increasing distances. Returns
/// after how many ticks each left.
std::vector<int> ticks_until_gone(Combine combine, float cell_size) {
    constexpr std::array<float, 5> distances_m{32, 60, 220, 920, 1'920};
    NodeDef exact = node("exact", {within(Combine::add, 20)});
    NodeDef lazy = node("lazy", {within(Combine::add, 20)});
    lazy.every_ticks = 10;
    lazy.lazy_leave = true;
    lazy.combine = combine;
    Rules def = def_of({exact, lazy});
    def.max = {2'000, 2'000, 0};
    def.cell_size = cell_size;
    InterestManager manager = make(def);
    spawn(manager, 0, 5);
    for (std::uint32_t i = 1; i <= distances_m.size(); ++i) spawn(manager, i, 8);
    const ObserverId observer = watch(manager, id(0));
    do manager.tick();
    while (seen(manager, observer).size() <= distances_m.size());
    // Continues to the tick after the lazy node's tick.
    for (int t = 0; t < 12; ++t) {
        put(manager, 1, 8);
        manager.tick();
    }
    for (std::uint32_t i = 1; i <= distances_m.size(); ++i) put(manager, i, 5 + distances_m[i - 1]);
    std::vector<int> gone(distances_m.size(), 0);
    for (int t = 1; t <= 10; ++t) {
        manager.tick();
        for (std::uint32_t i = 0; i < gone.size(); ++i) {
            if (gone[i] == 0 && !manager.is_relevant(observer, id(i + 1))) gone[i] = t;
        }
    }
    return gone;
}

}  // namespace

TEST_CASE("refresh: a required exact node decides at once despite a lazy one" *
          doctest::test_suite("N22 X4 M40")) {
    // Both are required: an entity that the exact node does not match leaves in that tick, at any
    // distance and cell size.
    for (const float cell_size : {8.0F, 50.0F, 500.0F}) {
        CAPTURE(cell_size);
        for (const int ticks : ticks_until_gone(Combine::require, cell_size)) CHECK(ticks == 1);
    }
}

TEST_CASE("refresh: an entity that a lazy node adds stays until that node's tick" *
          doctest::test_suite("N22 X4 M40")) {
    for (const float cell_size : {8.0F, 50.0F, 500.0F}) {
        CAPTURE(cell_size);
        const std::vector<int> gone = ticks_until_gone(Combine::add, cell_size);
        CHECK(gone[0] > 1);
        for (const int ticks : gone) CHECK(ticks == gone[0]);
    }
}

}  // namespace purview::test::lines::refresh_two_nodes
