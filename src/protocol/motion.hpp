// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How a extrapolated field goes on: a straight line, in integers alone, so that both sides see the
// same (PROTOCOL.md, "Motion"). It is made from the motion before it and the value that was told,
// and so is the parameter of the code for the next difference: nothing else is in it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/difference.hpp"
#include "purview/types.hpp"

namespace purview {

struct Motion {
    std::int32_t at = 0;      ///< in the tick that it is of; 1/64 of a step
    std::int32_t speed = 0;   ///< 1/65,536 of a step in a tick
    std::uint16_t span = 0;   ///< ticks: as long has it gone on like this
    std::uint16_t scale = 0;  ///< of the last differences, folded; 1/16
    friend bool operator==(const Motion&, const Motion&) = default;
};

/// A motion goes on for so many ticks, and then stands.
inline constexpr Tick motion_ticks_max = 1000;
/// Ticks back in which a baseline can be named.
inline constexpr Tick baseline_ticks_max = 31;
inline constexpr unsigned baseline_bits = 5;

/// Of what was told whole.
constexpr Motion motion_at(std::uint32_t value) noexcept {
    return {static_cast<std::int32_t>(value * 64), 0, 0, 4 * 16};
}

/// 1/65,536 of a step.
constexpr std::int64_t reach_of(const Motion& motion, Tick ticks) noexcept {
    return std::int64_t{motion.at} * 1024 +
           std::int64_t{motion.speed} * std::min(ticks, motion_ticks_max);
}

/// The value so many ticks after the one that the motion is of.
constexpr std::uint32_t extrapolated_value(const Motion& motion, Tick ticks,
                                           std::uint32_t largest) noexcept {
    const std::int64_t steps = (reach_of(motion, ticks) + (1 << 15)) >> 16;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(steps, 0, largest));
}

/// Of the code for the difference to what the motion predicts.
constexpr unsigned difference_parameter(const Motion& motion) noexcept {
    unsigned k = 0;
    while (motion.scale >> (4 + k) > 1) ++k;
    return k;
}

/// The motion that goes through `value` so many ticks (one at least) after that of `before`.
Motion next_motion(const Motion& before, Tick ticks, std::uint32_t value,
                   std::uint32_t largest) noexcept;

}  // namespace purview
