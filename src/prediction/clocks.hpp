// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two clocks of a client that plays: one for its commands, a little faster or slower than the
// server's ticks so that a few commands always wait there; and one for what it shows of everything
// else, a little behind the newest snapshot and never jumping back.
#pragma once

#include <cstdint>

#include "purview/ids.hpp"

namespace purview {

class CommandClock {
  public:
    CommandClock(std::uint32_t tick_hz, std::uint32_t waiting_target) noexcept
        : hz_(tick_hz), target_(waiting_target) {}

    /// The server has said how many commands wait there, or that it had none.
    void heard(std::uint32_t waiting, bool starved) noexcept;
    /// Command ticks due since the last call; at first as many as shall wait at the server.
    unsigned advance(Micros now) noexcept;
    /// Of the tick that runs now, 0..1.
    double part(Micros now) const noexcept;
    double rate() const noexcept { return rate_; }
    bool is_running() const noexcept { return last_ != 0; }

    static constexpr unsigned ticks_at_once_max = 8;

  private:
    double hz_;
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

  private:
    double hz_;
    double delay_;
    // Server tick at time 0, by the packets that came fastest: of this second, and of the one
    // before. Older ones are no longer true when the way became longer or the server stood still.
    double fastest_ = 0;
    double fastest_before_ = 0;
    Micros second_began_ = 0;
    double view_ = 0;
    Micros last_ = 0;
    Tick heard_ = 0;
};

}  // namespace purview
