// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Gathers 64 bits from arbitrary positions of a bit row, with the widest vectors of the CPU.
#pragma once

#include <cstdint>
#include <span>

namespace purview {

/// Returns 64 bits: bit i is bit indices[i] of the row. Every index must be below 64 * row.size().
std::uint64_t gather_bits(std::span<const std::uint64_t> row,
                          std::span<const std::uint32_t, 64> indices) noexcept;

}  // namespace purview
