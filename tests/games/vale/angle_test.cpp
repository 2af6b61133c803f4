// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "../../../games/vale/angle.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace purview::test {

namespace {

/// The reference. Recordings depend on its exact results.
float looped(float angle) {
    while (angle >= vale::two_pi) angle -= vale::two_pi;
    while (angle < 0) angle += vale::two_pi;
    return angle;
}

}  // namespace

TEST_CASE("vale: an angle of any size is wrapped to one turn without a long loop") {
    for (const float size : {1.0F, 3.0F, 1e3F, 1e5F, 1.4e8F, 1e9F, 1e30F, 3.4e38F}) {
        for (const float angle : {size, -size}) {
            const float wrapped = vale::wrap_angle(angle);
            CHECK(wrapped >= 0);
            CHECK(wrapped <= vale::two_pi);
        }
    }
    for (const float angle : {100.5F, 1000.0F, -1000.0F, 12345.678F, -99'999.0F}) {
        CHECK(std::fabs(std::sin(static_cast<double>(vale::wrap_angle(angle))) -
                        std::sin(static_cast<double>(angle))) < 1e-5);
    }
    constexpr float infinite = std::numeric_limits<float>::infinity();
    for (const float none : {infinite, -infinite, std::numeric_limits<float>::quiet_NaN()})
        CHECK(vale::wrap_angle(none) == 0);
}

TEST_CASE("vale: an angle of a few turns wraps to the same bits as the reference") {
    for (int i = -1'000'000; i <= 1'000'000; ++i) {
        const float angle = static_cast<float>(i) * 1e-4F;
        const auto bits = std::bit_cast<std::uint32_t>(vale::wrap_angle(angle));
        if (bits != std::bit_cast<std::uint32_t>(looped(angle))) FAIL("differs at ", angle);
    }
}

}  // namespace purview::test
