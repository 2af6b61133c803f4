// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/motion.hpp"

#include <limits>

#include "purview/status.hpp"

namespace purview {

namespace {

/// A value within one step of the prediction corrects the prediction only if the difference is
/// larger than this: 3/8 of a step, in 1/65,536.
constexpr std::int64_t leeway = 3 * (std::int64_t{1} << 16) / 8;

}  // namespace

Motion next_motion(const Motion& before, Tick ticks, std::uint32_t value,
                   std::uint32_t largest) noexcept {
    PURVIEW_ASSERT(ticks > 0);
    const std::int64_t difference =
        std::int64_t{value} - extrapolated_value(before, ticks, largest);
    const std::int64_t sent = std::int64_t{value} * 65536;
    const std::int64_t reached = reach_of(before, ticks);
    std::int64_t at = sent, speed = 0, span = ticks;
    if (difference >= -1 && difference <= 1) {  // the motion continues, slightly corrected
        span += before.span;
        at = std::clamp(reached, sent - leeway, sent + leeway);
        speed = before.speed + (at - reached) / span;
    } else {
        speed = (sent - std::int64_t{before.at} * 1024) / span;
    }
    constexpr std::int64_t speed_max = std::numeric_limits<std::int32_t>::max();
    const std::uint32_t folded_difference = folded(static_cast<std::int32_t>(difference));
    Motion motion;
    motion.at = static_cast<std::int32_t>(at >> 10);
    motion.speed = static_cast<std::int32_t>(std::clamp(speed, -speed_max, speed_max));
    motion.span = static_cast<std::uint16_t>(std::min<std::int64_t>(span, 65535));
    motion.scale = static_cast<std::uint16_t>(
        (before.scale + std::min(folded_difference, std::uint32_t{4000}) * 16) / 2);
    return motion;
}

}  // namespace purview
