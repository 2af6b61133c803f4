// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What server, client and carriers share: addresses, datagrams, and why a connection was refused or
// closed. The library never opens a socket; whoever carries its datagrams tells it where they came
// from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace purview {

/// Where a datagram came from or goes to. The library compares, and limits connections by host.
struct Address {
    enum class Carrier : std::uint8_t { none = 0, udp = 1, web_socket = 2, memory = 3 };
    Carrier carrier = Carrier::none;
    std::array<std::uint8_t, 16> host{};  ///< IPv6, or IPv4 mapped into it
    std::uint16_t port = 0;
    /// Number of the connection, or of what was asked on this side, where the carrier has such:
    /// what comes over another one comes from another address.
    std::uint32_t channel = 0;
    friend bool operator==(const Address&, const Address&) = default;
};
/// IPv4, mapped: ::ffff:a.b.c.d.
bool is_ipv4(const Address& address) noexcept;
/// Whether limits for one host count them together: the same IPv4 address, or IPv6 addresses of one
/// network of 64 bits, which a host has to itself. Whatever their ports and carriers.
bool is_same_host(const Address& left, const Address& right) noexcept;

/// Reasons travel as numbers; see PROTOCOL.md.
enum class RefuseReason : std::uint8_t {
    none = 0,
    version = 1,        ///< the server speaks another protocol version
    schema = 2,         ///< the client was built for another schema
    full = 3,           ///< no room left
    address_limit = 4,  ///< too many connections from this host
    expired = 5,        ///< the challenge is too old: begin again
    join = 6,           ///< the game refused
    shutting_down = 7,
};
std::string_view to_string(RefuseReason) noexcept;

enum class CloseReason : std::uint8_t {
    none = 0,
    left = 1,       ///< we left, or the other side said good-bye
    timeout = 2,    ///< silence
    malformed = 3,  ///< too many packets that do not decode
    kicked = 4,
    shutting_down = 5,
    never_joined = 6,  ///< the handshake, or the game's yes (Game::admit), took too long
};
std::string_view to_string(CloseReason) noexcept;

/// What a client asks to be; the game may see to it in `admit` and `joined`. The library itself
/// keeps spectators from calls for RpcCallers::players, and from nothing else.
enum class Role : std::uint8_t { spectator = 0, player = 1 };

/// 16 bytes of a keyed hash of `data`; must be cryptographic where strangers can send.
using MacFunction = void (*)(std::span<const std::byte, 32> key, std::span<const std::byte> data,
                             std::span<std::byte, 16> out);

}  // namespace purview
