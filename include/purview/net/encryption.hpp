// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Encryption of packets, and the two ways to a key: connect tokens of the game's backend, and the
/// public key of a server. Part of purview::net (libsodium). Formats: PROTOCOL.md, "Encryption".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "purview/connection.hpp"
#include "purview/encryption.hpp"

namespace purview::net {

/// @addtogroup api_net
/// @{

/// Returns the functions for ServerDef::encryption and ClientDef::encryption: HMAC-SHA-256, cut to
/// 16 bytes, and ChaCha20-Poly1305 (RFC 8439). Aborts if the system has no random numbers.
Encryption encryption();

/// Returns a key as 64 hexadecimal digits.
std::string to_hex(const SecretKey& key);
/// Reads a key of 64 hexadecimal digits; nothing: it is not one.
std::optional<SecretKey> key_from_hex(std::string_view hex);

// -- connect tokens -------------------------------------------------------------------------------

/// What the game's backend writes into a connect token. The backend sends the token to the client
/// over HTTPS; the server needs no connection to the backend.
struct ConnectTokenDef {
    /// The game, or its version: a server accepts tokens with its own number only.
    std::uint64_t game_id = 0;
    std::uint64_t user_id = 0;         ///< JoinRequest::user_id
    std::vector<std::byte> user_data;  ///< JoinRequest::user_data; at most limits::user_data_bytes
    /// Servers for which the token is valid; empty: all servers with its key. At most
    /// connect_token_servers. Carrier and channel are ignored.
    std::vector<Address> servers;
    /// Time until which a client can connect, in seconds since 1970. Short: the client connects
    /// right after it got the token.
    std::uint64_t expires_s = 0;
};

/// Limit of ConnectTokenDef::servers.
inline constexpr std::size_t connect_token_servers = 32;

/// Makes a connect token, with a secret of its own, as base64url text of at most 2,100 characters.
/// `key` is known to the backend and to the game servers only. Returns nothing if a limit is
/// exceeded.
std::optional<std::string> make_connect_token(const ConnectTokenDef& def, const SecretKey& key);

/// What a client reads from its token.
struct ConnectToken {
    ConnectKey key;                ///< for ClientDef::key
    std::vector<Address> servers;  ///< as in ConnectTokenDef
    std::uint64_t expires_s = 0;   ///< as in ConnectTokenDef
};

/// Reads a token; nothing: the text is not one. A client cannot read or change user and user data.
std::optional<ConnectToken> read_connect_token(std::string_view text);

/// The configuration of a TokenReader.
struct TokenReaderDef {
    /// Keys of the backend: the current one, and older ones while their tokens are valid.
    std::vector<SecretKey> keys;
    std::uint64_t game_id = 0;  ///< ConnectTokenDef::game_id
    /// Addresses by which clients reach this server; empty: the list in tokens is not checked.
    std::vector<Address> servers;
    /// Returns the time in seconds since 1970; null: the clock of the system.
    std::uint64_t (*clock)() = nullptr;
    /// Used tokens that are kept until they expire. When it is reached, no further token is
    /// accepted, so it must exceed the joins within the lifetime of a token.
    std::size_t used_max = 1U << 20;
};

/// Accepts connect tokens, each once. One thread.
class TokenReader final : public KeyReader {
  public:
    /// Creates a reader that remembers no used token.
    explicit TokenReader(TokenReaderDef def);
    ~TokenReader() override;
    /// Returns the content of a token that is valid here and now. O(keys).
    std::optional<OpenedKey> open(std::span<const std::byte> request, const Address& from) override;
    /// Returns false if the token was used before, or if TokenReaderDef::used_max is reached.
    bool spend(const OpenedKey& key) override;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

// -- public key -----------------------------------------------------------------------------------

/// The key pair of a server (X25519).
struct KeyPair {
    SecretKey public_key{};   ///< part of the client's program, or sent to it over HTTPS
    SecretKey private_key{};  ///< known to the server only
};
/// Makes a new key pair.
KeyPair make_key_pair();
/// Returns the pair of a private key.
KeyPair key_pair_of(const SecretKey& private_key);

/// Makes a key for one connection to the server with this public key. Nothing: it is not a key.
std::optional<ConnectKey> make_key_request(const SecretKey& server_public_key);

/// Accepts any client that knows the server's public key. It does not know who the client is: use
/// JoinRequest::credential for that. One thread.
class PublicKeyReader final : public KeyReader {
  public:
    /// Creates a reader for clients that know `keys.public_key`.
    explicit PublicKeyReader(const KeyPair& keys) : keys_(keys) {}
    /// Returns the secret that the server shares with the client; nothing: it is not a public key.
    std::optional<OpenedKey> open(std::span<const std::byte> request, const Address& from) override;

  private:
    KeyPair keys_;
};

/// @}

}  // namespace purview::net
