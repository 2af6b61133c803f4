// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Whether a loop keeps up, and when that is worth a word.
#pragma once

#include <cstdint>
#include <optional>

#include "net/tick_loop.hpp"

namespace purview::net {

/// A loop that does not keep up, since it was looked at last.
struct Late {
    std::uint64_t ticks = 0;
    std::uint64_t overruns = 0;  ///< of them, those that took longer than their period
    std::uint64_t skipped = 0;   ///< ticks that were left out
    Micros behind_us = 0;        ///< the clock, since the start: it never falls
};

/// Looks at a loop every five seconds, and ever more seldom while it stays late. One tick that was
/// long now and then is made up for, and not told.
class Lateness {
  public:
    std::optional<Late> look(const LoopStats& stats, Micros now);

  private:
    Micros next_ = 0;
    Micros wait_us_ = 0;                                    ///< 0: never looked
    std::uint64_t ticks_ = 0, overruns_ = 0, skipped_ = 0;  ///< as they were then
};

}  // namespace purview::net
