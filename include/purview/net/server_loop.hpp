// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// A loop that runs a Server over UDP and optionally WebSockets. It receives until the next tick is
/// due, ticks, and sends. Part of purview::net. One thread.
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

/// @addtogroup api_net
/// @{

/// The configuration of a loop.
struct ServerLoopDef {
    /// Numeric address to listen on. "0.0.0.0" or "::" is every address of the machine.
    std::string host = "127.0.0.1";
    std::uint16_t udp_port = 0;  ///< 0: any
    /// Browsers can join at ws://host:web_port/play.
    bool web = false;
    std::uint16_t web_port = 0;  ///< 0: any
    /// Origins of pages that may join, in addition to the server's own: "https://game.example";
    /// "*": any.
    std::vector<std::string> origins = {};
    /// Called after each tick, when its datagrams are sent.
    std::function<void()> after_tick = {};
};

/// Runs a server.
class ServerLoop {
  public:
    /// Opens the ports. `server` is not owned, outlives the loop, and is not moved meanwhile.
    ServerLoop(Server& server, ServerLoopDef def);
    /// Closes the ports.
    ~ServerLoop();
    ServerLoop(const ServerLoop&) = delete;
    ServerLoop& operator=(const ServerLoop&) = delete;

    /// Returns why the ports could not be opened; empty: they are open.
    const std::string& problem() const noexcept;
    /// Returns the UDP port.
    std::uint16_t udp_port() const noexcept;
    /// Returns the WebSocket port; 0: ServerLoopDef::web is not set.
    std::uint16_t web_port() const noexcept;
    /// Runs until stop(), SIGINT or SIGTERM, or for this many seconds (0: no limit). Then shuts the
    /// server down (Server::shut_down), runs a last tick, and restores the handlers of the two
    /// signals; SIGPIPE and SIGXFSZ stay ignored. Returns at once if there is a problem(). If
    /// several loops run in one process, the signals end the one that was started last.
    ///
    /// Call it once. A loop that is more than five ticks late skips ticks instead of running them
    /// back to back.
    void run(double seconds = 0);
    /// Ends run(). May be called from the game and from a signal handler.
    void stop() noexcept;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

/// @}

}  // namespace purview::net
