// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/packet_seal.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "protocol/bit_writer.hpp"
#include "toy_encryption.hpp"

namespace purview::test {

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t connection = 77;

SessionKeys some_keys(std::uint64_t nonce = 1, std::uint64_t connection_id = connection) {
    return session_keys(toy_encryption(), toy_key(5).secret, nonce, connection_id);
}

Bytes packet_of(const PacketSeal& seal, std::uint32_t number, std::size_t clear) {
    Bytes bytes(200);
    BitWriter out(bytes);
    seal.begin(out);
    for (std::uint8_t i = 0; i < 40; ++i) out.u8(i);
    bytes.resize(out.bytes_written());
    seal.seal(number, clear, bytes);
    return bytes;
}

}  // namespace

TEST_CASE("packet seal: the other side reads a packet, and no other number, key or side does") {
    const PacketSeal plain(connection);
    const PacketSeal server(toy_encryption(), some_keys(), PacketSeal::Side::server, connection);
    const PacketSeal client(toy_encryption(), some_keys(), PacketSeal::Side::client, connection);
    Bytes scratch(limits::datagram_bytes);
    for (const auto& [from, to] :
         {std::pair(&plain, &plain), std::pair(&server, &client), std::pair(&client, &server)}) {
        const Bytes packet = packet_of(*from, 70'000, 10);
        const auto opened = to->open(70'000, 10, packet, scratch);
        REQUIRE(opened);
        for (std::uint8_t i = 0; i < 40; ++i)
            CHECK((*opened)[to->head_bytes() + i] == std::byte{i});
        CHECK_FALSE(to->open(70'000 + 65'536, 10, packet, scratch));
        CHECK_FALSE(PacketSeal().open(70'000, 10, packet, scratch));
        CHECK_FALSE(PacketSeal(connection + 1).open(70'000, 10, packet, scratch));
        for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
            Bytes changed = packet;
            changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            CHECK_FALSE(to->open(70'000, 10, changed, scratch));
        }
        for (std::size_t size = 0; size < packet.size(); ++size)
            CHECK_FALSE(to->open(70'000, 10, std::span(packet).first(size), scratch));
    }
    CHECK_FALSE(server.open(70'000, 10, packet_of(server, 70'000, 10), scratch));  // reflected
    CHECK_FALSE(client.open(70'000, 10, packet_of(plain, 70'000, 10), scratch));
    CHECK_FALSE(plain.open(70'000, 10, packet_of(client, 70'000, 10), scratch));
    CHECK(plain.head_bytes() == 5);
    CHECK(server.head_bytes() == 17);
}

TEST_CASE("packet seal: keys differ in every input") {
    const SessionKeys keys = some_keys();
    for (const SessionKeys& other : {some_keys(2), some_keys(1, connection + 1)}) {
        CHECK(keys.packets_to_client != other.packets_to_client);
        CHECK(keys.packets_to_server != other.packets_to_server);
        CHECK(keys.handshake_to_client != other.handshake_to_client);
        CHECK(keys.handshake_to_server != other.handshake_to_server);
    }
    CHECK(keys.packets_to_client != keys.packets_to_server);
    CHECK(keys.handshake_to_client != keys.handshake_to_server);
    CHECK(keys.packets_to_client != keys.handshake_to_client);
    const Encryption toy = toy_encryption();
    CHECK(answer_key(toy, toy_key(5).secret, 1) != answer_key(toy, toy_key(6).secret, 1));
    CHECK(answer_key(toy, toy_key(5).secret, 1) != answer_key(toy, toy_key(5).secret, 2));
}

TEST_CASE("packet seal: a close packet of the other side is read, and no other one") {
    const PacketSeal server(toy_encryption(), some_keys(), PacketSeal::Side::server, connection);
    const PacketSeal client(toy_encryption(), some_keys(), PacketSeal::Side::client, connection);
    Bytes scratch(limits::datagram_bytes);
    Bytes close(close_bytes_max);
    close.resize(server.write_close(CloseReason::kicked, std::string(120, 'a'), close));
    CHECK(close.size() == close_bytes_max);
    const auto read = client.read_close(close, scratch);
    REQUIRE(read);
    CHECK(read->reason == CloseReason::kicked);
    CHECK(read->connection_id == connection);
    CHECK(read->text == std::string(120, 'a'));
    CHECK_FALSE(server.read_close(close, scratch));
    for (std::size_t bit = 0; bit < close.size() * 8; ++bit) {
        Bytes changed = close;
        changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        CHECK_FALSE(client.read_close(changed, scratch));
    }
}

}  // namespace purview::test
