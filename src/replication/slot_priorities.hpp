// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Send priorities of 64 ghosts, with the widest vectors of the CPU.
#pragma once

#include <cstdint>
#include <span>

#include "purview/types.hpp"

namespace purview {

/// Factor for ghosts that became idle: no later update corrects their last value, so it is sent
/// early.
inline constexpr float idle_priority = 2;

/// Returns the priority of one ghost: its weight times its waiting time in ticks.
inline float slot_priority(Tick now, Tick waiting_since, float weight, bool is_idle) noexcept {
    const float priority = static_cast<float>(now - waiting_since + 1) * weight;
    return is_idle ? priority * idle_priority : priority;
}

/// Computes the priorities of 64 ghosts; bit i of `idle_slots` is for ghost i. Returns a bit for
/// each ghost with a priority of at least `least`.
std::uint64_t slot_priorities(Tick now, std::span<const Tick, 64> waiting_since,
                              std::span<const float, 64> weight, std::uint64_t idle_slots,
                              float least, std::span<float, 64> priority) noexcept;

}  // namespace purview
