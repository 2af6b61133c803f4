// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server with everything around it: world, game, carriers, page, operator channel.
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
#include "record/border.hpp"
#include "server/server_data.hpp"
#include "world_setup.hpp"

namespace purview::app {

struct ServeOptions {
    WorldSource source = WorldSource::toml;
    std::string world_path;  ///< empty: the built-in vale
    std::string host = "127.0.0.1";
    std::uint16_t port = 7780;   ///< UDP, HTTP and WebSocket; 0: any
    std::string operator_token;  ///< empty: a random one on loopback
    bool no_operator = false;
    bool rules_read_only = false;      ///< operators may read and try rules, not set them
    bool players_jump = false;         ///< see vale::Setup
    std::vector<std::string> origins;  ///< whose pages may play, besides our own; see net::WebDef
    std::uint32_t sessions_max = 1'000;
    std::uint32_t sessions_per_host_max = 16;
    std::uint32_t budget_bytes_per_tick = 0;  ///< 0: as the world says
    std::uint32_t threads = 1;                ///< that make packets
    double seconds = 0;                       ///< 0: until stopped
    std::string record_path;                  ///< empty: nothing is recorded
};

class ServerApp {
  public:
    /// Null, with `problem` saying why, when the world does not load or a port is taken.
    static std::unique_ptr<ServerApp> open(const ServeOptions& options, std::string& problem);

    /// The same without carriers, with a secret that is known: for a replay.
    static std::unique_ptr<ServerApp> without_carriers(const ServeOptions& options,
                                                       const std::array<std::byte, 32>& secret,
                                                       std::string& problem);

    ServerApp() = default;
    ServerApp(const ServerApp&) = delete;
    ServerApp& operator=(const ServerApp&) = delete;
    /// Closes the carriers first: they call into everything else.
    ~ServerApp();

    /// "http://127.0.0.1:7780/?operator=..."
    std::string page_address() const;
    std::uint16_t port() const noexcept { return web->port(); }
    const std::vector<std::string>& warnings() const noexcept { return world->file.warnings; }
    /// One line about what is being served.
    std::string summary() const;
    /// After every tick: operators are served; on a signal, rules are read from the world file
    /// again (see watch_reload).
    void tick_done();
    /// Ends the recording, if there is one. False, and an error was logged: it is not whole.
    bool finish_recording();
    /// SIGHUP is listened to from now on.
    static void watch_reload();

    std::unique_ptr<WorldSetup> world;
    std::unique_ptr<vale::Vale> game;
    std::unique_ptr<ThreadPool> threads;  ///< null: the one that calls
    std::unique_ptr<Server> server;
    std::unique_ptr<record::Border> border;
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
    void tell_lateness();
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    Losses losses_;
    net::Lateness lateness_;
    std::string reload_path_;  ///< the world file; empty: there is none to be read again
};

}  // namespace purview::app
