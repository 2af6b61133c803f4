// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Types that server, client and carriers share: addresses, and why a connection was refused or
/// closed. The library opens no socket. The program that carries the datagrams passes their
/// addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace purview {

/// @addtogroup api_common
/// @{

/// Where a datagram came from or goes to. The library compares addresses, and limits connections by
/// host.
struct Address {
    /// The transport of a datagram.
    enum class Carrier : std::uint8_t {
        none = 0,        ///< no address
        udp = 1,         ///< a UDP datagram
        web_socket = 2,  ///< a binary frame of a WebSocket
        memory = 3       ///< a transport of the program; only limits of a single host apply
    };
    Carrier carrier = Carrier::none;      ///< the transport
    std::array<std::uint8_t, 16> host{};  ///< IPv6, or IPv4 mapped into it
    std::uint16_t port = 0;               ///< of the other side
    /// Number of the connection, or of the local address that received the datagram; 0: the carrier
    /// has none. Datagrams with different channels have different addresses.
    std::uint32_t channel = 0;
    /// Compares all members.
    friend bool operator==(const Address&, const Address&) = default;
};

/// Why a server refused a client. Sent as a number; see PROTOCOL.md.
enum class RefuseReason : std::uint8_t {
    none = 0,           ///< not refused
    version = 1,        ///< the server uses another protocol version
    schema = 2,         ///< the client was built for another schema
    full = 3,           ///< no room left
    address_limit = 4,  ///< too many connections from this host
    expired = 5,        ///< the challenge is too old; start again
    join = 6,           ///< the game refused
    shutting_down = 7,  ///< the server takes no new clients (Server::shut_down)
    /// The server needs an encrypted connection, or does not accept the client's key: it is
    /// invalid, expired, for another server, or was used before.
    key = 8,
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(RefuseReason) noexcept;

/// Why a connection was closed. Sent as a number; see PROTOCOL.md.
enum class CloseReason : std::uint8_t {
    none = 0,     ///< not closed
    left = 1,     ///< this side left, or the other side disconnected
    timeout = 2,  ///< no packets, or none acknowledged
    /// Too many packets that do not decode, too many refused RPCs, or too many messages in a tick.
    malformed = 3,
    kicked = 4,         ///< closed by the game (Server::close)
    shutting_down = 5,  ///< Server::shut_down
    never_joined = 6,   ///< the handshake or the game's decision (Game::on_admit) took too long
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(CloseReason) noexcept;

/// The role that a client requests. The game may check it in `on_admit` and `on_join`. The library
/// refuses RPCs with RpcCallers::players from spectators; there is no other difference.
enum class Role : std::uint8_t {
    spectator = 0,  ///< may not call RPCs with RpcCallers::players
    player = 1      ///< may call them
};

/// Computes a keyed hash of `data` into the 16 bytes of `out`. Must be deterministic, and
/// cryptographic if untrusted peers can send. net::mac is one.
using MacFunction = void (*)(std::span<const std::byte, 32> key, std::span<const std::byte> data,
                             std::span<std::byte, 16> out);

/// @}

}  // namespace purview
