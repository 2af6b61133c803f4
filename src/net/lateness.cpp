// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/lateness.hpp"

#include <algorithm>
#include <utility>

namespace purview::net {

namespace {

constexpr Micros wait_least_us = 5'000'000;
constexpr Micros wait_most_us = 300'000'000;
/// The loop is late if at least two ticks overran, and more than one tick in this many.
constexpr std::uint64_t ticks_for_one_overrun = 100;

}  // namespace

std::optional<Late> Lateness::check(const LoopStats& stats, Micros now) {
    if (wait_us_ == 0) {
        wait_us_ = wait_least_us;
        next_ = now + wait_us_;
    }
    if (now < next_) return {};
    const Late late{stats.ticks - std::exchange(ticks_, stats.ticks),
                    stats.overruns - std::exchange(overruns_, stats.overruns),
                    stats.skipped - std::exchange(skipped_, stats.skipped), stats.behind_us};
    const bool is_late = late.skipped > 0 ||
                         (late.overruns > 1 && late.overruns * ticks_for_one_overrun > late.ticks);
    wait_us_ = is_late ? std::min(2 * wait_us_, wait_most_us) : wait_least_us;
    next_ = now + wait_us_;
    return is_late ? std::optional(late) : std::nullopt;
}

}  // namespace purview::net
