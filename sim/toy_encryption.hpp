// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encryption for tests of the library alone: deterministic, detects every change, and is not
// secure.
#pragma once

#include <algorithm>

#include "core/hash.hpp"
#include "purview/encryption.hpp"
#include "small_game.hpp"

namespace purview::test {

inline std::uint64_t toy_seed(std::span<const std::byte, 32> key, std::uint64_t number) {
    return combine64(hash_bytes(key), number);
}

inline void toy_cipher(std::uint64_t seed, std::span<const std::byte> in,
                       std::span<std::byte> out) {
    for (std::size_t i = 0; i < in.size(); ++i)
        out[i] = in[i] ^ static_cast<std::byte>(mix64(seed + i / 8) >> (i % 8 * 8));
}

inline void toy_tag(std::uint64_t seed, std::span<const std::byte> clear,
                    std::span<const std::byte> text, std::span<std::byte, 16> tag) {
    const std::uint64_t first = combine64(hash_bytes(clear, seed), hash_bytes(text, seed));
    store_word(tag.data(), first);
    store_word(tag.data() + word_bytes, mix64(first));
}

inline Encryption toy_encryption() {
    Encryption toy;
    toy.mac = &test_mac;
    toy.seal = [](std::span<const std::byte, 32> key, std::uint64_t number,
                  std::span<const std::byte> clear, std::span<std::byte> text,
                  std::span<std::byte, 16> tag) {
        const std::uint64_t seed = toy_seed(key, number);
        toy_cipher(seed, text, text);
        toy_tag(seed, clear, text, tag);
    };
    toy.open = [](std::span<const std::byte, 32> key, std::uint64_t number,
                  std::span<const std::byte> clear, std::span<const std::byte> text,
                  std::span<const std::byte, 16> tag, std::span<std::byte> out) {
        const std::uint64_t seed = toy_seed(key, number);
        std::array<std::byte, 16> expected;
        toy_tag(seed, clear, text, expected);
        if (!std::equal(expected.begin(), expected.end(), tag.begin())) return false;
        toy_cipher(seed, text, out);
        return true;
    };
    return toy;
}

/// Accepts every key request of 32 bytes, which are the secret. Counts how often.
struct ToyKeyReader final : KeyReader {
    std::optional<OpenedKey> open(std::span<const std::byte> request, const Address&) override {
        OpenedKey key;
        if (request.size() != key.secret.size()) return {};
        std::copy(request.begin(), request.end(), key.secret.begin());
        ++opened;
        return key;
    }
    std::uint32_t opened = 0;
};

inline ConnectKey toy_key(std::uint8_t first) {
    ConnectKey key;
    key.secret[0] = std::byte{first};
    key.request.assign(key.secret.begin(), key.secret.end());
    return key;
}

}  // namespace purview::test
