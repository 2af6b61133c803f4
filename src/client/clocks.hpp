// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two clocks of a client that plays: one for its commands, a little faster or slower than the
// server's ticks so that a few commands always wait there; and one for what it shows of everything
// else, a little behind the newest snapshot and never jumping back. Both go as slowly as the server
// does when it cannot keep its rate.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

class CommandClock {
  public:
    CommandClock(std::uint32_t tick_hz, std::uint32_t waiting_target) noexcept
        : hz_(tick_hz), target_(waiting_target) {}

    /// The server has said how many commands wait there, or that it had none.
    void heard(std::uint32_t waiting, bool starved) noexcept;
    /// Command ticks due since the last call; at first as many as shall wait at the server.
    /// `server_pace`: ViewClock::server_pace().
    unsigned advance(Micros now, double server_pace) noexcept;
    /// Of the tick that runs now, 0..1.
    double part(Micros now) const noexcept;
    double rate() const noexcept { return rate_; }

    /// An eighth of a second, within what a client remembers.
    static constexpr unsigned ticks_at_once_min = 8, ticks_at_once_max = 48;

  private:
    double hz_;
    double pace_ = 1;  ///< of the server
    double target_;
    double waiting_ = -2;  ///< smoothed; below -1: not heard of yet
    double rate_ = 1;
    double due_ = 0;  ///< part of a tick
    Micros last_ = 0;
};

class ViewClock {
  public:
    ViewClock(std::uint32_t tick_hz, float delay_ticks) noexcept
        : hz_(tick_hz), delay_(delay_ticks) {}

    /// The newest snapshot's tick and when it came; call it before tick().
    void heard(Tick newest, Micros at) noexcept;
    void advance(Micros now) noexcept;
    double tick(Micros now) const noexcept;
    /// The server's ticks a second, of those it ought to make: 1, and less while it falls behind.
    double server_pace() const noexcept { return pace_; }

  private:
    /// The packet of a second that came fastest: what tells where the server is.
    struct Fastest {
        Micros at = 0;
        double tick_at_zero = 0;  ///< the server's at time 0, had it always kept its rate
    };
    double ticks_of(double micros) const noexcept;
    void end_second(const Fastest& sample) noexcept;
    /// The server's tick now, as the packet tells it.
    double tick_by(const Fastest& packet, Micros now) const noexcept;

    double hz_;
    double delay_;
    // Of this second, and of the one before. Older ones are no longer true when the way became
    // longer or the server stood still.
    Fastest fastest_;
    Fastest fastest_before_;
    Micros second_began_ = 0;
    double pace_ = 1;
    double pace_before_ = 1;  ///< as the last second alone tells it
    double view_ = 0;
    Micros last_ = 0;
    Tick heard_ = 0;
};

}  // namespace purview
