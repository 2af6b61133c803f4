// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How many of a kind go in one tick (KindDef::limit), and which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/settings.hpp"
#include "replication/snapshot_writer.hpp"

namespace purview {

/// Returns how many of `ghosts` ghosts of a kind one observer is sent in one tick.
std::uint32_t sends_at_most(const SendLimit& limit, std::uint32_t ghosts) noexcept;

/// Takes out of `due`, lanes by mask, what has to wait because enough of its kind goes. Returns how
/// many. `turns`: where the next turn of a kind begins, by KindId; `room`: to work in.
std::size_t keep_limits(const ReplicationInput& input, const GhostTable& ghosts,
                        std::vector<LocalId>& turns, std::span<std::uint64_t> due,
                        std::vector<std::uint64_t>& room);

}  // namespace purview
