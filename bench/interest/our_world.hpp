// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A workload in Purview's interest manager, through the public headers only.
#pragma once

#include <functional>
#include <vector>

#include "interest/queries/covering.hpp"
#include "interest/windows/window_update.hpp"
#include "purview/interest.hpp"
#include "workload.hpp"

namespace purview::bench {

/// One grid node "near" that matches entities within the scene's radius.
Rules near_rule(const Workload& workload);

using Dress = std::function<void(EntityDef&, std::uint32_t)>;
/// Returns a manager with all entities. `dress` adds properties besides the position. Ends the
/// program if the rules are invalid.
InterestManager fill(const Rules& def, const Workload& workload, const Dress& dress = {},
                     WindowUpdate window_update = WindowUpdate::automatic);

/// Adds ready observers; observer c is at the position of entity c.
std::vector<ObserverId> add_observers(InterestManager& manager, std::uint32_t count);

}  // namespace purview::bench
