// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The handshake packets of an encrypted connection. Hello, challenge and refuse are those of
// handshake.hpp.
//
//   client                                   server
//   hello ────────────────────────────────▶  replies, stores nothing
//          ◀──── challenge {nonce, cookie}
//   encrypted_answer {cookie, key request,   the cookie proves the address, the request gives the
//                     tag} ──────────────▶   secret, the tag proves that the client has it too:
//                                            creates a session
//          ◀──── encrypted_accept {id, tag}  the tag proves that the server has the secret
//
// A client with a new address, in a session that exists:
//   encrypted_data from the new address ──▶
//          ◀──── path_challenge {cookie, tag}
//   path_answer {id, cookie, tag} ────────▶  moves the session
//
// A tag is a keyed hash of all bytes of the packet except the checksum and the tag itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "link/packet_seal.hpp"

namespace purview {

struct EncryptedAnswer {
    Answer answer;                           ///< its connection id is 0
    std::span<const std::byte> key_request;  ///< a view of the datagram
};
struct PathChallenge {
    Cookie cookie;
};
struct PathAnswer {
    std::uint64_t connection_id = 0;
    Cookie cookie;
};

inline constexpr std::size_t path_challenge_bytes = seal_bytes + 20 + tag_bytes;
inline constexpr std::size_t path_answer_bytes = path_challenge_bytes + 8;

/// Writes one whole datagram into `out`, which has limits::datagram_bytes. Returns its size.
std::size_t write_encrypted_answer(const EncryptedAnswer& answer, const Encryption& encryption,
                                   const SecretKey& answer_key, std::span<std::byte> out) noexcept;
/// Returns nothing if the datagram is not exactly one such packet. Does not check the tag, because
/// its key depends on the content.
std::optional<EncryptedAnswer> read_encrypted_answer(std::span<const std::byte> datagram) noexcept;
/// Returns whether the tag of the answer is genuine.
bool is_authentic(std::span<const std::byte> encrypted_answer, const Encryption& encryption,
                  const SecretKey& answer_key) noexcept;

std::size_t write_encrypted_accept(const Accept& accept, const PacketSeal& seal,
                                   std::span<std::byte> out) noexcept;
/// Does not check the tag: its key depends on the connection id in the packet.
std::optional<Accept> read_encrypted_accept(std::span<const std::byte> datagram) noexcept;
/// Returns whether the tag of an encrypted_accept, path_challenge or path_answer is genuine.
bool is_authentic(std::span<const std::byte> handshake_packet, const PacketSeal& seal) noexcept;

std::size_t write(const PathChallenge& challenge, const PacketSeal& seal,
                  std::span<std::byte> out) noexcept;
std::size_t write(const PathAnswer& answer, const PacketSeal& seal,
                  std::span<std::byte> out) noexcept;
/// Return nothing if the datagram is not exactly one such packet. Do not check the tag.
std::optional<PathChallenge> read_path_challenge(std::span<const std::byte> datagram) noexcept;
std::optional<PathAnswer> read_path_answer(std::span<const std::byte> datagram) noexcept;

}  // namespace purview
