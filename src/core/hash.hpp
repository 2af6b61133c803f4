// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Mixing of 64-bit values: the splitmix64 finalizer (Steele, Lea, Flood 2014). Not cryptographic.
// PROTOCOL.md specifies the same function for digests.
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

/// Mixes a value into a hash. The order of calls matters.
constexpr std::uint64_t combine64(std::uint64_t hash, std::uint64_t value) noexcept {
    return mix64(hash ^ mix64(value));
}

/// Loads the last word of a byte sequence: fewer than eight bytes, padded with zeros.
inline std::uint64_t load_remaining(std::span<const std::byte> bytes) noexcept {
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (const std::byte byte : bytes) {
        word |= std::to_integer<std::uint64_t>(byte) << shift;
        shift += 8;
    }
    return word;
}

/// Hashes bytes in words of eight, with the length mixed in. The result is the same on every
/// machine.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept {
    std::uint64_t hash = combine64(seed, bytes.size());
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) hash = combine64(hash, load_word(&bytes[at]));
    return at == bytes.size() ? hash : combine64(hash, load_remaining(bytes.subspan(at)));
}

/// Checksum that detects damaged packets (PROTOCOL.md, "Every datagram"). The words are distributed
/// over four independent chains, which a processor computes in parallel. A single wrong word always
/// changes its chain, and a single wrong chain always changes the sum. Each word passes two
/// products: with one, a few bits that faulty hardware flips could cancel each other. Protects
/// against accidents, not against attackers.
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
    if (at < bytes.size()) take(chain[i], load_remaining(bytes.subspan(at)));
    std::uint64_t sum = bytes.size();
    for (const std::uint64_t its : chain) sum = mix64(sum ^ its);
    return sum;
}

/// A small sequence of pseudo-random numbers for games, tests and simulators. The same seed gives
/// the same numbers.
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
