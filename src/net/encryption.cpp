// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/net/encryption.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace purview::net {

namespace {

const unsigned char* bytes_of(const std::byte* data) {
    return reinterpret_cast<const unsigned char*>(data);
}
unsigned char* bytes_of(std::byte* data) {
    return reinterpret_cast<unsigned char*>(data);
}

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_IETF_NPUBBYTES>;

/// Four zeros, then the number, least significant byte first.
Nonce nonce_of(std::uint64_t number) {
    Nonce nonce{};
    for (unsigned i = 0; i < 8; ++i) nonce[4 + i] = static_cast<unsigned char>(number >> (8 * i));
    return nonce;
}

void seal(std::span<const std::byte, 32> key, std::uint64_t number,
          std::span<const std::byte> clear, std::span<std::byte> text,
          std::span<std::byte, 16> tag) {
    const Nonce nonce = nonce_of(number);
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        bytes_of(text.data()), bytes_of(tag.data()), nullptr, bytes_of(text.data()), text.size(),
        bytes_of(clear.data()), clear.size(), nullptr, nonce.data(), bytes_of(key.data()));
}

bool open(std::span<const std::byte, 32> key, std::uint64_t number,
          std::span<const std::byte> clear, std::span<const std::byte> text,
          std::span<const std::byte, 16> tag, std::span<std::byte> out) {
    const Nonce nonce = nonce_of(number);
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
               bytes_of(out.data()), nullptr, bytes_of(text.data()), text.size(),
               bytes_of(tag.data()), bytes_of(clear.data()), clear.size(), nonce.data(),
               bytes_of(key.data())) == 0;
}

void hmac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
          std::span<std::byte, 16> out) {
    std::array<unsigned char, crypto_auth_hmacsha256_BYTES> whole;
    crypto_auth_hmacsha256(whole.data(), bytes_of(data.data()), data.size(), bytes_of(key.data()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(whole[i]);
}

void need_sodium() {
    if (sodium_init() < 0) std::abort();  // no random source: nothing may start
}

/// HMAC-SHA-256 of several parts.
SecretKey hmac_of(const SecretKey& key, std::initializer_list<std::span<const std::byte>> parts) {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, bytes_of(key.data()), key.size());
    for (const auto part : parts)
        crypto_auth_hmacsha256_update(&state, bytes_of(part.data()), part.size());
    SecretKey out;
    crypto_auth_hmacsha256_final(&state, bytes_of(out.data()));
    return out;
}

/// The secret of a connection, from the shared point of both key pairs.
std::optional<SecretKey> secret_of(const SecretKey& own_private, const SecretKey& other_public,
                                   const SecretKey& client_public, const SecretKey& server_public) {
    SecretKey shared;
    if (crypto_scalarmult(bytes_of(shared.data()), bytes_of(own_private.data()),
                          bytes_of(other_public.data())) != 0)
        return {};  // the other key is a point of small order
    constexpr std::string_view label = "purview key exchange";
    return hmac_of(shared, {std::as_bytes(std::span(label)), client_public, server_public});
}

}  // namespace

Encryption encryption() {
    need_sodium();
    return {hmac, seal, open};
}

std::string to_hex(const SecretKey& key) {
    std::string hex(2 * key.size() + 1, '\0');
    sodium_bin2hex(hex.data(), hex.size(), bytes_of(key.data()), key.size());
    hex.pop_back();
    return hex;
}

std::optional<SecretKey> key_from_hex(std::string_view hex) {
    SecretKey key;
    std::size_t size = 0;
    if (hex.size() != 2 * key.size() ||
        sodium_hex2bin(bytes_of(key.data()), key.size(), hex.data(), hex.size(), nullptr, &size,
                       nullptr) != 0 ||
        size != key.size())
        return {};
    return key;
}

// -- public key -----------------------------------------------------------------------------------

KeyPair make_key_pair() {
    need_sodium();
    SecretKey private_key;
    randombytes_buf(private_key.data(), private_key.size());
    return key_pair_of(private_key);
}

KeyPair key_pair_of(const SecretKey& private_key) {
    KeyPair pair{{}, private_key};
    crypto_scalarmult_base(bytes_of(pair.public_key.data()), bytes_of(private_key.data()));
    return pair;
}

std::optional<ConnectKey> make_key_request(const SecretKey& server_public_key) {
    const KeyPair own = make_key_pair();
    const auto secret =
        secret_of(own.private_key, server_public_key, own.public_key, server_public_key);
    if (!secret) return {};
    return ConnectKey{{own.public_key.begin(), own.public_key.end()}, *secret};
}

std::optional<OpenedKey> PublicKeyReader::open(std::span<const std::byte> request,
                                               const Address& from) {
    (void)from;
    SecretKey client;
    if (request.size() != client.size()) return {};
    std::copy(request.begin(), request.end(), client.begin());
    const auto secret = secret_of(keys_.private_key, client, client, keys_.public_key);
    if (!secret) return {};
    OpenedKey key;
    key.secret = *secret;
    return key;
}

}  // namespace purview::net
