// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The handshake, before a connection exists.
//
//   client                                server
//   hello {version, schema, nonce} ────▶  replies, stores nothing
//          ◀──── challenge {nonce, cookie}   or refuse {nonce, reason}
//   answer {nonce, cookie} ────────────▶  the cookie proves the address: creates a session
//          ◀──── accept {nonce, connection id}
//
// The cookie is a keyed hash of address, nonce and time, so the server stores nothing for an
// unauthenticated peer. Hello and answer are padded, so no reply to an unproven address is larger
// than the request. The connection id is a keyed hash of address and nonce, so a repeated answer
// finds the same session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/flat_map.hpp"
#include "purview/connection.hpp"
#include "purview/limits.hpp"
#include "purview/types.hpp"

namespace purview {

class BitReader;
class BitWriter;

enum class PacketType : std::uint8_t {
    hello = 1,
    challenge = 2,
    answer = 3,
    accept = 4,
    refuse = 5,
    data = 6,
    close = 7,
    // Encrypted connections: link/packet_seal.hpp, link/encrypted_handshake.hpp.
    encrypted_answer = 8,
    encrypted_accept = 9,
    encrypted_data = 10,
    encrypted_close = 11,
    path_challenge = 12,
    path_answer = 13,
};

/// Every datagram begins with its type and a checksum of everything after it. Data packets have
/// another checksum (PROTOCOL.md), seeded with the connection id, so that packets of another
/// connection are rejected.
inline constexpr std::size_t seal_bytes = 5;
/// Writes type and checksum into the first bytes of a datagram that is otherwise complete.
void seal(PacketType type, std::uint64_t seed, std::span<std::byte> datagram) noexcept;
/// Returns the checksum seed for packet `number` of a connection. A packet contains only 16 bits of
/// its number; the seed contains the others. A packet that is 65,536 or more numbers old is
/// therefore not accepted as a new one.
std::uint64_t data_seed(std::uint64_t connection_id, std::uint32_t number) noexcept;
bool is_sealed(std::uint64_t seed, std::span<const std::byte> datagram) noexcept;

/// Sizes of a hello and of a plain answer. A challenge is about a third of it.
inline constexpr std::size_t hello_bytes = 96;
/// Minimum size of a client's data packet, so that a challenge is never larger than the packet that
/// it answers.
inline constexpr std::size_t challenge_bytes = 33;
/// The same input is sent in several packets, in case one is lost.
inline constexpr std::size_t commands_per_packet_max = 16;
inline constexpr std::uint32_t protocol_magic = 0x31575650;  // "PVW1", little endian

struct Hello {
    std::uint16_t version = limits::protocol_version;
    std::uint64_t schema_hash = 0;  ///< 0: any
    std::uint64_t nonce = 0;
};

struct Cookie {
    std::uint32_t seconds = 0;
    std::array<std::byte, 16> mac{};
};

struct Challenge {
    std::uint64_t nonce = 0;
    Cookie cookie;
};

struct Answer {
    std::uint64_t schema_hash = 0;
    std::uint64_t nonce = 0;
    Cookie cookie;
    /// The connection that moves to a new address; 0 for a new connection.
    std::uint64_t connection_id = 0;
};

struct Accept {
    std::uint64_t nonce = 0;
    std::uint64_t connection_id = 0;
};

struct Refuse {
    std::uint64_t nonce = 0;
    RefuseReason reason = RefuseReason::none;
    std::uint16_t version = limits::protocol_version;
};

struct Close {
    std::uint64_t connection_id = 0;
    CloseReason reason = CloseReason::none;
    std::string_view text{};  ///< at most limits::reason_text_bytes; a view of the datagram
};
inline constexpr std::size_t close_bytes_max = 17 + 8 + 1 + 1 + limits::reason_text_bytes;

/// Each writes one whole datagram into `out` and returns its size in bytes, or 0 if it does not
/// fit.
std::size_t write(const Hello&, std::span<std::byte> out) noexcept;
std::size_t write(const Challenge&, std::span<std::byte> out) noexcept;
std::size_t write(const Answer&, std::span<std::byte> out) noexcept;
std::size_t write(const Accept&, std::span<std::byte> out) noexcept;
std::size_t write(const Refuse&, std::span<std::byte> out) noexcept;
std::size_t write(const Close&, std::span<std::byte> out) noexcept;

/// Each returns nothing if the datagram is not exactly one such packet.
std::optional<Hello> read_hello(std::span<const std::byte> datagram) noexcept;
std::optional<Challenge> read_challenge(std::span<const std::byte> datagram) noexcept;
std::optional<Answer> read_answer(std::span<const std::byte> datagram) noexcept;
std::optional<Accept> read_accept(std::span<const std::byte> datagram) noexcept;
std::optional<Refuse> read_refuse(std::span<const std::byte> datagram) noexcept;
std::optional<Close> read_close(std::span<const std::byte> datagram) noexcept;

// Parts of packets that encrypted connections have too.
void write_cookie(const Cookie& cookie, BitWriter& out) noexcept;
Cookie read_cookie(BitReader& in) noexcept;
void write_close_body(const Close& close, BitWriter& out) noexcept;
/// Reads the body of a close packet, and nothing behind it.
std::optional<Close> read_close_body(std::span<const std::byte> body) noexcept;
/// Begins a handshake packet: leaves room for type and checksum.
BitWriter begin_handshake(std::span<std::byte> out) noexcept;
/// Fills with zeros up to `padded_bytes`, then writes type and checksum. Returns the size, or 0 if
/// it does not fit.
std::size_t finish_handshake(BitWriter& writer, PacketType type, std::span<std::byte> out,
                             std::size_t padded_bytes = 0) noexcept;
/// Checks type and checksum of a handshake packet and moves the reader past them.
bool is_handshake(BitReader& in, std::span<const std::byte> datagram, PacketType type) noexcept;

/// Holds the server's secret key. Creates and checks cookies.
class CookieJar {
  public:
    static constexpr std::uint32_t lifetime_seconds = 10;

    CookieJar(std::span<const std::byte, 32> key, MacFunction mac) noexcept;
    Cookie make(const Address& from, std::uint64_t nonce, Micros now) const noexcept;
    bool is_genuine(const Cookie& cookie, const Address& from, std::uint64_t nonce) const noexcept;
    bool is_fresh(const Cookie& cookie, Micros now) const noexcept;
    /// Derives the id from address and nonce, independent of time: a repeated answer finds the same
    /// session. Never 0.
    std::uint64_t connection_id(const Address& from, std::uint64_t nonce) const noexcept;
    /// Records that the connection has ended, so that a replayed handshake does not start it again
    /// while its cookie is valid. The record is kept for at most three lifetimes of a cookie.
    void spend(std::uint64_t connection_id, Micros now);
    bool is_spent(std::uint64_t connection_id, Micros now) noexcept;

  private:
    void turn(Micros now) noexcept;
    std::array<std::byte, 16> mac_of(std::string_view purpose, const Address& from,
                                     std::uint64_t nonce, std::uint32_t seconds) const noexcept;

    /// Time in cookies. The offset differs for each key, so a cookie does not reveal the server's
    /// uptime.
    std::uint32_t seconds_of(Micros now) const noexcept {
        return static_cast<std::uint32_t>(now / 1'000'000) + clock_offset_;
    }

    std::array<std::byte, 32> key_{};
    MacFunction mac_;
    std::uint32_t clock_offset_ = 0;
    // Connections that ended in the current lifetime of a cookie, and in the one before.
    FlatMap<std::uint64_t, bool> spent_, spent_before_;
    std::uint64_t turned_seconds_ = 0;
};

}  // namespace purview
