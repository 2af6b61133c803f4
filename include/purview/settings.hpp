// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How a relevant pair is replicated: what kinds and nodes say about it.
#pragma once

#include <cstdint>

namespace purview {

/// What becomes of a client's copy when its entity stops being relevant.
enum class LeavePolicy : std::uint8_t {
    despawn = 0,
    freeze = 1,      ///< kept as it is
    stale = 2,       ///< kept and marked
    deactivate = 3,  ///< kept out of sight (placed in the scene beforehand)
};

/// Of a pair that several nodes want, the most generous counts: the most often, the most urgent,
/// the last of the policies (N43).
struct NodeSettings {
    std::uint32_t every_ticks = 1;  ///< state is sent no more often than this
    float urgency = 1;              ///< weight in the send order
    LeavePolicy leave = LeavePolicy::despawn;
};

}  // namespace purview
