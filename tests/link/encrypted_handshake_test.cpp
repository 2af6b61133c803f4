// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/encrypted_handshake.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "toy_encryption.hpp"

namespace purview::test {

namespace {

using Bytes = std::vector<std::byte>;

Cookie some_cookie() {
    Cookie cookie{7, {}};
    for (std::size_t i = 0; i < cookie.mac.size(); ++i) cookie.mac[i] = static_cast<std::byte>(i);
    return cookie;
}

/// Checks that a packet is read and authentic, and is neither with any bit changed or any other
/// size.
void check_packet(const Bytes& packet,
                  const std::function<bool(std::span<const std::byte>)>& is_read) {
    REQUIRE(!packet.empty());
    CHECK(is_read(packet));
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
        Bytes changed = packet;
        changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        CHECK_FALSE(is_read(changed));
        // With a checksum that fits.
        seal(static_cast<PacketType>(changed[0]), 0, changed);
        if (changed != packet) CHECK_FALSE(is_read(changed));
    }
    for (std::size_t size = 0; size < packet.size(); ++size)
        CHECK_FALSE(is_read(std::span(packet).first(size)));
    Bytes longer = packet;
    longer.push_back({});
    seal(static_cast<PacketType>(longer[0]), 0, longer);
    CHECK_FALSE(is_read(longer));
}

}  // namespace

TEST_CASE("encrypted handshake: each packet is read as written, and not with a change") {
    const Encryption toy = toy_encryption();
    const SecretKey secret = toy_key(3).secret;
    constexpr std::uint64_t nonce = 11, id = 12;
    const SessionKeys keys = session_keys(toy, secret, nonce, id);
    const PacketSeal server(toy, keys, PacketSeal::Side::server, id);
    const PacketSeal client(toy, keys, PacketSeal::Side::client, id);
    Bytes out(limits::datagram_bytes);

    const Bytes request(33, std::byte{9});
    const SecretKey proof = answer_key(toy, secret, nonce);
    const Answer answer{5, nonce, some_cookie(), 0};
    const std::size_t size = write_encrypted_answer({answer, request}, toy, proof, out);
    check_packet(Bytes(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)),
                 [&](std::span<const std::byte> packet) {
                     const auto read = read_encrypted_answer(packet);
                     return read && is_authentic(packet, toy, proof) &&
                            read->answer.nonce == nonce && read->answer.schema_hash == 5 &&
                            Bytes(read->key_request.begin(), read->key_request.end()) == request;
                 });
    CHECK_FALSE(is_authentic(std::span(out).first(size), toy, answer_key(toy, secret, nonce + 1)));

    const auto written = [&](std::size_t bytes) {
        return Bytes(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes));
    };
    check_packet(written(write_encrypted_accept({nonce, id}, server, out)),
                 [&](std::span<const std::byte> packet) {
                     const auto read = read_encrypted_accept(packet);
                     return read && read->nonce == nonce && read->connection_id == id &&
                            is_authentic(packet, client) && !is_authentic(packet, server);
                 });
    check_packet(written(write(PathChallenge{some_cookie()}, server, out)),
                 [&](std::span<const std::byte> packet) {
                     const auto read = read_path_challenge(packet);
                     return read && read->cookie.mac == some_cookie().mac &&
                            packet.size() == path_challenge_bytes && is_authentic(packet, client);
                 });
    check_packet(written(write(PathAnswer{id, some_cookie()}, client, out)),
                 [&](std::span<const std::byte> packet) {
                     const auto read = read_path_answer(packet);
                     return read && read->connection_id == id &&
                            packet.size() == path_answer_bytes && is_authentic(packet, server);
                 });
}

TEST_CASE("encrypted handshake: the longest key request fits into a datagram") {
    Bytes out(limits::datagram_bytes);
    const Bytes request(limits::key_request_bytes, std::byte{1});
    const std::size_t size =
        write_encrypted_answer({{}, request}, toy_encryption(), SecretKey{}, out);
    CHECK(size > request.size());
    CHECK(read_encrypted_answer(std::span(out).first(size)));
}

}  // namespace purview::test
