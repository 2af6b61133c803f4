// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Detects whether a loop keeps its tick rate, and limits how often that is reported.
#pragma once

#include <cstdint>
#include <optional>

#include "net/tick_loop.hpp"

namespace purview::net {

/// Data of a loop that is late, since the last check.
struct Late {
    std::uint64_t ticks = 0;
    std::uint64_t overruns = 0;  ///< ticks among them that took longer than their period
    std::uint64_t skipped = 0;   ///< ticks that were not run
    Micros behind_us = 0;  ///< maximum delay behind the clock since the start; never decreases
};

/// Checks a loop every five seconds, and at growing intervals while it stays late. A single long
/// tick is not reported.
class Lateness {
  public:
    /// Returns the data since the last check if a check is due and the loop is late.
    std::optional<Late> check(const LoopStats& stats, Micros now);

  private:
    Micros next_ = 0;
    Micros wait_us_ = 0;                                    ///< 0: no check yet
    std::uint64_t ticks_ = 0, overruns_ = 0, skipped_ = 0;  ///< as of the last check
};

}  // namespace purview::net
