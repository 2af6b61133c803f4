// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The Rice parameter for a list of distances.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>

#include "purview/status.hpp"

namespace purview {

inline constexpr unsigned rice_parameter_bits = 4;
inline constexpr unsigned rice_parameter_max = 14;

/// Returns the smallest parameter that encodes the distances in the fewest bits. `sum` is the sum
/// of the distances; it is below the number of local ids or of members.
inline unsigned best_rice(std::span<const std::uint32_t> distances, std::uint32_t sum) noexcept {
    PURVIEW_ASSERT(std::accumulate(distances.begin(), distances.end(), 0U) == sum);
    // Starts near the usual parameter, ln 2 of the mean, and descends: the cost is convex in k.
    const auto usual = static_cast<int>(std::bit_width(std::uint64_t{sum} * 11 / 16)) -
                       static_cast<int>(std::bit_width(distances.size()));
    for (auto k = static_cast<unsigned>(std::clamp<int>(usual, 1, rice_parameter_max - 1));;) {
        std::uint32_t lower = 0, middle = 0, higher = 0;  // quotients
        for (const std::uint32_t distance : distances) {
            lower += distance >> (k - 1);
            middle += distance >> k;
            higher += distance >> (k + 1);
        }
        const std::uint64_t count = distances.size();
        const bool is_lower_best = lower <= count + middle;
        if (is_lower_best && k > 1) {
            --k;
        } else if (!is_lower_best && count + higher < middle && k + 1 < rice_parameter_max) {
            ++k;
        } else {
            return is_lower_best ? k - 1 : count + higher < middle ? k + 1 : k;
        }
    }
}

}  // namespace purview
