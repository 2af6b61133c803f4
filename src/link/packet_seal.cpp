// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/packet_seal.hpp"

#include <algorithm>
#include <cstring>

#include "core/mutate.hpp"
#include "protocol/bit_writer.hpp"

namespace purview {

namespace {

/// BLAKE2b with 16 bytes of output, called twice: 32 bytes.
SecretKey derive(const Encryption& encryption, const SecretKey& secret, std::string_view label,
                 std::uint64_t nonce, std::uint64_t connection_id) noexcept {
    SecretKey key{};
    for (std::size_t half = 0; half < 2; ++half) {
        std::array<std::byte, 64> data{};
        BitWriter out(data);
        out.bytes(std::as_bytes(std::span(label.data(), label.size())));
        out.u64(nonce);
        out.u64(connection_id);
        out.u8(static_cast<std::uint8_t>(half));
        PURVIEW_ASSERT(out.ok());
        encryption.mac(secret, out.written(),
                       std::span(key).subspan(half * tag_bytes).first<tag_bytes>());
    }
    return key;
}

}  // namespace

bool is_equal_tag(std::span<const std::byte> left, std::span<const std::byte> right) noexcept {
    if (left.size() != right.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
        difference |= std::to_integer<unsigned>(left[i] ^ right[i]);
    return difference == 0;
}

SecretKey answer_key(const Encryption& encryption, const SecretKey& secret,
                     std::uint64_t nonce) noexcept {
    return derive(encryption, secret, "purview answer", nonce, 0);
}

SessionKeys session_keys(const Encryption& encryption, const SecretKey& secret, std::uint64_t nonce,
                         std::uint64_t connection_id) noexcept {
    PURVIEW_ASSERT(connection_id != 0);
    const auto key = [&](std::string_view label) {
        return derive(encryption, secret, label, nonce, connection_id);
    };
    return {key("purview packets to server"), key("purview packets to client"),
            key("purview handshake to server"), key("purview handshake to client")};
}

PacketSeal::PacketSeal(const Encryption& encryption, const SessionKeys& keys, Side side,
                       std::uint64_t connection_id) noexcept
    : connection_id_(connection_id), encryption_(encryption) {
    PURVIEW_ASSERT(encryption.is_set() && connection_id != 0);
    const bool is_server = side == Side::server;
    seal_key_ = is_server ? keys.packets_to_client : keys.packets_to_server;
    open_key_ = is_server ? keys.packets_to_server : keys.packets_to_client;
    handshake_seal_key_ = is_server ? keys.handshake_to_client : keys.handshake_to_server;
    handshake_open_key_ = is_server ? keys.handshake_to_server : keys.handshake_to_client;
}

void PacketSeal::encrypt(PacketType type, std::uint64_t number, std::size_t clear,
                         std::span<std::byte> packet) const noexcept {
    PURVIEW_ASSERT(packet.size() >= head_bytes() + clear);
    packet[0] = static_cast<std::byte>(type);
    encryption_.seal(seal_key_, number, packet.subspan(head_bytes(), clear),
                     packet.subspan(head_bytes() + clear), packet.subspan(1).first<tag_bytes>());
}

std::optional<std::span<const std::byte>> PacketSeal::decrypt(
    std::uint64_t number, std::size_t clear, std::span<const std::byte> packet,
    std::span<std::byte> scratch) const noexcept {
    const std::size_t begin = head_bytes() + clear;
    if (packet.size() < begin) return {};
    PURVIEW_ASSERT(scratch.size() >= packet.size());
    const std::span<std::byte> out = scratch.first(packet.size());
    const bool is_genuine = encryption_.open(
        open_key_, number, packet.subspan(head_bytes(), clear), packet.subspan(begin),
        packet.subspan(1).first<tag_bytes>(), out.subspan(begin));
    if (!PURVIEW_GUARD(aead_tag, is_genuine)) return {};
    std::copy_n(packet.begin(), begin, out.begin());
    return out;
}

void PacketSeal::begin(BitWriter& out) const noexcept {
    constexpr std::array<std::byte, 1 + tag_bytes> head{};
    out.bytes(std::span(head).first(head_bytes()));
}

void PacketSeal::seal(std::uint32_t number, std::size_t clear,
                      std::span<std::byte> packet) const noexcept {
    PURVIEW_ASSERT(number != 0 && connection_id_ != 0);
    if (is_encrypted())
        return encrypt(PacketType::encrypted_data, aead_number(Use::data, number), clear, packet);
    purview::seal(PacketType::data, data_seed(connection_id_, number), packet);
}

std::optional<std::span<const std::byte>> PacketSeal::open(
    std::uint32_t number, std::size_t clear, std::span<const std::byte> packet,
    std::span<std::byte> scratch) const noexcept {
    if (connection_id_ == 0 || packet.empty() || packet[0] != static_cast<std::byte>(data_type()))
        return {};
    if (is_encrypted()) return decrypt(aead_number(Use::data, number), clear, packet, scratch);
    if (!PURVIEW_GUARD(seal, is_sealed(data_seed(connection_id_, number), packet))) return {};
    return packet;
}

std::size_t PacketSeal::write_close(CloseReason reason, std::string_view text,
                                    std::span<std::byte> out) const noexcept {
    PURVIEW_ASSERT(connection_id_ != 0);
    const Close close{connection_id_, reason, text};
    if (!is_encrypted()) return write(close, out);
    BitWriter writer(out);
    begin(writer);
    write_close_body(close, writer);
    if (!writer.ok()) return 0;
    encrypt(PacketType::encrypted_close, aead_number(Use::close, 0), sizeof connection_id_,
            out.first(writer.bytes_written()));
    return writer.bytes_written();
}

std::optional<Close> PacketSeal::read_close(std::span<const std::byte> datagram,
                                            std::span<std::byte> scratch) const noexcept {
    if (!is_encrypted()) return purview::read_close(datagram);
    if (datagram.empty() || datagram[0] != static_cast<std::byte>(PacketType::encrypted_close))
        return {};
    const auto packet =
        decrypt(aead_number(Use::close, 0), sizeof connection_id_, datagram, scratch);
    if (!packet) return {};
    return read_close_body(packet->subspan(head_bytes()));
}

AuthTag PacketSeal::handshake_tag(std::span<const std::byte> bytes) const noexcept {
    PURVIEW_ASSERT(is_encrypted());
    AuthTag tag;
    encryption_.mac(handshake_seal_key_, bytes, tag);
    return tag;
}

bool PacketSeal::is_handshake_tag(std::span<const std::byte> bytes,
                                  std::span<const std::byte> tag) const noexcept {
    PURVIEW_ASSERT(is_encrypted());
    AuthTag expected;
    encryption_.mac(handshake_open_key_, bytes, expected);
    return is_equal_tag(expected, tag);
}

}  // namespace purview
