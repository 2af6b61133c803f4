// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace purview::test {

namespace {

/// The checksum exactly as PROTOCOL.md, "Bits and bytes", defines it.
std::uint64_t sum_of(const std::vector<std::byte>& bytes, std::uint64_t seed) {
    std::uint64_t chain[4];
    for (unsigned i = 0; i < 4; ++i) chain[i] = mix64(seed + i);
    for (std::size_t j = 0; j * 8 < bytes.size(); ++j) {
        std::uint64_t group = 0;
        for (std::size_t b = 0; b < 8 && j * 8 + b < bytes.size(); ++b)
            group |= std::to_integer<std::uint64_t>(bytes[j * 8 + b]) << (8 * b);
        std::uint64_t& c = chain[j % 4];
        c += group * 0x9E3779B97F4A7C15;
        c = (c << 31 | c >> 33) * 0xBF58476D1CE4E5B9;
    }
    std::uint64_t sum = bytes.size();
    for (const std::uint64_t its : chain) sum = mix64(sum ^ its);
    return sum;
}

}  // namespace

TEST_CASE("hash: the packet checksum follows PROTOCOL.md and detects flips, swaps and cuts") {
    SplitMix random(17);
    std::size_t same = 0, tried = 0;
    for (std::size_t size = 0; size < 200; ++size) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
        const std::uint64_t seed = random.next();
        const std::uint64_t sum = checksum_bytes(bytes, seed);
        REQUIRE(sum == sum_of(bytes, seed));
        const auto differs = [&](const std::vector<std::byte>& damaged, std::uint64_t its_seed) {
            ++tried;
            const auto theirs = static_cast<std::uint32_t>(checksum_bytes(damaged, its_seed));
            same += theirs == static_cast<std::uint32_t>(sum) ? 1 : 0;
        };
        differs(bytes, seed + 1);
        auto damaged = bytes;
        for (std::size_t bit = 0; bit < size * 8; ++bit) {
            damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            differs(damaged, seed);
            damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        }
        for (std::size_t at = 0; at + 16 <= size; at += 8) {
            const auto begin = damaged.begin() + static_cast<std::ptrdiff_t>(at);
            std::swap_ranges(begin, begin + 8, begin + 8);
            differs(damaged, seed);
            std::swap_ranges(begin, begin + 8, begin + 8);
            if (at + 40 > size) continue;
            std::swap_ranges(begin, begin + 8, begin + 32);  // within one chain
            differs(damaged, seed);
            std::swap_ranges(begin, begin + 8, begin + 32);
        }
        damaged.push_back(std::byte{0});
        differs(damaged, seed);
        if (size > 0) {
            damaged.resize(size - 1);
            differs(damaged, seed);
        }
    }
    // Each pair collides with a chance of 1 in 4 billion, so none may collide here.
    CHECK(same == 0);
    CHECK(tried > 150'000);
}

TEST_CASE("hash: the packet checksum detects two flips, and three at one word position") {
    SplitMix random(18);
    std::size_t same = 0;
    for (const std::size_t size : {32UL, 75UL, 96UL}) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
        const std::uint64_t sum = checksum_bytes(bytes, 5);  // all 64 bits: no collision allowed
        const auto flip = [&](std::size_t bit) {
            bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        };
        for (std::size_t a = 0; a < size * 8; ++a) {
            flip(a);
            for (std::size_t b = a + 1; b < size * 8; ++b) {
                flip(b);
                same += checksum_bytes(bytes, 5) == sum ? 1 : 0;
                for (std::size_t c = b + 32; c < size * 8 && a % 8 == b % 8; c += 32) {
                    flip(c);
                    same += checksum_bytes(bytes, 5) == sum ? 1 : 0;
                    flip(c);
                }
                flip(b);
            }
            flip(a);
        }
    }
    CHECK(same == 0);
}

}  // namespace purview::test
