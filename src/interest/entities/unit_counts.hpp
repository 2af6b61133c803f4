// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Counts of cull groups by flag, so that the tick can skip what none of them needs. Also the grid
// layers that are not range classes.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/types.hpp"

namespace purview {

struct UnitCounts {
    std::uint32_t shown = 0;      ///< shown to all by override, mode or members; each counts
    std::uint32_t open = 0;       ///< shown to all by a node
    std::uint32_t no_window = 0;  ///< force hidden or explicit only
    std::uint32_t bounded = 0;    ///< with a group radius above 0
};

/// Entities with changed bindings.
struct ReboundEntities {
    std::vector<EntityId> pending;  ///< since the last tick
    std::vector<EntityId> last;     ///< before the last tick
};

struct UnitLayers {
    std::uint32_t abstract = 0;  ///< for cull groups without a position
    std::uint32_t bounds = ~0U;  ///< for kinds that count by the radius of their group
};

}  // namespace purview
