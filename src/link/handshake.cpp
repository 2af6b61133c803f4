// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/handshake.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"
#include "core/mutate.hpp"
#include "link/address.hpp"
#include "link/messages.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"

namespace purview {

bool is_ipv4(const Address& address) noexcept {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(mapped.begin(), mapped.end(), address.host.begin());
}

bool is_same_host(const Address& left, const Address& right) noexcept {
    if (is_ipv4(left) != is_ipv4(right)) return false;
    const std::ptrdiff_t bytes = is_ipv4(left) ? 16 : 8;
    return std::equal(left.host.begin(), left.host.begin() + bytes, right.host.begin());
}

std::string_view to_string(RefuseReason reason) noexcept {
    switch (reason) {
        case RefuseReason::none:
            return "none";
        case RefuseReason::version:
            return "version";
        case RefuseReason::schema:
            return "schema";
        case RefuseReason::full:
            return "full";
        case RefuseReason::address_limit:
            return "address_limit";
        case RefuseReason::expired:
            return "expired";
        case RefuseReason::join:
            return "join";
        case RefuseReason::shutting_down:
            return "shutting_down";
        case RefuseReason::key:
            return "key";
    }
    return "unknown";
}

std::string_view to_string(CloseReason reason) noexcept {
    switch (reason) {
        case CloseReason::none:
            return "none";
        case CloseReason::left:
            return "left";
        case CloseReason::timeout:
            return "timeout";
        case CloseReason::malformed:
            return "malformed";
        case CloseReason::kicked:
            return "kicked";
        case CloseReason::shutting_down:
            return "shutting_down";
        case CloseReason::never_joined:
            return "never_joined";
    }
    return "unknown";
}

namespace {

/// The checksum of handshake packets must never change, so that a peer with another protocol
/// version receives a refusal.
std::uint32_t checksum_of(std::uint64_t seed, std::span<const std::byte> datagram) noexcept {
    const auto rest = datagram.subspan(seal_bytes);
    const bool is_data = datagram[0] == static_cast<std::byte>(PacketType::data);
    return static_cast<std::uint32_t>(is_data ? checksum_bytes(rest, seed)
                                              : hash_bytes(rest, seed));
}

}  // namespace

void seal(PacketType type, std::uint64_t seed, std::span<std::byte> datagram) noexcept {
    datagram[0] = static_cast<std::byte>(type);
    const std::uint32_t checksum = checksum_of(seed, datagram);
    for (unsigned i = 0; i < sizeof checksum; ++i)  // least significant byte first
        datagram[1 + i] = static_cast<std::byte>(checksum >> (8 * i));
}

std::uint64_t data_seed(std::uint64_t connection_id, std::uint32_t number) noexcept {
    const std::uint32_t round = PURVIEW_GUARD_OR(packet_round, number >> 16, 0U);
    return connection_id + round * 0x9E3779B97F4A7C15ULL;
}

bool is_sealed(std::uint64_t seed, std::span<const std::byte> datagram) noexcept {
    if (datagram.size() < seal_bytes) return false;
    const auto received =
        static_cast<std::uint32_t>(load_remaining(datagram.subspan(1, seal_bytes - 1)));
    return received == checksum_of(seed, datagram);
}

namespace {

constexpr unsigned refuse_reason_max = 8;
constexpr unsigned close_reason_max = 6;

/// Checks that the rest is zero padding up to the expected size.
bool is_padded(BitReader& in, std::size_t datagram_bytes, std::size_t expected) noexcept {
    if (datagram_bytes != expected) return false;
    while (in.ok() && in.bits_left() >= 8) {
        if (in.u8() != 0) return false;
    }
    return in.ok();
}

}  // namespace

BitWriter begin_handshake(std::span<std::byte> out) noexcept {
    BitWriter writer(out);
    writer.bits(0, seal_bytes * 8);  // seal() fills it in
    return writer;
}

std::size_t finish_handshake(BitWriter& writer, PacketType type, std::span<std::byte> out,
                             std::size_t padded_bytes) noexcept {
    while (writer.ok() && writer.bytes_written() < padded_bytes) writer.u8(0);
    if (!writer.ok()) return 0;
    seal(type, 0, out.first(writer.bytes_written()));
    return writer.bytes_written();
}

void write_cookie(const Cookie& cookie, BitWriter& out) noexcept {
    out.u32(cookie.seconds);
    out.bytes(cookie.mac);
}

Cookie read_cookie(BitReader& in) noexcept {
    Cookie cookie;
    cookie.seconds = in.u32();
    const auto bytes = in.bytes(cookie.mac.size());
    if (in.ok()) std::memcpy(cookie.mac.data(), bytes.data(), bytes.size());
    return cookie;
}

bool is_handshake(BitReader& in, std::span<const std::byte> datagram, PacketType type) noexcept {
    if (datagram.empty() || datagram[0] != static_cast<std::byte>(type)) return false;
    (void)in.bits(seal_bytes * 8);
    return is_sealed(0, datagram);
}

std::size_t write(const Hello& hello, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u32(protocol_magic);
    writer.u16(hello.version);
    writer.u64(hello.schema_hash);
    writer.u64(hello.nonce);
    return finish_handshake(writer, PacketType::hello, out, hello_bytes);
}

std::optional<Hello> read_hello(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    Hello hello;
    if (!is_handshake(in, datagram, PacketType::hello) || in.u32() != protocol_magic) return {};
    hello.version = in.u16();
    hello.schema_hash = in.u64();
    hello.nonce = in.u64();
    if (!is_padded(in, datagram.size(), hello_bytes)) return {};
    return hello;
}

std::size_t write(const Challenge& challenge, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(challenge.nonce);
    write_cookie(challenge.cookie, writer);
    return finish_handshake(writer, PacketType::challenge, out);
}

std::optional<Challenge> read_challenge(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    Challenge challenge;
    if (!is_handshake(in, datagram, PacketType::challenge)) return {};
    challenge.nonce = in.u64();
    challenge.cookie = read_cookie(in);
    if (!in.exhausted()) return {};
    return challenge;
}

std::size_t write(const Answer& answer, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(answer.schema_hash);
    writer.u64(answer.nonce);
    write_cookie(answer.cookie, writer);
    writer.u64(answer.connection_id);
    return finish_handshake(writer, PacketType::answer, out, hello_bytes);
}

std::optional<Answer> read_answer(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    Answer answer;
    if (!is_handshake(in, datagram, PacketType::answer)) return {};
    answer.schema_hash = in.u64();
    answer.nonce = in.u64();
    answer.cookie = read_cookie(in);
    answer.connection_id = in.u64();
    if (!is_padded(in, datagram.size(), hello_bytes)) return {};
    return answer;
}

std::size_t write(const Accept& accept, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(accept.nonce);
    writer.u64(accept.connection_id);
    return finish_handshake(writer, PacketType::accept, out);
}

std::optional<Accept> read_accept(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    Accept accept;
    if (!is_handshake(in, datagram, PacketType::accept)) return {};
    accept.nonce = in.u64();
    accept.connection_id = in.u64();
    if (!in.exhausted()) return {};
    return accept;
}

std::size_t write(const Refuse& refuse, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    writer.u64(refuse.nonce);
    writer.u8(static_cast<std::uint8_t>(refuse.reason));
    writer.u16(refuse.version);
    return finish_handshake(writer, PacketType::refuse, out);
}

std::optional<Refuse> read_refuse(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    Refuse refuse;
    if (!is_handshake(in, datagram, PacketType::refuse)) return {};
    refuse.nonce = in.u64();
    const auto reason = in.u8();
    refuse.reason = static_cast<RefuseReason>(reason);
    refuse.version = in.u16();
    if (!in.exhausted() || reason == 0 || reason > refuse_reason_max) return {};
    return refuse;
}

void write_close_body(const Close& close, BitWriter& out) noexcept {
    out.u64(close.connection_id);
    out.u8(static_cast<std::uint8_t>(close.reason));
    write_reason_text(close.text, out);
}

std::optional<Close> read_close_body(std::span<const std::byte> body) noexcept {
    BitReader in(body);
    Close close;
    close.connection_id = in.u64();
    const auto reason = in.u8();
    close.reason = static_cast<CloseReason>(reason);
    const auto text = read_reason_text(in);
    if (!text || !in.exhausted() || reason == 0 || reason > close_reason_max) return {};
    close.text = *text;
    return close;
}

std::size_t write(const Close& close, std::span<std::byte> out) noexcept {
    BitWriter writer = begin_handshake(out);
    write_close_body(close, writer);
    return finish_handshake(writer, PacketType::close, out);
}

std::optional<Close> read_close(std::span<const std::byte> datagram) noexcept {
    BitReader in(datagram);
    if (!is_handshake(in, datagram, PacketType::close)) return {};
    return read_close_body(datagram.subspan(seal_bytes));
}

// -- cookies ------------------------------------------------------------------------------------

CookieJar::CookieJar(std::span<const std::byte, 32> key, MacFunction mac) noexcept : mac_(mac) {
    std::memcpy(key_.data(), key.data(), key.size());
    const std::array<std::byte, 16> offset = mac_of("clock", {}, 0, 0);
    clock_offset_ = static_cast<std::uint32_t>(load_word(offset.data()));
}

std::array<std::byte, 16> CookieJar::mac_of(std::string_view purpose, const Address& from,
                                            std::uint64_t nonce,
                                            std::uint32_t seconds) const noexcept {
    std::array<std::byte, 64> data{};
    BitWriter out(data);
    out.bytes(std::as_bytes(std::span(purpose.data(), purpose.size())));
    out.u8(static_cast<std::uint8_t>(from.carrier));
    out.bytes(std::as_bytes(std::span(from.host)));
    out.u16(from.port);
    out.u32(from.channel);
    out.u64(nonce);
    out.u32(seconds);
    std::array<std::byte, 16> mac{};
    mac_(key_, out.written(), mac);
    return mac;
}

Cookie CookieJar::make(const Address& from, std::uint64_t nonce, Micros now) const noexcept {
    const std::uint32_t seconds = seconds_of(now);
    return {seconds, mac_of("cookie", from, nonce, seconds)};
}

bool CookieJar::is_genuine(const Cookie& cookie, const Address& from,
                           std::uint64_t nonce) const noexcept {
    const std::array<std::byte, 16> expected = mac_of("cookie", from, nonce, cookie.seconds);
    unsigned difference = 0;  // constant time: every byte is compared
    for (std::size_t i = 0; i < expected.size(); ++i) {
        difference |= std::to_integer<unsigned>(expected[i] ^ cookie.mac[i]);
    }
    return difference == 0;
}

bool CookieJar::is_fresh(const Cookie& cookie, Micros now) const noexcept {
    return seconds_of(now) - cookie.seconds <= lifetime_seconds;
}

std::uint64_t CookieJar::connection_id(const Address& from, std::uint64_t nonce) const noexcept {
    const std::array<std::byte, 16> mac = mac_of("connection", from, nonce, 0);
    std::uint64_t id = 0;
    std::memcpy(&id, mac.data(), sizeof id);
    return id == 0 || id == ~std::uint64_t{0} ? 1 : id;
}

void CookieJar::turn(Micros now) noexcept {
    const std::uint64_t seconds = now / 1'000'000;
    if (seconds <= turned_seconds_ + lifetime_seconds) return;  // also if time goes backward
    std::swap(spent_, spent_before_);
    spent_.clear();
    if (seconds > turned_seconds_ + 2 * lifetime_seconds) spent_before_.clear();
    turned_seconds_ = seconds;
}

void CookieJar::spend(std::uint64_t connection_id, Micros now) {
    turn(now);
    spent_[connection_id] = true;
}

bool CookieJar::is_spent(std::uint64_t connection_id, Micros now) noexcept {
    turn(now);
    return spent_.contains(connection_id) || spent_before_.contains(connection_id);
}

}  // namespace purview
