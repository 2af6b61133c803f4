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
enum class Retention : std::uint8_t {
    despawn = 0,
    freeze = 1,      ///< kept and shown as it is
    stale = 2,       ///< kept and marked
    deactivate = 3,  ///< kept out of sight, until others need its room (placed in the scene)
};

inline std::string_view to_string(Retention policy) noexcept {
    constexpr std::string_view names[] = {"despawn", "freeze", "stale", "deactivate"};
    return names[static_cast<std::size_t>(policy)];
}

/// How urgent something may be. All weights together neither vanish nor go before leaves, whatever
/// a game makes of them.
inline constexpr float priority_min = 1e-6F, priority_max = 1e6F;
constexpr bool is_priority(float priority) noexcept {
    return priority >= priority_min && priority <= priority_max;
}

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

/// A curve of steps; strengths ascend, rates do not get slower with them. Weaker than the first
/// step: as the first. An empty curve: every tick.
inline std::uint32_t every_ticks_at(const std::vector<SendInterval>& curve, float score) noexcept {
    std::uint32_t every = curve.empty() ? 1 : curve.front().every_ticks;
    for (const SendInterval& step : curve) {
        if (score >= step.score) every = step.every_ticks;
    }
    return every;
}

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

/// Of a list of so many.
inline std::uint32_t sends_at_most(const SendLimit& limit, std::uint32_t ghosts) noexcept {
    std::uint32_t parts = 1;
    for (const SendBuckets& step : limit.buckets) {
        if (ghosts >= step.ghosts) parts = step.parts;
    }
    const std::uint32_t part = ghosts / parts + (ghosts % parts != 0 ? 1 : 0);
    return limit.per_tick != 0 && limit.per_tick < part ? limit.per_tick : part;
}

}  // namespace purview
