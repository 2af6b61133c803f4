// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The Rice parameter of a list of ascending numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace purview {

inline constexpr unsigned rice_parameter_bits = 4;
inline constexpr unsigned rice_parameter_max = 14;

/// The one that codes the distances of number_at(first..end - 1) in the fewest bits.
template <class NumberAt>
unsigned best_rice(std::size_t first, std::size_t end, NumberAt&& number_at) {
    std::uint64_t best_bits = ~std::uint64_t{0};
    unsigned best = 0;
    for (unsigned k = 0; k <= rice_parameter_max; ++k) {
        std::uint64_t bits = 0;
        std::uint32_t expected = 0;
        for (std::size_t i = first; i < end; ++i) {
            const std::uint32_t number = number_at(i);
            bits += ((number - expected) >> k) + 1 + k;
            expected = number + 1;
        }
        if (bits >= best_bits) break;  // convex in k
        best_bits = bits;
        best = k;
    }
    return best;
}

}  // namespace purview
