// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Grid functions for the sender of shared cell payloads.
#pragma once

#include <cstdint>

#include "purview/cells.hpp"

namespace purview {

/// Returns whether two cells of the grid are at most `rings` apart.
bool are_adjacent(const CellGrid& grid, std::uint32_t a, std::uint32_t b,
                  std::uint32_t rings = 1) noexcept;

}  // namespace purview
