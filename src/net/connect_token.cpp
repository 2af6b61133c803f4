// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Connect tokens, after the rules of netcode (mas-bandwidth/netcode, STANDARD.md): sealed by the
// backend, short-lived, for a list of servers, valid once. Only HMAC-SHA-256 and ChaCha20-Poly1305
// are used, which the standard libraries of most languages have.
//
//   token    "PVT1", u64 expires, secret, servers, u16 size, request
//   request  u64 expires, salt, sealed content, tag
//   content  u64 user, u64 id, secret, servers, u16 size, user data
//   servers  u8 count, count x (16 bytes of IPv6 or mapped IPv4, u16 port)
//
// The content is sealed with HMAC(key, label, salt) as its key, which is used for one token only,
// and number 0. The tag also authenticates label, game id and time.
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/limits.hpp"
#include "purview/net/encryption.hpp"

namespace purview::net {

namespace {

constexpr std::string_view magic = "PVT1", label = "purview connect token";
constexpr std::size_t salt_bytes = 16, tag_bytes = 16, key_bytes = 32;
constexpr std::size_t content_bytes_max =
    8 + 8 + key_bytes + 1 + connect_token_servers * 18 + 2 + limits::user_data_bytes;
constexpr std::size_t request_bytes_max = 8 + salt_bytes + content_bytes_max + tag_bytes;
static_assert(request_bytes_max <= limits::key_request_bytes);
constexpr std::size_t token_bytes_max =
    4 + 8 + key_bytes + 1 + connect_token_servers * 18 + 2 + request_bytes_max;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// Key of one token.
SecretKey token_key(const SecretKey& key, std::span<const std::byte> salt) {
    crypto_auth_hmacsha256_state state;
    const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
    crypto_auth_hmacsha256_init(&state, bytes, key.size());
    for (const auto part : {bytes_of(label), salt})
        crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                                      part.size());
    SecretKey out;
    crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(out.data()));
    return out;
}

std::array<std::byte, label.size() + 16> clear_of(std::uint64_t game_id, std::uint64_t expires_s) {
    std::array<std::byte, label.size() + 16> clear;
    BitWriter out(clear);
    out.bytes(bytes_of(label));
    out.u64(game_id);
    out.u64(expires_s);
    return clear;
}

void write_servers(std::span<const Address> servers, BitWriter& out) {
    out.u8(static_cast<std::uint8_t>(servers.size()));
    for (const Address& server : servers) {
        out.bytes(std::as_bytes(std::span(server.host)));
        out.u16(server.port);
    }
}

bool read_servers(BitReader& in, std::vector<Address>& servers) {
    const std::size_t count = in.u8();
    if (count > connect_token_servers) in.fail();
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        Address server;
        server.carrier = Address::Carrier::udp;
        const auto host = in.bytes(server.host.size());
        server.port = in.u16();
        if (!in.ok()) break;
        std::transform(host.begin(), host.end(), server.host.begin(),
                       [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
        servers.push_back(server);
    }
    return in.ok();
}

std::span<const std::byte> read_sized(BitReader& in, std::size_t max) {
    const std::size_t size = in.u16();
    if (size > max) in.fail();
    return in.ok() ? in.bytes(size) : std::span<const std::byte>();
}

bool read_key(BitReader& in, SecretKey& key) {
    const auto bytes = in.bytes(key.size());
    if (in.ok()) std::copy(bytes.begin(), bytes.end(), key.begin());
    return in.ok();
}

std::uint64_t system_seconds() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

bool is_same_server(const Address& left, const Address& right) {
    return left.host == right.host && left.port == right.port;
}

}  // namespace

std::optional<std::string> make_connect_token(const ConnectTokenDef& def, const SecretKey& key) {
    if (def.servers.size() > connect_token_servers ||
        def.user_data.size() > limits::user_data_bytes)
        return {};
    const Encryption functions = encryption();
    SecretKey secret;
    std::uint64_t id = 0;
    randombytes_buf(secret.data(), secret.size());
    randombytes_buf(&id, sizeof id);

    std::array<std::byte, request_bytes_max> request;
    BitWriter out(request);
    std::array<std::byte, salt_bytes> salt;
    randombytes_buf(salt.data(), salt.size());
    out.u64(def.expires_s);
    out.bytes(salt);
    const std::size_t content_at = out.bytes_written();
    out.u64(def.user_id);
    out.u64(id);
    out.bytes(secret);
    write_servers(def.servers, out);
    out.u16(static_cast<std::uint16_t>(def.user_data.size()));
    out.bytes(def.user_data);
    const std::size_t content_end = out.bytes_written();
    std::array<std::byte, tag_bytes> tag;
    functions.seal(token_key(key, salt), 0, clear_of(def.game_id, def.expires_s),
                   std::span(request).subspan(content_at, content_end - content_at), tag);
    out.bytes(tag);

    std::array<std::byte, token_bytes_max> token;
    BitWriter whole(token);
    whole.bytes(bytes_of(magic));
    whole.u64(def.expires_s);
    whole.bytes(secret);
    write_servers(def.servers, whole);
    whole.u16(static_cast<std::uint16_t>(out.bytes_written()));
    whole.bytes(out.written());
    if (!out.ok() || !whole.ok()) return {};

    constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    std::string text(sodium_base64_encoded_len(whole.bytes_written(), variant), '\0');
    sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(token.data()), whole.bytes_written(),
                      variant);
    text.pop_back();  // the terminating zero
    return text;
}

