// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Limits the number of ghosts of a kind that are sent in one tick (KindDef::limit_per_tick).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replication/snapshot_writer.hpp"

namespace purview {

/// Removes from `due` (a mask) the slots that must wait because enough ghosts of their kind are
/// sent. Returns their number. `turns`: by KindId, the slot that is first in the next tick, for
/// LimitOrder::round_robin. `room`: scratch.
std::size_t apply_limits(const ReplicationInput& input, const GhostTable& ghosts,
                         std::vector<LocalId>& turns, std::span<std::uint64_t> due,
                         std::vector<std::uint64_t>& room);

}  // namespace purview
