// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The loop that a server with real carriers runs: receive until the next tick is due, tick, send.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "record/border.hpp"

namespace purview::net {

struct LoopStats {
    std::uint64_t ticks = 0;
    std::uint64_t overruns = 0;  ///< ticks that took longer than their period
    std::uint64_t skipped = 0;   ///< ticks that were not run because the loop was too late
    Micros period_us = 0;        ///< of a tick
    Micros late_us = 0;          ///< by so much the last tick began too late
    Micros behind_us = 0;        ///< the world behind the clock, the most so far
    UdpCounters udp;
    Micros waited_us = 0;            ///< ready to run, but without a processor, in all
    std::vector<float> tick_ms;      ///< duration of each of the last 2^16 ticks, in no order
    std::vector<float> tick_cpu_ms;  ///< CPU time of the same
};

class TickLoop {
  public:
    /// All must outlive the loop; the web server is closed before the loop goes.
    TickLoop(record::Border& border, UdpSocket& udp, WebServer& web, std::uint32_t tick_hz);

    /// Runs until `*stop`, or for so many seconds (0: no limit). `after_tick` runs after each tick
    /// and its sending, outside of its measured time; not after the last one, which is not counted.
    void run(volatile const bool* stop, double seconds, const std::function<void()>& after_tick);
    /// What this thread has spent so far, in microseconds, on whoever watches the ticks: not
    /// counted as theirs.
    void set_watching(std::function<Micros()> spent_us) { watching_ = std::move(spent_us); }
    /// Called at the end of `run`, before sessions are closed and the game is told so in a last
    /// tick.
    void set_ending(std::function<void()> ending) { ending_ = std::move(ending); }
    const LoopStats& stats() const noexcept { return stats_; }

  private:
    void send();
    void note_behind(Micros late_us);

    record::Border& border_;
    UdpSocket& udp_;
    WebServer& web_;
    std::function<Micros()> watching_;
    std::function<void()> ending_;
    LoopStats stats_;
};

}  // namespace purview::net
