// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Chains of position sources have at most 8 links, in any order of linking.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/hash.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::position_source_limits {

namespace {

constexpr std::uint32_t links_max = 8;  // the limit that set_position_source documents

/// Entities in a line, 4 m apart.
InterestManager row_of(std::uint32_t count) {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 1)})});
    for (std::uint32_t i = 0; i < count; ++i) spawn(manager, i, static_cast<float>(i) * 4);
    return manager;
}

/// Links each entity i of `order` to i + 1. Returns which links were accepted.
std::vector<bool> link(InterestManager& manager, const std::vector<std::uint32_t>& order) {
    std::vector<bool> is_linked(order.size());
    for (const std::uint32_t i : order) {
        const Status status = manager.set_position_source(id(i), id(i + 1));
        // The length of the chain with this link.
        std::uint32_t length = 1;
        for (std::uint32_t at = i; at > 0 && is_linked[at - 1]; --at) ++length;
        for (std::uint32_t at = i + 1; at < order.size() && is_linked[at]; ++at) ++length;
        CAPTURE(i);
        CAPTURE(length);
        CHECK(status == (length <= links_max ? Status::ok : Status::too_deep));
        is_linked[i] = status == Status::ok;
    }
    return is_linked;
}

/// Checks that every entity has the position of the end of its chain.
void check_positions(InterestManager& manager, const std::vector<bool>& is_linked) {
    manager.tick();
    for (std::uint32_t i = 0; i <= is_linked.size(); ++i) {
        CAPTURE(i);
        std::uint32_t end = i;
        while (end < is_linked.size() && is_linked[end]) ++end;
        CHECK(manager.entity(id(i)).position().x == static_cast<float>(end) * 4);
    }
}

}  // namespace

TEST_CASE("position sources: a chain has at most eight links from either end" *
          doctest::test_suite("F12")) {
    std::vector<std::uint32_t> order(20);
    std::iota(order.begin(), order.end(), 0U);
    for (const bool from_the_end : {true, false}) {
        CAPTURE(from_the_end);
        if (from_the_end) std::reverse(order.begin(), order.end());
        InterestManager manager = row_of(21);
        check_positions(manager, link(manager, order));
        if (from_the_end) std::reverse(order.begin(), order.end());
    }
}

TEST_CASE("position sources: a chain has at most eight links in any order of linking" *
          doctest::test_suite("F12")) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        std::vector<std::uint32_t> order(24);
        std::iota(order.begin(), order.end(), 0U);
        for (std::uint32_t i = 24; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        InterestManager manager = row_of(25);
        check_positions(manager, link(manager, order));
    }
}

TEST_CASE("position sources: two chains join only if the result has at most eight links" *
          doctest::test_suite("F12")) {
    for (std::uint32_t before = 0; before < links_max; ++before) {
        for (std::uint32_t behind = 0; behind <= links_max; ++behind) {
            CAPTURE(before);
            CAPTURE(behind);
            InterestManager manager = row_of(before + behind + 2);
            for (std::uint32_t i = 0; i < before + behind + 1; ++i) {
                if (i == before) continue;
                CHECK(manager.set_position_source(id(i), id(i + 1)) == Status::ok);
            }
            const bool fits = before + 1 + behind <= links_max;
            CHECK(manager.set_position_source(id(before), id(before + 1)) ==
                  (fits ? Status::ok : Status::too_deep));
            // A refused link changes nothing. A removed link makes room again.
            manager.tick();
            CHECK(manager.entity(id(0)).position().x ==
                  static_cast<float>(fits ? before + 1 + behind : before) * 4);
            if (fits || before == 0) continue;
            for (std::uint32_t i = 0; i < before; ++i)
                CHECK(manager.set_position_source(id(i), EntityId::none) == Status::ok);
            CHECK(manager.set_position_source(id(before), id(before + 1)) ==
                  (1 + behind <= links_max ? Status::ok : Status::too_deep));
        }
    }
}

}  // namespace purview::test::lines::position_source_limits
