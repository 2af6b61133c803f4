// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two clocks of a client with prediction. CommandClock runs slightly faster or slower than the
// server's ticks, so that a few inputs are always buffered on the server. ViewClock is the
// interpolation time of everything that is not predicted, slightly behind the newest snapshot. Both
// slow down with a server that cannot keep its tick rate.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

class CommandClock {
  public:
    CommandClock(std::uint32_t tick_hz, std::uint32_t buffer_target) noexcept
        : hz_(tick_hz), target_(buffer_target) {}

    /// Processes a report of the server: its number of buffered inputs, or that it had none.
    void note_report(std::uint32_t waiting, bool starved) noexcept;
    /// Returns the command ticks due since the last call; the first call returns the jitter-buffer
    /// target plus one. `server_pace`: ViewClock::server_pace().
    unsigned advance(Micros now, double server_pace) noexcept;
    /// Elapsed part of the current tick, 0..1.
    double part(Micros now) const noexcept;
    double rate() const noexcept { return rate_; }

    /// advance() returns at most the ticks of an eighth of a second, clamped to these limits. The
    /// upper limit is below Reconciler::frames_max.
    static constexpr unsigned ticks_at_once_min = 8, ticks_at_once_max = 48;

  private:
    double hz_;
    double pace_ = 1;  ///< server pace at the last advance
    double target_;
    double waiting_ = -2;  ///< smoothed buffered inputs; below -1: no report yet
    double rate_ = 1;
    double due_ = 0;  ///< fraction of a tick
    Micros last_ = 0;
};

class ViewClock {
  public:
    ViewClock(std::uint32_t tick_hz, float delay_ticks) noexcept
        : hz_(tick_hz), delay_(delay_ticks) {}

    /// Sets the tick of the newest snapshot and its arrival time. Call before tick().
    void note_snapshot(Tick newest, Micros at) noexcept;
    void advance(Micros now) noexcept;
    double tick(Micros now) const noexcept;
    /// Ratio of the server's tick rate to its nominal rate: 1, or less while it falls behind.
    double server_pace() const noexcept { return pace_; }

  private:
    /// The packet of a second with the least delay: the best estimate of the server's tick.
    struct Fastest {
        Micros at = 0;
        double tick_at_zero = 0;  ///< extrapolated server tick at time 0, at the nominal rate
    };
    double ticks_of(double micros) const noexcept;
    void end_second(const Fastest& sample) noexcept;
    /// The server's current tick, as estimated from this packet.
    double tick_by(const Fastest& packet, Micros now) const noexcept;

    double hz_;
    double delay_;
    // Samples of the current and the previous second. Older ones are wrong after a rise in latency
    // or a server stall.
    Fastest fastest_;
    Fastest fastest_before_;
    Micros second_began_ = 0;
    double pace_ = 1;
    double pace_before_ = 1;  ///< estimate from the last second alone
    double view_ = 0;
    Micros last_ = 0;
    Tick newest_tick_ = 0;
};

}  // namespace purview
