// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The Rice parameter of a list of distances.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace purview {

inline constexpr unsigned rice_parameter_bits = 4;
inline constexpr unsigned rice_parameter_max = 14;

/// The one that codes them in the fewest bits; of several the least.
inline unsigned best_rice(std::span<const std::uint32_t> distances) noexcept {
    // They add up to less than there are local ids, or ranks: 32 bits hold it.
    std::uint32_t sum = 0;
    for (const std::uint32_t distance : distances) sum += distance;
    const auto bits_with = [&](unsigned k) {
        std::uint32_t quotients = 0;
        for (const std::uint32_t distance : distances) quotients += distance >> k;
        return std::uint64_t{distances.size()} * (1 + k) + quotients;
    };
    // From that of the mean downhill: the cost is convex in k.
    unsigned best = static_cast<unsigned>(std::clamp<int>(
        static_cast<int>(std::bit_width(sum)) - static_cast<int>(std::bit_width(distances.size())),
        0, rice_parameter_max));
    std::uint64_t bits = bits_with(best);
    for (std::uint64_t lower = 0; best > 0 && (lower = bits_with(best - 1)) <= bits; --best)
        bits = lower;
    for (std::uint64_t higher = 0;
         best < rice_parameter_max && (higher = bits_with(best + 1)) < bits; ++best)
        bits = higher;
    return best;
}

}  // namespace purview
