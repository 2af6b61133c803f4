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

/// Removes slots from `due` (a mask) that must wait because enough ghosts of their kind are sent.
/// Returns their number. `turns`: where the next turn of a kind begins, by KindId. `room`: scratch.
std::size_t keep_limits(const ReplicationInput& input, const GhostTable& ghosts,
                        std::vector<LocalId>& turns, std::span<std::uint64_t> due,
                        std::vector<std::uint64_t>& room);

}  // namespace purview
