// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups join chains of position overrides to longer ones: what follows a member follows its root.
#include <vector>

#include "support/line_support.hpp"

namespace purview::test::lines::override_groups {

namespace {

constexpr std::uint32_t links = 8;

/// So many chains of eight links, each entity 2 m behind the one before; the end of each chain is a
/// member of a group whose root begins the next one.
InterestManager joined_chains(std::uint32_t chains) {
    Rules def = def_of({node("near", {within(Combine::add, 1)})});
    def.max = {1'000, 100, 0};
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < chains * (links + 1); ++i)
        spawn(manager, i, static_cast<float>(i) * 2);
    for (std::uint32_t c = 0; c < chains; ++c) {
        for (std::uint32_t i = c * (links + 1); i < c * (links + 1) + links; ++i)
            CHECK(manager.set_position_source(id(i), id(i + 1)) == Status::ok);
    }
    manager.tick();
    for (std::uint32_t c = 0; c + 1 < chains; ++c) {
        const std::uint32_t end = c * (links + 1) + links;
        CHECK(manager.attach(id(end), id(end + 1)) == Status::ok);
    }
    manager.tick();
    return manager;
}

}  // namespace

TEST_CASE("override: where groups join chains, nothing has the position of their middle" *
          doctest::test_suite("F12")) {
    for (const std::uint32_t chains : {1U, 2U, 3U, 5U}) {
        CAPTURE(chains);
        InterestManager manager = joined_chains(chains);
        const std::uint32_t last = chains * (links + 1) - 1;
        for (std::uint32_t i = 0; i <= last; ++i) {
            CAPTURE(i);
            // It follows to the end, or stands for itself again.
            const float x = manager.position(id(i)).x;
            const bool is_right =
                x == static_cast<float>(last) * 2 || x == static_cast<float>(i) * 2;
            CHECK(is_right);
        }
        // And moves with the end.
        put(manager, last, 900);
        manager.tick();
        for (std::uint32_t i = 0; i <= last; ++i) {
            CAPTURE(i);
            const float x = manager.position(id(i)).x;
            CHECK((x == 900 || x == static_cast<float>(i) * 2));
        }
    }
}

}  // namespace purview::test::lines::override_groups
