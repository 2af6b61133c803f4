// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How a relevant pair is replicated: what kinds and nodes say about it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace purview {

/// What becomes of a client's copy when its entity stops being relevant (not when it is despawned).
/// A copy that is kept has its last values; when the entity comes back in time, it goes on with
/// them, and only what changed since is sent.
enum class LeavePolicy : std::uint8_t {
    despawn = 0,
    freeze = 1,      ///< kept and shown as it is
    stale = 2,       ///< kept and marked
    deactivate = 3,  ///< kept out of sight, as long as the client lives (placed in the scene)
};

inline std::string_view to_string(LeavePolicy policy) noexcept {
    constexpr std::string_view names[] = {"despawn", "freeze", "stale", "deactivate"};
    return names[static_cast<std::size_t>(policy)];
}

/// Of a pair that several nodes want, the most generous counts: the most often, the most urgent,
/// the last of the policies (N43).
struct NodeSettings {
    std::uint32_t every_ticks = 1;  ///< state is sent no more often than this
    float urgency = 1;              ///< weight in the send order
    LeavePolicy leave = LeavePolicy::despawn;
};

/// A step of a curve: from this strength on, state is sent no more often than every so many ticks.
struct SendRate {
    float strength = 0;
    std::uint32_t every_ticks = 1;
};

/// A curve of steps; strengths ascend, rates do not get slower with them. Weaker than the first
/// step: as the first. An empty curve: every tick.
inline std::uint32_t every_ticks_at(const std::vector<SendRate>& curve, float strength) noexcept {
    std::uint32_t every = curve.empty() ? 1 : curve.front().every_ticks;
    for (const SendRate& step : curve) {
        if (strength >= step.strength) every = step.every_ticks;
    }
    return every;
}

}  // namespace purview
