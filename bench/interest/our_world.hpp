// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A workload in our own manager, through the public headers alone.
#pragma once

#include <functional>
#include <vector>

#include "interest/queries/covering.hpp"
#include "interest/windows/window_update.hpp"
#include "purview/interest.hpp"
#include "workload.hpp"

namespace purview::bench {

/// One grid node "near": whoever is within the scene's radius.
Rules near_rule(const Workload& workload);

using Dress = std::function<void(EntityDef&, std::uint32_t)>;
/// A manager with all entities; `dress` says what one has besides its place. Ends the program when
/// the rules are unsound.
InterestManager fill(const Rules& def, const Workload& workload, const Dress& dress = {},
                     WindowUpdate window_update = WindowUpdate::automatic);

/// Ready observers; number c stands on entity c.
std::vector<ObserverId> add_observers(InterestManager& manager, std::uint32_t count);

}  // namespace purview::bench
