// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 64-bit words in wire format: eight bytes, least significant first, without alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace purview {

inline constexpr std::size_t word_bytes = 8;

inline std::uint64_t load_word(const std::byte* from) noexcept {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&word, from, word_bytes);
    } else {
        for (unsigned i = 0; i < word_bytes; ++i) {
            word |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
        }
    }
    return word;
}

inline void store_word(std::byte* to, std::uint64_t word) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(to, &word, word_bytes);
    } else {
        for (unsigned i = 0; i < word_bytes; ++i) {
            to[i] = static_cast<std::byte>(word >> (8 * i));
        }
    }
}

}  // namespace purview
