// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Many real UDP clients in one process, on threads of their own: they join, walk about on a seed,
// and keep count. Loss and jitter are made at the bot, in both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "purview/client.hpp"

namespace purview::app {

struct BotOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7780;
    std::uint32_t clients = 100;
    std::uint32_t threads = 1;
    std::uint64_t seed = 1;
    double loss = 0;              ///< share of datagrams, each way
    std::uint32_t jitter_ms = 0;  ///< added delay of incoming datagrams, 0 to this
    Role role = Role::player;
    std::uint32_t digest_every = 5;
    std::uint32_t send_hz = 20;
};

/// Sums over all bots; times in milliseconds.
struct BotReport {
    std::uint32_t clients = 0;
    std::uint32_t joined = 0;
    std::uint32_t refused = 0;
    std::uint32_t closed = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t packets_lost = 0;
    std::uint64_t packets_malformed = 0;
    std::uint64_t order_violations = 0;
    double ghosts_mean = 0;
    double rtt_ms_p50 = 0;
    double rtt_ms_p99 = 0;
    std::string trouble;  ///< the first thing that went wrong, if any
};

class BotCrew {
  public:
    explicit BotCrew(const BotOptions& options);
    ~BotCrew();
    /// Starts the threads; bots join over the first seconds, not all at once.
    void start();
    /// Says good-bye and ends the threads.
    void stop();
    /// As of the last completed turn; any thread.
    BotReport report() const;

  private:
    struct Squad;
    BotOptions options_;
    std::vector<std::unique_ptr<Squad>> squads_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stop_{false};
};

}  // namespace purview::app
