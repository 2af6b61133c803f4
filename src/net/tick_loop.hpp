// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The loop of a server with real transports: receives until the next tick is due, ticks, and sends.
// Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "record/io_recorder.hpp"

namespace purview::net {

struct LoopStats {
    std::uint64_t ticks = 0;
    std::uint64_t overruns = 0;  ///< ticks that took longer than their period
    std::uint64_t skipped = 0;   ///< ticks that were skipped because the loop was too late
    Micros period_us = 0;        ///< tick period
    Micros late_us = 0;          ///< delay of the start of the last tick
    Micros behind_us = 0;        ///< largest delay of the world behind the clock so far
    UdpCounters udp;
    Micros waited_us = 0;            ///< total time ready to run, but without a processor
    std::vector<float> tick_ms;      ///< durations of the last 2^16 ticks, unordered
    std::vector<float> tick_cpu_ms;  ///< CPU times of the same ticks
};

class TickLoop {
  public:
    /// All parts must outlive the loop. The web server must be closed before the loop is destroyed.
    TickLoop(record::IoRecorder& recorder, UdpSocket& udp, WebServer& web, std::uint32_t tick_hz);

    /// Runs until `*stop`, or for `seconds` (0: no limit). `after_tick` runs after each tick and
    /// its sending, and is not part of the measured time. It does not run after the final tick,
    /// which is not counted.
    void run(volatile const bool* stop, double seconds, const std::function<void()>& after_tick);
    /// Sets a function that returns the microseconds that this thread has spent so far on observing
    /// the server. That time is not counted as tick time.
    void set_watching(std::function<Micros()> spent_us) { watching_ = std::move(spent_us); }
    /// Sets a callback at the end of `run`, before the sessions are closed and a last tick reports
    /// that to the game.
    void set_ending(std::function<void()> ending) { ending_ = std::move(ending); }
    const LoopStats& stats() const noexcept { return stats_; }

  private:
    void send();
    void note_behind(Micros late_us);

    record::IoRecorder& recorder_;
    UdpSocket& udp_;
    WebServer& web_;
    std::function<Micros()> watching_;
    std::function<void()> ending_;
    LoopStats stats_;
};

}  // namespace purview::net
