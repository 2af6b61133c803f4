// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Code for differences that are mostly small: a Rice code with a unary quotient below two, and an
// Elias gamma code above. A rare large difference therefore takes no more than twice its bits.
// Writer and reader must use the same parameter.
#pragma once

#include <bit>
#include <cstdint>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"

namespace purview {

/// Maximum size of a difference of numbers below 2^24, with any parameter up to 12.
inline constexpr unsigned difference_bits_max = 2 + 2 * 25 + 1 + 12;

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
constexpr std::uint32_t folded(std::int32_t difference) noexcept {
    const auto twice = static_cast<std::uint32_t>(difference) << 1;
    return difference < 0 ? ~twice : twice;
}
constexpr std::int32_t unfolded(std::uint32_t number) noexcept {
    const auto half = static_cast<std::int32_t>(number >> 1);
    return (number & 1U) != 0 ? -half - 1 : half;
}

inline void write_difference(std::int32_t difference, unsigned k, BitWriter& out) noexcept {
    PURVIEW_ASSERT(k <= 12);
    const std::uint32_t number = folded(difference), quotient = number >> k;
    PURVIEW_ASSERT(number >> 26 == 0);  // read_difference refuses larger numbers
    const std::uint32_t low = number & ((1U << k) - 1);
    if (quotient < 2) {
        out.bits((1U << quotient) - 1, quotient + 1);
    } else {
        const std::uint32_t rest = quotient - 1;
        const auto width = static_cast<unsigned>(std::bit_width(rest)) - 1;
        out.bits(3, 2);
        out.bits((std::uint64_t{1} << width) - 1, width + 1);
        out.bits(rest & ((1U << width) - 1), width);
    }
    out.bits(low, k);
}

/// Fails for numbers that write_difference does not write.
inline std::int32_t read_difference(unsigned k, BitReader& in) noexcept {
    std::uint32_t quotient = 0;
    while (quotient < 2 && in.boolean()) ++quotient;
    if (quotient == 2) {
        unsigned width = 0;
        while (in.boolean()) {
            if (++width > 25) {
                in.fail();
                return 0;
            }
        }
        quotient = (1U << width | static_cast<std::uint32_t>(in.bits(width))) + 1;
    }
    const std::uint64_t number = std::uint64_t{quotient} << k | in.bits(k);
    if (number >> 26 != 0) in.fail();
    return in.ok() ? unfolded(static_cast<std::uint32_t>(number)) : 0;
}

}  // namespace purview
