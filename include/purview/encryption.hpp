// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Encryption of packets. The library contains no cryptography: the program passes the functions
/// and the keys. purview::net has both, based on libsodium. PROTOCOL.md, "Encryption", specifies
/// every step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "purview/connection.hpp"

namespace purview {

/// @addtogroup api_common
/// @{

/// 32 secret bytes.
using SecretKey = std::array<std::byte, 32>;

/// The functions that protect packets: a keyed hash, and authenticated encryption with associated
/// data (AEAD). net::encryption has BLAKE2b and ChaCha20-Poly1305 (RFC 8439). Both sides must use
/// the same. All functions are pure; any thread.
struct Encryption {
    /// Encrypts `text` in place and writes the tag, which also authenticates `clear`. The library
    /// never passes a number twice with the same key.
    using Seal = void (*)(std::span<const std::byte, 32> key, std::uint64_t number,
                          std::span<const std::byte> clear, std::span<std::byte> text,
                          std::span<std::byte, 16> tag);
    /// Decrypts `text` into `out`, which has the same size. Returns false, and leaves `out`
    /// unspecified, if number, `clear`, `text` or tag differ from what was sealed.
    using Open = bool (*)(std::span<const std::byte, 32> key, std::uint64_t number,
                          std::span<const std::byte> clear, std::span<const std::byte> text,
                          std::span<const std::byte, 16> tag, std::span<std::byte> out);

    MacFunction mac = nullptr;  ///< derives keys, and authenticates the handshake
    Seal seal = nullptr;        ///< encrypts
    Open open = nullptr;        ///< decrypts

    /// Returns whether all functions are set.
    bool is_set() const noexcept { return mac != nullptr && seal != nullptr && open != nullptr; }
};

/// How a client gets the keys of an encrypted connection: a secret that it shares with the server,
/// and the bytes from which the server finds the same secret. One of:
///   - a connect token of the game's backend (net::read_connect_token);
///   - the server's public key (net::make_key_request), where there is no backend.
struct ConnectKey {
    std::vector<std::byte> request;  ///< 1 to limits::key_request_bytes; sent to the server
    SecretKey secret{};              ///< never sent

    /// Returns whether there is a request.
    bool is_set() const noexcept { return !request.empty(); }
};

/// What a server found in the key request of a client.
struct OpenedKey {
    SecretKey secret{};                ///< the secret that the client shares with this server
    std::uint64_t user_id = 0;         ///< JoinRequest::user_id
    std::vector<std::byte> user_data;  ///< JoinRequest::user_data
    std::uint64_t id = 0;              ///< of a token that is valid once; for KeyReader::spend
    std::uint64_t expires_s = 0;       ///< when the token expires, in seconds since 1970
};

/// Reads the key requests of clients. net::TokenReader reads connect tokens, and
/// net::PublicKeyReader those for a public key. Called on the thread of Server::receive.
class KeyReader {
  public:
    virtual ~KeyReader() = default;
    /// Returns what the request contains; nothing: it is not valid here and now. `request` is
    /// untrusted: at most limits::key_request_bytes, from an address that is proven. May be called
    /// several times with the same request.
    virtual std::optional<OpenedKey> open(std::span<const std::byte> request,
                                          const Address& from) = 0;
    /// Called once for each session, after its client has proven that it has the secret. Returns
    /// false if the key was used before and must not be used again.
    virtual bool spend(const OpenedKey& key) {
        (void)key;
        return true;
    }
};

/// @}

}  // namespace purview
