// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// How relevant entities are replicated: settings of kinds and of nodes.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_schema
/// @{

/// Settings of a node for the entities that it makes relevant. If several nodes match, each setting
/// is the most generous one: the shortest interval, the highest priority, the highest Retention.
struct Replication {
    std::uint32_t every_ticks = 1;  ///< minimum ticks between two updates of a ghost; at least 1
    float priority = 1;             ///< weight in the send order; 1e-6 to 1e6
    /// What happens to the ghost at a leave, unless KindDef::leave is higher.
    Retention leave = Retention::despawn;
};

/// A send interval: a ghost with a relevance score of at least `score` is sent at most once per
/// `every_ticks` ticks.
struct SendInterval {
    float score = 0;                ///< 0 to 1
    std::uint32_t every_ticks = 1;  ///< 1 to 10,000
};

/// Which ghosts of a kind are sent first if KindDef::limit_per_tick delays some.
enum class LimitOrder : std::uint8_t {
    fill = 0,         ///< the ghosts with changes that have waited longest
    round_robin = 1,  ///< all ghosts in round-robin order, with or without changes
};

/// @}

}  // namespace purview
