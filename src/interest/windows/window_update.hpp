// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How the engine updates its windows, and its counters.
#pragma once

#include <cstdint>

namespace purview {

struct InterestCounters {
    std::uint64_t bad_positions = 0;  ///< refused moves: the position is not finite
    std::uint64_t stale_ids = 0;      ///< refused moves: the entity does not exist
    // Only with set_count_tested:
    std::uint64_t blocks_tested = 0;  ///< blocks that kernels were evaluated on
    std::uint64_t lanes_tested = 0;   ///< entities in them
    std::uint64_t windows_scanned = 0;
};

/// How windows are updated. Pull and push give the same results; tests and benchmarks choose one.
enum class WindowUpdate : std::uint8_t {
    automatic = 0,  ///< whichever is cheaper for the tick
    pull = 1,       ///< every observer evaluates what changed in its window
    push = 2,       ///< every mover looks up the observers that its move affects
};

}  // namespace purview
