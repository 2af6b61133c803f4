// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace purview::test {

/// Adds `more` to `sum`, member by member. All members must be 64-bit integers.
template <class Counts>
void add_counts(Counts& sum, const Counts& more) noexcept {
    static_assert(std::is_trivially_copyable_v<Counts>);
    using Numbers = std::array<std::uint64_t, sizeof(Counts) / sizeof(std::uint64_t)>;
    auto numbers = std::bit_cast<Numbers>(sum);
    const auto added = std::bit_cast<Numbers>(more);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += added[i];
    sum = std::bit_cast<Counts>(numbers);
}

}  // namespace purview::test
