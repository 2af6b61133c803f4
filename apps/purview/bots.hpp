// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Many real UDP clients in one process, on their own threads. They join, move by a seeded random
// generator and collect statistics. Each bot simulates loss and jitter on its own link, in both
// directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bot_movement.hpp"
#include "bot_report.hpp"
#include "purview/client.hpp"
#include "vale_schema.hpp"

namespace purview::app {

struct BotOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7780;
    std::uint32_t clients = 100;
    std::uint32_t threads = 1;
    std::uint64_t seed = 1;
    double loss = 0;              ///< fraction of lost datagrams, in each direction
    std::uint32_t jitter_ms = 0;  ///< delay added to incoming datagrams, uniformly from 0 to this
    Role role = Role::player;
    std::uint32_t digest_every = 5;
    std::uint32_t send_hz = 20;
    Movement movement = Movement::roam;
    /// The first N bots, counted over all threads, read their sockets only every 0.2 to 1 s. Every
    /// tenth of them pauses for five seconds at a time.
    std::uint32_t slow_readers = 0;
    /// The last N bots look for carts and drive them.
    std::uint32_t drivers = 0;
    /// Blocked tiles for the drivers, if the bots have the world's map; null otherwise. Not owned.
    const vale::Ground* ground = nullptr;
};

/// Join rate per thread. Limits the load of simultaneous handshakes.
inline constexpr std::uint32_t bots_joining_per_second = 400;

class BotCrew {
  public:
    explicit BotCrew(const BotOptions& options);
    ~BotCrew();
    /// Starts the threads. The bots join gradually, not all at once.
    void start();
    /// Disconnects all bots and ends the threads.
    void stop();
    /// Returns the number of bots that have a socket; trouble() has the reason for the others.
    /// Valid before start().
    std::size_t size() const;
    std::string trouble() const;
    /// Returns the last published report (every 0.2 s). Callable from any thread.
    BotReport report() const;

  private:
    struct Squad;
    BotOptions options_;
    std::vector<std::unique_ptr<Squad>> squads_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stop_{false};
};

}  // namespace purview::app