std::optional<ConnectToken> read_connect_token(std::string_view text) {
    std::array<std::byte, token_bytes_max> bytes;
    std::size_t size = 0;
    const char* end = nullptr;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                          text.size(), nullptr, &size, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        end != text.data() + text.size())
        return {};
    BitReader in(std::span<const std::byte>(bytes).first(size));
    const auto start = in.bytes(magic.size());
    if (!in.ok() || !std::equal(start.begin(), start.end(), bytes_of(magic).begin())) return {};
    ConnectToken token;
    token.expires_s = in.u64();
    if (!read_key(in, token.key.secret) || !read_servers(in, token.servers)) return {};
    const auto request = read_sized(in, request_bytes_max);
    if (!in.exhausted() || request.empty()) return {};
    token.key.request.assign(request.begin(), request.end());
    return token;
}

struct TokenReader::Data {
    /// Removes tokens that have expired, once a second at most and when the table has doubled.
    void purge() {
        const std::uint64_t time = now();
        if (used.size() < purge_at || time == purged_s) return;
        purged_s = time;
        std::erase_if(used, [&](const auto& token) { return token.second < time; });
        purge_at = std::min(def.used_max, std::max<std::size_t>(1024, 2 * used.size()));
    }
    std::uint64_t now() const { return def.clock != nullptr ? def.clock() : system_seconds(); }

    TokenReaderDef def;
    Encryption functions;
    std::unordered_map<std::uint64_t, std::uint64_t> used;  ///< token id to its time of expiry
    std::uint64_t purged_s = 0;
    std::size_t purge_at = 1024;
};

TokenReader::TokenReader(TokenReaderDef def) : data_(new Data{std::move(def), encryption(), {}}) {}
TokenReader::~TokenReader() = default;

std::optional<OpenedKey> TokenReader::open(std::span<const std::byte> request,
                                           const Address& from) {
    (void)from;
    BitReader in(request);
    const std::uint64_t expires_s = in.u64();
    const auto salt = in.bytes(salt_bytes);
    const std::size_t content_at = 8 + salt_bytes;
    if (!in.ok() || request.size() < content_at + tag_bytes || request.size() > request_bytes_max ||
        expires_s < data_->now())
        return {};
    const auto sealed = request.subspan(content_at, request.size() - content_at - tag_bytes);
    std::array<std::byte, content_bytes_max> content;
    const auto text = std::span(content).first(sealed.size());
    const auto tag = request.last<tag_bytes>();
    const auto clear = clear_of(data_->def.game_id, expires_s);
    const bool is_genuine =
        std::any_of(data_->def.keys.begin(), data_->def.keys.end(), [&](const SecretKey& key) {
            return data_->functions.open(token_key(key, salt), 0, clear, sealed, tag, text);
        });
    if (!is_genuine) return {};
    BitReader body(text);
    OpenedKey opened;
    opened.expires_s = expires_s;
    opened.user_id = body.u64();
    opened.id = body.u64();
    std::vector<Address> servers;
    if (!read_key(body, opened.secret) || !read_servers(body, servers)) return {};
    const auto user_data = read_sized(body, limits::user_data_bytes);
    if (!body.exhausted()) return {};
    opened.user_data.assign(user_data.begin(), user_data.end());
    const auto& own = data_->def.servers;
    if (!servers.empty() && !own.empty() &&
        std::find_first_of(servers.begin(), servers.end(), own.begin(), own.end(),
                           is_same_server) == servers.end())
        return {};
    return opened;
}

bool TokenReader::spend(const OpenedKey& key) {
    data_->purge();
    if (data_->used.size() >= data_->def.used_max) return false;
    return data_->used.emplace(key.id, key.expires_s).second;
}

}  // namespace purview::net
