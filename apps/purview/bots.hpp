// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Many real UDP clients in one process, on threads of their own: they join, move on a seed, and
// keep count. Loss and jitter are made at the bot, in both directions.
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
    double loss = 0;              ///< share of datagrams, each way
    std::uint32_t jitter_ms = 0;  ///< added delay of incoming datagrams, 0 to this
    Role role = Role::player;
    std::uint32_t digest_every = 5;
    std::uint32_t send_hz = 20;
    Movement movement = Movement::roam;
    /// So many, of all squads the first, read their sockets only now and then; every tenth of them
    /// pauses for five seconds at a time.
    std::uint32_t slow_readers = 0;
    /// So many, the last ones, look for carts and drive them.
    std::uint32_t drivers = 0;
    /// What they cannot drive on, if they have the map of the world; not owned.
    const vale::Ground* ground = nullptr;
};

/// Bots that join in a second, of each thread: a crowd at a gate, not a flood.
inline constexpr std::uint32_t bots_joining_per_second = 400;

class BotCrew {
  public:
    explicit BotCrew(const BotOptions& options);
    ~BotCrew();
    /// Starts the threads; bots join over the first seconds, not all at once.
    void start();
    /// Says good-bye and ends the threads.
    void stop();
    /// Bots that have a socket; of those that have none, why. Before start().
    std::size_t size() const;
    std::string trouble() const;
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
