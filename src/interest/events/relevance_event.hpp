// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A change of relevance inside the engine: InterestEvent without what a caller keeps with ids.
#pragma once

#include <compare>
#include <cstdint>

#include "purview/types.hpp"

namespace purview {

struct RelevanceEvent {
    ObserverId observer;
    EntityId entity;
    Reason reason;
    bool enter;
    friend bool operator==(const RelevanceEvent&, const RelevanceEvent&) = default;
};

/// Something at the position with this number would be relevant to the observer.
struct Covering {
    std::uint32_t position;
    ObserverId observer;
    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 of <=> is none.
    friend auto operator<=>(const Covering&, const Covering&) = default;
};

struct InterestCounters {
    std::uint64_t bad_positions = 0;  ///< moves refused because not finite
    std::uint64_t stale_ids = 0;      ///< moves of entities that are not there
    // Of set_count_tested:
    std::uint64_t blocks_tested = 0;  ///< blocks that kernels were evaluated on
    std::uint64_t lanes_tested = 0;   ///< entities in them
    std::uint64_t windows_scanned = 0;
};

/// How windows are updated. Both give the same results; for tests and measurements.
enum class WindowUpdate : std::uint8_t {
    automatic = 0,  ///< by what a tick would cost
    pull = 1,       ///< every observer evaluates what changed in its window
    push = 2,       ///< every mover looks up the observers to whom its move matters
};

}  // namespace purview
