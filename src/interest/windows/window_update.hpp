// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How the engine updates its windows, and what it counts while it does.
#pragma once

#include <cstdint>

namespace purview {

struct InterestCounters {
    std::uint64_t bad_positions = 0;  ///< moves refused because not finite
    std::uint64_t stale_ids = 0;      ///< moves of unknown entities
    // Only with set_count_tested:
    std::uint64_t blocks_tested = 0;  ///< blocks that kernels were evaluated on
    std::uint64_t lanes_tested = 0;   ///< entities in them
    std::uint64_t windows_scanned = 0;
};

/// How windows are updated. Both give the same results; for tests and measurements.
enum class WindowUpdate : std::uint8_t {
    automatic = 0,  ///< by what a tick would cost
    pull = 1,       ///< every observer evaluates what changed in its window
    push = 2,       ///< every mover looks up the observers that its move affects
};

}  // namespace purview
