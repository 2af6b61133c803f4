// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server with its surroundings: world, game, transports, web page, operator channel.
#pragma once

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "admin/operator_channel.hpp"
#include "losses.hpp"
#include "net/lateness.hpp"
#include "net/thread_pool.hpp"
#include "net/tick_loop.hpp"
#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "purview/server.hpp"
#include "record/io_recorder.hpp"
#include "server/server_data.hpp"
#include "world_setup.hpp"

namespace purview::app {

struct ServeOptions {
    WorldSource source = WorldSource::toml;
    std::string world_path;  ///< empty: the built-in vale
    std::string host = "127.0.0.1";
    std::uint16_t port = 7780;   ///< UDP, HTTP and WebSocket; 0: any free port
    std::string operator_token;  ///< empty: a random one on loopback
    bool no_operator = false;
    bool rules_read_only = false;  ///< operators may read and try rules, not set them
    bool players_jump = false;     ///< see vale::Setup
    /// Other origins with pages that may connect; see net::WebDef.
    std::vector<std::string> origins;
    std::uint32_t sessions_max = 1'000;
    std::uint32_t sessions_per_host_max = 16;
    std::uint32_t budget_bytes_per_tick = 0;  ///< 0: the value of the world file
    std::uint32_t threads = 1;                ///< threads that encode packets
    double seconds = 0;                       ///< 0: until stopped
    std::string record_path;                  ///< empty: no recording
};

class ServerApp {
  public:
    /// Returns null and sets `problem` if the world does not load or a port is in use.
    static std::unique_ptr<ServerApp> open(const ServeOptions& options, std::string& problem);

    /// Opens the server without transports and with the given secret. Used by replays.
    static std::unique_ptr<ServerApp> without_carriers(const ServeOptions& options,
                                                       const std::array<std::byte, 32>& secret,
                                                       std::string& problem);

    ServerApp() = default;
    ServerApp(const ServerApp&) = delete;
    ServerApp& operator=(const ServerApp&) = delete;
    /// Closes the transports first, because they call into all other members.
    ~ServerApp();

    /// "http://127.0.0.1:7780/?operator=..."
    std::string page_address() const;
    std::uint16_t port() const noexcept { return web->port(); }
    const std::vector<std::string>& warnings() const noexcept { return world->file.warnings; }
    /// Returns one line that describes the served world.
    std::string summary() const;
    /// Call after every tick. Serves operators. After a SIGHUP, reads the rules from the world file
    /// again (see watch_reload).
    void tick_done();
    /// Ends the recording, if there is one. Returns false after logging an error if the recording
    /// is incomplete.
    bool finish_recording();
    /// Installs the SIGHUP handler that requests a reload of the rules.
    static void watch_reload();

    std::unique_ptr<WorldSetup> world;
    std::unique_ptr<vale::Vale> game;
    std::unique_ptr<ThreadPool> threads;  ///< null: the calling thread does the work
    std::unique_ptr<Server> server;
    std::unique_ptr<record::IoRecorder> recorder;
    std::unique_ptr<net::UdpSocket> udp;
    std::unique_ptr<net::WebServer> web;
    std::unique_ptr<admin::OperatorChannel> operators;
    std::unique_ptr<net::TickLoop> loop;
    std::string token;
    std::string host;

  private:
    std::string make_server(const ServeOptions& options, const std::array<std::byte, 32>& secret);
    std::string open_carriers(const ServeOptions& options);
    std::string open_port(net::WebDef web_def, std::uint16_t port);
    std::string start_recording(const ServeOptions& options);
    void make_operators(const ServeOptions& options, admin::OperatorChannel::Send send);
    void reload_rules();
    void log_lateness();
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    Losses losses_;
    net::Lateness lateness_;
    std::string reload_path_;  ///< the world file; empty if there is none to reload
};

}  // namespace purview::app
