// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/encrypted_handshake.hpp"

#include <algorithm>
#include <cstring>

#include "core/mutate.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"

namespace purview {

namespace {

/// Calls `use` with the authenticated bytes of a packet: its type, then its body without the tag.
template <class Use>
auto with_authenticated(std::span<const std::byte> packet, Use use) noexcept {
    PURVIEW_ASSERT(packet.size() >= seal_bytes + tag_bytes &&
                   packet.size() <= limits::datagram_bytes);
    std::array<std::byte, limits::datagram_bytes> bytes;
    bytes[0] = packet[0];
    const auto body = packet.subspan(seal_bytes, packet.size() - seal_bytes - tag_bytes);
    std::copy(body.begin(), body.end(), bytes.begin() + 1);
    return use(std::span<const std::byte>(bytes).first(1 + body.size()));
}

/// Writes the tag into the last bytes of the packet, and then type and checksum.
template <class TagOf>
std::size_t finish_with_tag(BitWriter& writer, PacketType type, std::span<std::byte> out,
                            TagOf tag_of) noexcept {
    constexpr AuthTag none{};
    writer.bytes(none);
    if (!writer.ok()) return 0;
    const auto packet = out.first(writer.bytes_written());
    packet[0] = static_cast<std::byte>(type);
    const AuthTag tag = with_authenticated(packet, tag_of);
    std::copy(tag.begin(), tag.end(), packet.end() - tag_bytes);
    return finish_handshake(writer, type, out);
}

std::size_t finish_with_tag(BitWriter& writer, PacketType type, std::span<std::byte> out,
                            const PacketSeal& seal) noexcept {
    return finish_with_tag(writer, type, out, [&](std::span<const std::byte> bytes) {
        return seal.handshake_tag(bytes);
    });
}

/// Reads what a packet has before its tag. Returns false if the tag is not the exact rest.
bool skip_tag(BitReader& in) noexcept {
    (void)in.bytes(tag_bytes);
    return in.exhausted();
}

}  // namespace

std::size_t write_encrypted_answer(const EncryptedAnswer& answer, const Encryption& encryption,
                                   const SecretKey& answer_key, std::span<std::byte> out) noexcept {
    PURVIEW_ASSERT(!answer.key_request.empty() &&
                   answer.key_request.size() <= limits::key_request_bytes);
    BitWriter writer = begin_handshake(out);
    writer.u64(answer.answer.schema_hash);
    writer.u64(answer.answer.nonce);
    write_cookie(answer.answer.cookie, writer);
    writer.u16(static_cast<std::uint16_t>(answer.key_request.size()));
    writer.bytes(answer.key_request);
    return finish_with_tag(writer, PacketType::encrypted_answer, out,
                           [&](std::span<const std::byte> bytes) {
                               AuthTag tag;
                               encryption.mac(answer_key, bytes, tag);
                               return tag;
                           });
}

std::optional<EncryptedAnswer> read_encrypted_answer(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    if (!is_handshake(in, datagram, PacketType::encrypted_answer)) return {};
    EncryptedAnswer read;
    read.answer.schema_hash = in.u64();
    read.answer.nonce = in.u64();
    read.answer.cookie = read_cookie(in);
    const std::size_t size = in.u16();
    if (!in.ok() || size == 0 || size > limits::key_request_bytes) return {};
    read.key_request = in.bytes(size);
    if (!skip_tag(in)) return {};
    return read;
}

bool is_authentic(std::span<const std::byte> encrypted_answer, const Encryption& encryption,
                  const SecretKey& answer_key) noexcept {
    return with_authenticated(encrypted_answer, [&](std::span<const std::byte> bytes) {
        AuthTag tag;
        encryption.mac(answer_key, bytes, tag);
        return is_equal_tag(tag, encrypted_answer.last(tag_bytes));
    });
}

std::size_t write_encrypted_accept(const Accept& accept, const PacketSeal& seal,
                                   std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(accept.nonce);
    writer.u64(accept.connection_id);
    return finish_with_tag(writer, PacketType::encrypted_accept, out, seal);
}

std::optional<Accept> read_encrypted_accept(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    if (!is_handshake(in, datagram, PacketType::encrypted_accept)) return {};
    Accept accept;
    accept.nonce = in.u64();
    accept.connection_id = in.u64();
    if (!skip_tag(in) || accept.connection_id == 0) return {};
    return accept;
}

bool is_authentic(std::span<const std::byte> handshake_packet, const PacketSeal& seal) noexcept {
    return with_authenticated(handshake_packet, [&](std::span<const std::byte> bytes) {
        return seal.is_handshake_tag(bytes, handshake_packet.last(tag_bytes));
    });
}

std::size_t write(const PathChallenge& challenge, const PacketSeal& seal,
                  std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    write_cookie(challenge.cookie, writer);
    return finish_with_tag(writer, PacketType::path_challenge, out, seal);
}

std::optional<PathChallenge> read_path_challenge(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    if (!is_handshake(in, datagram, PacketType::path_challenge)) return {};
    PathChallenge challenge{read_cookie(in)};
    if (!skip_tag(in)) return {};
    return challenge;
}

std::size_t write(const PathAnswer& answer, const PacketSeal& seal,
                  std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(answer.connection_id);
    write_cookie(answer.cookie, writer);
    return finish_with_tag(writer, PacketType::path_answer, out, seal);
}

std::optional<PathAnswer> read_path_answer(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    if (!is_handshake(in, datagram, PacketType::path_answer)) return {};
    PathAnswer answer;
    answer.connection_id = in.u64();
    answer.cookie = read_cookie(in);
    if (!skip_tag(in)) return {};
    return answer;
}

}  // namespace purview
