// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups join chains of position sources: an entity that follows a member follows its root.
#include <vector>

#include "support/line_support.hpp"

namespace purview::test::lines::position_source_groups {

namespace {

constexpr std::uint32_t links = 8;

/// `chains` chains of eight links, the entities 2 m apart. The start of each chain is the root of a
/// group. The end of the chain before it is a member of that group.
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

TEST_CASE("position sources: in chains joined by groups no entity uses a middle position" *
          doctest::test_suite("F12")) {
    for (const std::uint32_t chains : {1U, 2U, 3U, 5U}) {
        CAPTURE(chains);
        InterestManager manager = joined_chains(chains);
        const std::uint32_t last = chains * (links + 1) - 1;
        for (std::uint32_t i = 0; i <= last; ++i) {
            CAPTURE(i);
            // It follows to the end of the chain, or has its own position.
            const float x = manager.entity(id(i)).position().x;
            const bool is_right =
                x == static_cast<float>(last) * 2 || x == static_cast<float>(i) * 2;
            CHECK(is_right);
        }
        // It also moves with the end.
        put(manager, last, 900);
        manager.tick();
        for (std::uint32_t i = 0; i <= last; ++i) {
            CAPTURE(i);
            const float x = manager.entity(id(i)).position().x;
            CHECK((x == 900 || x == static_cast<float>(i) * 2));
        }
    }
}

}  // namespace purview::test::lines::position_source_groups
