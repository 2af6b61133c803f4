// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Keys, tags, packets and tokens equal those of tools/conformance/encryption.json, which another
// program wrote from PROTOCOL.md (tests/conformance/encryption_test.py).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "link/encrypted_handshake.hpp"
#include "purview/net/encryption.hpp"

namespace purview::test {

namespace {

using Bytes = std::vector<std::byte>;

struct Vectors {
    Vectors() {
        std::ifstream in(PURVIEW_SOURCE_DIR "/tools/conformance/encryption.json");
        REQUIRE(in);
        in >> json;
    }
    std::string text(const char* name) const { return json.at(name).get<std::string>(); }
    Bytes bytes(const char* name) const {
        const std::string hex = text(name);
        Bytes out;
        for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
            out.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
        return out;
    }
    SecretKey key(const char* name) const {
        const auto key = net::key_from_hex(text(name));
        REQUIRE(key);
        return *key;
    }
    std::uint64_t number(const char* name) const { return std::stoull(text(name), nullptr, 16); }
    nlohmann::json json;
};

Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("encryption: keys, tags and packets equal the vectors of the protocol") {
    const Vectors vectors;
    const Encryption functions = net::encryption();
    const std::uint64_t nonce = vectors.number("nonce"), id = vectors.number("connection_id");
    const SecretKey secret = vectors.key("secret");
    CHECK(answer_key(functions, secret, nonce) == vectors.key("answer_key"));
    const SessionKeys keys = session_keys(functions, secret, nonce, id);
    CHECK(keys.handshake_to_server == vectors.key("handshake_to_server"));
    CHECK(keys.handshake_to_client == vectors.key("handshake_to_client"));
    CHECK(keys.packets_to_server == vectors.key("packets_to_server"));
    CHECK(keys.packets_to_client == vectors.key("packets_to_client"));

    const PacketSeal server(functions, keys, PacketSeal::Side::server, id);
    const PacketSeal client(functions, keys, PacketSeal::Side::client, id);
    Bytes accept(100);
    accept.resize(write_encrypted_accept({nonce, id}, server, accept));
    CHECK(Bytes(accept.end() - 16, accept.end()) == vectors.bytes("accept_tag"));
    CHECK(is_authentic(accept, client));
    CHECK_FALSE(is_authentic(accept, server));

    const auto packet = [&](const PacketSeal& seal, std::uint32_t number, bool has_id,
                            std::string_view text) {
        Bytes bytes(17);
        for (unsigned i = 0; has_id && i < 8; ++i)
            bytes.push_back(static_cast<std::byte>(id >> (8 * i)));
        bytes.push_back(static_cast<std::byte>(number));
        bytes.push_back(static_cast<std::byte>(number >> 8));
        const Bytes content = bytes_of(text);
        bytes.insert(bytes.end(), content.begin(), content.end());
        seal.seal(number, has_id ? clear_bytes_to_server : clear_bytes_to_client, bytes);
        return bytes;
    };
    const Bytes to_server = packet(client, 70'000, true, "to the server");
    CHECK(to_server == vectors.bytes("data_to_server"));
    CHECK(packet(server, 3, false, "to the client") == vectors.bytes("data_to_client"));
    Bytes scratch(limits::datagram_bytes);
    const auto opened = server.open(70'000, clear_bytes_to_server, to_server, scratch);
    REQUIRE(opened);
    CHECK(Bytes(opened->begin() + 27, opened->end()) == bytes_of("to the server"));
    CHECK_FALSE(server.open(70'001, clear_bytes_to_server, to_server, scratch));
    CHECK_FALSE(client.open(70'000, clear_bytes_to_server, to_server, scratch));

    Bytes close(close_bytes_max);
    close.resize(server.write_close(CloseReason::kicked, "out", close));
    CHECK(close == vectors.bytes("close_to_client"));
    const auto read = client.read_close(close, scratch);
    REQUIRE(read);
    CHECK(read->reason == CloseReason::kicked);
    CHECK(read->text == "out");
}

TEST_CASE("encryption: a server reads the key requests of the vectors of the protocol") {
    const Vectors vectors;
    net::TokenReaderDef def;
    def.keys = {SecretKey{}, vectors.key("backend_key")};  // the second is the right one
    def.game_id = 7;
    def.clock = [] { return std::uint64_t{1'999'999'999}; };
    net::TokenReader reader(def);
    const auto token = net::read_connect_token(vectors.text("token"));
    REQUIRE(token);
    CHECK(token->key.request == vectors.bytes("token_request"));
    CHECK(token->key.secret == vectors.key("secret"));
    CHECK(token->expires_s == 2'000'000'000);
    REQUIRE(token->servers.size() == 1);
    CHECK(token->servers[0].port == 7777);
    const auto opened = reader.open(token->key.request, {});
    REQUIRE(opened);
    CHECK(opened->secret == vectors.key("secret"));
    CHECK(opened->user_id == 4711);
    CHECK(opened->id == 99);
    CHECK(opened->user_data == bytes_of("vip"));
    CHECK(reader.spend(*opened));
    CHECK_FALSE(reader.spend(*opened));

    const net::KeyPair server = net::key_pair_of(vectors.key("server_private"));
    CHECK(server.public_key == vectors.key("server_public"));
    net::PublicKeyReader public_reader(server);
    const auto exchanged = public_reader.open(vectors.bytes("client_public"), {});
    REQUIRE(exchanged);
    CHECK(exchanged->secret == vectors.key("exchanged_secret"));
    const auto own = net::make_key_request(server.public_key);
    REQUIRE(own);
    const auto same = public_reader.open(own->request, {});
    REQUIRE(same);
    CHECK(same->secret == own->secret);
    CHECK_FALSE(public_reader.open(Bytes(32), {}));  // a point of small order
    CHECK_FALSE(public_reader.open(Bytes(31), {}));
}

}  // namespace purview::test
