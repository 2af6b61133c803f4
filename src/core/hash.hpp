// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Mixing of 64-bit values: the splitmix64 finaliser (Steele, Lea, Flood 2014). Not cryptographic.
// The same mixing stands in PROTOCOL.md, where digests are defined.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/byte_order.hpp"

namespace purview {

constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
    z += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// Order matters: combine(a, b) != combine(b, a).
constexpr std::uint64_t combine64(std::uint64_t hash, std::uint64_t value) noexcept {
    return mix64(hash ^ mix64(value));
}

/// The bytes of the last word, filled with zeros: fewer than eight.
inline std::uint64_t load_rest(std::span<const std::byte> bytes) noexcept {
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (const std::byte byte : bytes) {
        word |= std::to_integer<std::uint64_t>(byte) << shift;
        shift += 8;
    }
    return word;
}

/// Hash of bytes, by words of eight with the length mixed in; the same on every machine.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept {
    std::uint64_t hash = combine64(seed, bytes.size());
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) hash = combine64(hash, load_word(&bytes[at]));
    return at == bytes.size() ? hash : combine64(hash, load_rest(bytes.subspan(at)));
}

/// What tells a damaged packet (PROTOCOL.md, "Every datagram"): a quarter of the words each go
/// through one of four chains, on which a processor works side by side. One wrong word always
/// changes its chain, and one chain the sum. With one product to a word, a few bits that a line of
/// hardware flips could undo each other. Against accidents, not against people.
inline std::uint64_t checksum_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
    constexpr std::size_t chains = 4;
    std::array<std::uint64_t, chains> chain;
    for (std::size_t i = 0; i < chains; ++i) chain[i] = mix64(seed + i);
    const auto take = [](std::uint64_t& its, std::uint64_t word) {
        its = std::rotl(its + word * 0x9E3779B97F4A7C15ULL, 31) * 0xBF58476D1CE4E5B9ULL;
    };
    std::size_t at = 0;
    for (; at + chains * word_bytes <= bytes.size(); at += chains * word_bytes) {
        for (std::size_t i = 0; i < chains; ++i)
            take(chain[i], load_word(&bytes[at + i * word_bytes]));
    }
    std::size_t i = 0;
    for (; at + word_bytes <= bytes.size(); at += word_bytes)
        take(chain[i++], load_word(&bytes[at]));
    if (at < bytes.size()) take(chain[i], load_rest(bytes.subspan(at)));
    std::uint64_t sum = bytes.size();
    for (const std::uint64_t its : chain) sum = mix64(sum ^ its);
    return sum;
}

/// A small sequence of pseudo-random numbers for games, tests and simulators: same seed, same
/// numbers.
class SplitMix {
  public:
    explicit constexpr SplitMix(std::uint64_t seed) noexcept : state_(seed) {}
    constexpr std::uint64_t next() noexcept { return mix64(state_ += 0x9E3779B97F4A7C15ULL); }
    /// 0 <= result < bound; bound > 0. Bias below 2^-32 for bounds below 2^32.
    constexpr std::uint32_t below(std::uint32_t bound) noexcept {
        return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
    }
    /// 0 <= result < 1, 24 bits.
    constexpr float unit() noexcept { return static_cast<float>(next() >> 40) * 0x1p-24F; }
    constexpr float between(float low, float high) noexcept { return low + (high - low) * unit(); }
    constexpr bool chance(float probability) noexcept { return unit() < probability; }

  private:
    std::uint64_t state_;
};

}  // namespace purview
