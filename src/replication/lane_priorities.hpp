// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How urgent 64 ghosts are to their observer, on the widest vectors of the machine it runs on.
#pragma once

#include <cstdint>
#include <span>

#include "purview/types.hpp"

namespace purview {

/// What came to rest is not corrected by the next update: its last value goes first.
inline constexpr float rest_priority = 2;

/// Of one: its weight, for each tick that it waits.
inline float lane_priority(Tick now, Tick waiting_since, float weight, bool is_at_rest) noexcept {
    const float priority = static_cast<float>(now - waiting_since + 1) * weight;
    return is_at_rest ? priority * rest_priority : priority;
}

/// Of 64, the same; bit i of `at_rest` is lane i's. Returns a bit for each whose priority is at
/// least `least`.
std::uint64_t lane_priorities(Tick now, std::span<const Tick, 64> waiting_since,
                              std::span<const float, 64> weight, std::uint64_t at_rest, float least,
                              std::span<float, 64> priority) noexcept;

}  // namespace purview
