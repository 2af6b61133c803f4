// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How a relevant pair is replicated: what kinds and nodes say about it.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/types.hpp"

namespace purview {

/// Of a pair that several nodes want, the most generous counts: the most often, the most urgent,
/// the last of the policies (N43).
struct Replication {
    std::uint32_t every_ticks = 1;  ///< state is sent no more often than this
    float priority = 1;             ///< weight in the send order; 1e-6 to 1e6
    Retention leave = Retention::despawn;
};

/// A step of a curve: from this strength on, state is sent no more often than every so many ticks.
struct SendInterval {
    float score = 0;
    std::uint32_t every_ticks = 1;
};

/// Lists of at least `ghosts` of a kind go in so many parts, one a tick.
struct SendBuckets {
    std::uint32_t ghosts = 0;
    std::uint32_t parts = 1;
};

/// Which of a kind go where no more than some may.
enum class LimitOrder : std::uint8_t {
    fill = 0,         ///< of those that have something to tell, who has waited longest
    round_robin = 1,  ///< the next ones by turns, whether they have something to tell or not
};

/// How many of a kind one observer is told in one tick, enters included. His own do not count, and
/// leaves never wait. The smaller one holds where both are given. What somebody else needs goes all
/// the same: a parent with its child, members with a group that enters, a ghost with a call.
/// Weights do not count among them.
struct SendLimit {
    std::uint32_t per_tick = 0;  ///< 0: any number
    /// `ghosts` and `parts` ascend; smaller lists go whole.
    std::vector<SendBuckets> buckets = {};
    LimitOrder order = LimitOrder::fill;

    bool is_none() const noexcept { return per_tick == 0 && buckets.empty(); }
};

}  // namespace purview
