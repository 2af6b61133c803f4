// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// HTTP and WebSocket on one port (Boost.Beast, in web_server.cpp only). Two kinds of WebSocket:
// play (one binary message = one datagram) and operator (guarded by token and origin). Everything
// runs on the one thread that calls `wait_until`.
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

/// Letters, digits and -._~ as they are; every other byte as %2F.
std::string url_encoded(std::string_view text);
/// %2F and the like as the bytes that they stand for.
std::string url_decoded(std::string_view text);

struct WebDef {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    /// Must come with every operator connection. Empty: none is asked for, which open() refuses
    /// where the host is not loopback.
    std::string operator_token;
    /// Whose pages may play, besides those of the own host: "https://game.example", as browsers
    /// say it. "*": anybody's. What says no origin is no page, and may.
    std::vector<std::string> origins;
    /// Content-Security-Policy of all that is served.
    std::string content_policy = "frame-ancestors 'none'";
    std::uint32_t connections_max = 1024;  ///< fewer where the system has no descriptors for them
    std::uint32_t connections_per_host_max = 64;  ///< 4 times of a /56, 16 of a /48 or IPv4 /24
    std::uint32_t handshake_timeout_ms = 5'000;
    std::uint32_t answer_timeout_ms = 60'000;  ///< until an answer is written
    std::uint32_t session_wait_ms = 10'000;    ///< a player's WebSocket without a session
};

struct WebResource {
    std::string content_type;
    std::string_view body;  ///< lives as long as the server
};

struct WebCounters {
    std::uint64_t requests = 0;
    std::uint64_t refused_operators = 0;    ///< wrong token or origin
    std::uint64_t refused_origins = 0;      ///< pages of others that wanted to play
    std::uint64_t refused_connections = 0;  ///< caps
    std::uint64_t accept_failed = 0;  ///< for want of descriptors; who waits may be taken later
    std::uint64_t oversized_frames = 0;
    std::uint64_t without_session = 0;  ///< WebSockets of players, closed for want of one
    std::uint64_t dropped_frames = 0;   ///< to clients that read too slowly
};

class WebServer {
  public:
    explicit WebServer(WebDef def);
    ~WebServer();

    /// Empty, or what went wrong (port in use).
    std::string open();
    std::uint16_t port() const noexcept;
    void serve(const std::string& path, WebResource resource);

    /// One datagram of a browser client.
    std::function<void(std::span<const std::byte>, const Address&)> on_datagram;
    std::function<void(const Address&)> on_play_closed;
    /// A message of an operator connection, text or bytes; answers through send_operator.
    std::function<void(std::uint32_t connection, std::string_view)> on_operator_message;
    std::function<void(std::uint32_t connection)> on_operator_closed;

    /// One frame to a browser client; dropped when it reads too slowly.
    void send(std::span<const std::byte> bytes, const Address& to);
    void send_operator(std::uint32_t connection, std::string_view message, bool binary);

    /// Also wakes wait_until.
    void watch(int descriptor, std::function<void()> readable);
    /// Waits for something to do until `deadline` (net::now), and handles what is there until then,
    /// one thing of each connection after the other. Of what is there when the deadline has passed,
    /// no more than takes `least_us`: who is late listens all the same, but not for ever.
    void wait_until(Micros deadline, Micros least_us = 2'000);
    void close();
    const WebCounters& counters() const noexcept;

    struct Data;  ///< in web_server.cpp

  private:
    std::unique_ptr<Data> data_;
};

}  // namespace purview::net
