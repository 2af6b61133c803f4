// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "purview/limits.hpp"
#include "purview/net/encryption.hpp"

namespace purview::test {

TEST_CASE("connect token: one with a changed bit is not accepted, and its text is checked") {
    const SecretKey key = net::make_key_pair().private_key;
    net::ConnectTokenDef def;
    def.game_id = 1;
    def.expires_s = 100;
    def.servers.resize(net::connect_token_servers);
    def.user_data.resize(limits::user_data_bytes);
    const auto text = net::make_connect_token(def, key);
    REQUIRE(text);
    CHECK(text->size() <= 2'100);
    const auto token = net::read_connect_token(*text);
    REQUIRE(token);
    net::TokenReaderDef reader_def;
    reader_def.keys = {key};
    reader_def.game_id = 1;
    reader_def.clock = [] { return std::uint64_t{50}; };
    net::TokenReader reader(reader_def);
    CHECK(reader.open(token->key.request, {}));
    for (std::size_t bit = 0; bit < token->key.request.size() * 8; ++bit) {
        std::vector<std::byte> changed = token->key.request;
        changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        CHECK_FALSE(reader.open(changed, {}));
    }
    for (std::size_t size = 0; size < token->key.request.size(); ++size)
        CHECK_FALSE(reader.open(std::span(token->key.request).first(size), {}));
    for (std::size_t size = 0; size < text->size(); ++size)
        CHECK_FALSE(net::read_connect_token(std::string_view(*text).substr(0, size)));
    CHECK_FALSE(net::read_connect_token(*text + "A"));
    def.user_data.push_back({});
    CHECK_FALSE(net::make_connect_token(def, key));
}

TEST_CASE("connect token: used tokens are forgotten when they have expired") {
    static std::uint64_t now_s = 0;
    now_s = 100;
    net::TokenReaderDef def;
    def.used_max = 2'000;
    def.clock = [] { return now_s; };
    net::TokenReader reader(def);
    const auto spend = [&](std::uint64_t id) {
        OpenedKey key;
        key.id = id;
        key.expires_s = now_s + 30;
        return reader.spend(key);
    };
    for (std::uint64_t id = 1; id <= 2'000; ++id) REQUIRE(spend(id));
    CHECK_FALSE(spend(1));
    CHECK_FALSE(spend(2'001));  // the table is full
    now_s += 31;
    CHECK(spend(2'001));
    CHECK(spend(1));
}

}  // namespace purview::test
