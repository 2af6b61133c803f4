// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sixty-four bits from anywhere in a row of bits, on the widest vectors of the machine it runs on.
#pragma once

#include <cstdint>
#include <span>

namespace purview {

/// Bit i: whether bit indices[i] of the row is set. Every index is below 64 * row.size().
std::uint64_t gather_bits(std::span<const std::uint64_t> row,
                          std::span<const std::uint32_t, 64> indices) noexcept;

}  // namespace purview
