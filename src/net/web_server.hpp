// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// HTTP and WebSocket on one port (Boost.Beast, in web_server.cpp only). There are two kinds of
// WebSocket: play (one binary message per datagram) and operator (requires token and origin).
// Everything runs on the thread that calls `wait_until`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "purview/connection.hpp"
#include "purview/types.hpp"

namespace purview::net {

/// Percent-encodes all bytes except letters, digits and -._~ (as in %2F).
std::string url_encoded(std::string_view text);
/// Decodes percent-encoded bytes, such as %2F.
std::string url_decoded(std::string_view text);

struct WebDef {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    /// Token that every operator connection must present. If empty, none is required; open() then
    /// refuses any host that is not loopback.
    std::string operator_token;
    /// Origins of the pages that may play, besides pages of this server: "https://game.example", as
    /// browsers send it. "*" allows all. Clients that send no origin are allowed.
    std::vector<std::string> origins;
    /// Content-Security-Policy header of all responses.
    std::string content_policy = "frame-ancestors 'none'";
    std::uint32_t connections_max = 1024;  ///< fewer if the system has fewer descriptors
    /// The limit is 4 times as high for an IPv6 /56, and 16 times for an IPv6 /48 or IPv4 /24.
    std::uint32_t connections_per_host_max = 64;
    std::uint32_t handshake_timeout_ms = 5'000;
    std::uint32_t answer_timeout_ms = 60'000;  ///< for writing a response
    /// Time limit for a player's WebSocket without a session.
    std::uint32_t session_wait_ms = 10'000;
};

struct WebResource {
    std::string content_type;
    std::string_view body;  ///< must live as long as the server
};

struct WebCounters {
    std::uint64_t requests = 0;
    std::uint64_t refused_operators = 0;    ///< wrong token or origin
    std::uint64_t refused_origins = 0;      ///< foreign pages that tried to play
    std::uint64_t refused_connections = 0;  ///< over a connection limit
    std::uint64_t accept_failed = 0;        ///< no descriptors; the client may be accepted later
    std::uint64_t oversized_frames = 0;
    std::uint64_t without_session = 0;  ///< players' WebSockets closed because they had no session
    std::uint64_t dropped_frames = 0;   ///< to clients that read too slowly
};

class WebServer {
  public:
    explicit WebServer(WebDef def);
    ~WebServer();

    /// Returns an error text (such as port in use), or an empty string.
    std::string open();
    std::uint16_t port() const noexcept;
    void serve(const std::string& path, WebResource resource);

    /// Called for each datagram of a browser client.
    std::function<void(std::span<const std::byte>, const Address&)> on_datagram;
    std::function<void(const Address&)> on_play_closed;
    /// Called for each message of an operator connection, text or binary. Answer with
    /// send_operator.
    std::function<void(std::uint32_t connection, std::string_view)> on_operator_message;
    std::function<void(std::uint32_t connection)> on_operator_closed;

    /// Sends one frame to a browser client. Dropped if the client reads too slowly.
    void send(std::span<const std::byte> bytes, const Address& to);
    void send_operator(std::uint32_t connection, std::string_view message, bool binary);

    /// Calls `readable` when the descriptor is readable; this also wakes wait_until.
    void watch(int descriptor, std::function<void()> readable);
    /// Waits for events until `deadline` (net::now), and handles them one at a time, alternating
    /// between connections. If the deadline has passed, still handles pending events for up to
    /// `least_us`.
    void wait_until(Micros deadline, Micros least_us = 2'000);
    void close();
    const WebCounters& counters() const noexcept;

    struct Data;  ///< in web_server.cpp

  private:
    std::unique_ptr<Data> data_;
};

}  // namespace purview::net
