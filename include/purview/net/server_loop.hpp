// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A loop that runs a Server over UDP and, if wanted, WebSockets: it receives until the next tick is
// due, ticks, and sends. Part of purview::net. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace purview {
class Server;
}

namespace purview::net {

struct ServerLoopDef {
    /// Numeric address to listen on. "0.0.0.0" or "::" is every address of the machine.
    std::string host = "127.0.0.1";
    std::uint16_t udp_port = 0;  ///< 0: any
    /// Browsers may join at ws://host:web_port/play.
    bool web = false;
    std::uint16_t web_port = 0;  ///< 0: any
    /// Pages that may join beside those of the own host: "https://game.example"; "*": any.
    std::vector<std::string> origins = {};
    /// Called after each tick and its sending.
    std::function<void()> after_tick = {};
};

class ServerLoop {
  public:
    /// Opens the ports. `server` is not owned, outlives the loop, and is not moved meanwhile.
    ServerLoop(Server& server, ServerLoopDef def);
    ~ServerLoop();
    ServerLoop(const ServerLoop&) = delete;
    ServerLoop& operator=(const ServerLoop&) = delete;

    /// Returns why the ports could not be opened; empty: they are open.
    const std::string& problem() const noexcept;
    std::uint16_t udp_port() const noexcept;
    std::uint16_t web_port() const noexcept;  ///< 0: ServerLoopDef::web is not set
    /// Runs until stop(), SIGINT or SIGTERM, or for this many seconds (0: no limit). At the end it
    /// closes the sessions, runs a last tick, and restores the handlers of the two signals. SIGPIPE
    /// stays ignored. Returns at once if there is a problem(). Of several loops in one process, the
    /// signals end the one that ran last.
    void run(double seconds = 0);
    /// Ends run(). From the game, or from a signal handler.
    void stop() noexcept;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace purview::net
