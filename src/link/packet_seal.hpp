// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Protects the packets of one connection. Two forms:
//   plain      a checksum of 4 bytes, seeded with the connection id. Detects damage and packets of
//              other connections, not attackers.
//   encrypted  an AEAD tag of 16 bytes. A key for each direction; the nonce is the full packet
//              number, which is never used twice. Connection id and the low bits of the number stay
//              in clear and are authenticated.
//
// All keys of a connection are derived from the secret that both sides share, the nonce of the
// client and the connection id. The id is a keyed hash with the secret of the server's process, so
// a restarted server has other keys for the same token.
//
// Must not know: sessions, the content of packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "link/handshake.hpp"
#include "purview/encryption.hpp"

namespace purview {

inline constexpr std::size_t tag_bytes = 16;
/// Bytes behind the head that are not encrypted: the low bits of the number, and in packets to the
/// server the connection id before them.
inline constexpr std::size_t clear_bytes_to_client = 2, clear_bytes_to_server = 10;

/// Bytes of a tag, from a keyed hash.
using AuthTag = std::array<std::byte, tag_bytes>;

/// Compares in a time that does not depend on the content.
bool is_equal_tag(std::span<const std::byte> left, std::span<const std::byte> right) noexcept;

/// Keys of an encrypted connection. Both sides derive the same.
struct SessionKeys {
    SecretKey packets_to_server{}, packets_to_client{};
    SecretKey handshake_to_server{}, handshake_to_client{};
};

/// Key of the tag with which an answer proves that the client has the secret. The connection id is
/// not known yet.
SecretKey answer_key(const Encryption& encryption, const SecretKey& secret,
                     std::uint64_t nonce) noexcept;
SessionKeys session_keys(const Encryption& encryption, const SecretKey& secret, std::uint64_t nonce,
                         std::uint64_t connection_id) noexcept;

class PacketSeal {
  public:
    enum class Side : std::uint8_t { server, client };

    /// Without a connection. Opens nothing.
    PacketSeal() = default;
    /// Plain.
    explicit PacketSeal(std::uint64_t connection_id) noexcept : connection_id_(connection_id) {}
    /// Encrypted. `encryption` is set.
    PacketSeal(const Encryption& encryption, const SessionKeys& keys, Side side,
               std::uint64_t connection_id) noexcept;

    bool is_encrypted() const noexcept { return encryption_.seal != nullptr; }
    /// Type and checksum, or type and tag: what precedes the rest of a packet.
    std::size_t head_bytes() const noexcept { return is_encrypted() ? 1 + tag_bytes : seal_bytes; }
    PacketType data_type() const noexcept {
        return is_encrypted() ? PacketType::encrypted_data : PacketType::data;
    }

    /// Leaves room for the head of a packet.
    void begin(BitWriter& out) const noexcept;
    /// Completes a packet. Its first head_bytes() are free. The next `clear` bytes are not
    /// encrypted.
    void seal(std::uint32_t number, std::size_t clear, std::span<std::byte> packet) const noexcept;
    /// Checks a packet. Returns it with its content in clear, from head_bytes() on: `packet` itself
    /// or a part of `scratch`, which has at least its size. Returns nothing if it is damaged,
    /// forged, or not the packet with this number.
    std::optional<std::span<const std::byte>> open(std::uint32_t number, std::size_t clear,
                                                   std::span<const std::byte> packet,
                                                   std::span<std::byte> scratch) const noexcept;

    /// Writes the close packet of this side and returns its size. Call it with one content only:
    /// its number is always the same.
    std::size_t write_close(CloseReason reason, std::string_view text,
                            std::span<std::byte> out) const noexcept;
    /// Reads a close packet of the other side. Its text is in `scratch` or in the datagram.
    std::optional<Close> read_close(std::span<const std::byte> datagram,
                                    std::span<std::byte> scratch) const noexcept;

    /// Tag of a handshake packet of this side, and the check of one of the other side. Encrypted
    /// connections only.
    AuthTag handshake_tag(std::span<const std::byte> bytes) const noexcept;
    bool is_handshake_tag(std::span<const std::byte> bytes,
                          std::span<const std::byte> tag) const noexcept;

  private:
    /// What a number of the AEAD is used for. Each has its own numbers.
    enum class Use : std::uint8_t { data = 0, close = 1 };
    static std::uint64_t aead_number(Use use, std::uint32_t number) noexcept {
        return std::uint64_t{static_cast<std::uint8_t>(use)} << 56 | number;
    }
    void encrypt(PacketType type, std::uint64_t number, std::size_t clear,
                 std::span<std::byte> packet) const noexcept;
    std::optional<std::span<const std::byte>> decrypt(std::uint64_t number, std::size_t clear,
                                                      std::span<const std::byte> packet,
                                                      std::span<std::byte> scratch) const noexcept;

    std::uint64_t connection_id_ = 0;
    Encryption encryption_;  ///< not set: plain
    SecretKey seal_key_{}, open_key_{};
    SecretKey handshake_seal_key_{}, handshake_open_key_{};
};

}  // namespace purview
