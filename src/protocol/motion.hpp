// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Dead reckoning of a field: a linear prediction in integers only, so that both sides compute the
// same value (PROTOCOL.md, "Motion"). A predictor state (Motion) depends only on the state before
// it and the sent value. It also determines the code parameter of the next difference.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/difference.hpp"
#include "purview/types.hpp"

namespace purview {

struct Motion {
    std::int32_t at = 0;      ///< value in the tick of the state; 1/64 of a step
    std::int32_t speed = 0;   ///< 1/65,536 of a step per tick
    std::uint16_t span = 0;   ///< ticks since the motion last changed
    std::uint16_t scale = 0;  ///< average of the last folded differences; 1/16
    friend bool operator==(const Motion&, const Motion&) = default;
};

/// A prediction continues for this many ticks and then stops.
inline constexpr Tick motion_ticks_max = 1000;
/// Maximum age of a baseline, in ticks, that a packet can refer to.
inline constexpr Tick baseline_ticks_max = 31;
inline constexpr unsigned baseline_bits = 5;

/// Returns the state after a value that was sent in full.
constexpr Motion motion_at(std::uint32_t value) noexcept {
    return {static_cast<std::int32_t>(value * 64), 0, 0, 4 * 16};
}

/// Returns the prediction in 1/65,536 of a step.
constexpr std::int64_t reach_of(const Motion& motion, Tick ticks) noexcept {
    return std::int64_t{motion.at} * 1024 +
           std::int64_t{motion.speed} * std::min(ticks, motion_ticks_max);
}

/// Returns the predicted value `ticks` after the tick of the state.
constexpr std::uint32_t extrapolated_value(const Motion& motion, Tick ticks,
                                           std::uint32_t largest) noexcept {
    const std::int64_t steps = (reach_of(motion, ticks) + (1 << 15)) >> 16;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(steps, 0, largest));
}

/// Returns the parameter of the code for the difference to the prediction.
constexpr unsigned difference_parameter(const Motion& motion) noexcept {
    unsigned k = 0;
    while (motion.scale >> (4 + k) > 1) ++k;
    return k;
}

/// Returns the state that follows from `value`, `ticks` (at least one) after `before`.
Motion next_motion(const Motion& before, Tick ticks, std::uint32_t value,
                   std::uint32_t largest) noexcept;

}  // namespace purview
