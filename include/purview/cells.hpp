// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// A grid of numbered cells, for cell kernels and shared payloads. Cells are numbered row by row,
/// from 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

/// A rectangle of columns x rows cells, starting at `origin`. x and y are the first two axes that
/// count: with Axes::xz, pass the z of a position as y. z is not used. A position outside of the
/// rectangle, or in a cell with a number of no_cell or more, has no cell.
struct CellGrid {
    Vec3 origin;                ///< lower corner of cell 0
    float width = 1;            ///< of a cell along x; above 0
    float height = 1;           ///< of a cell along y; above 0
    std::uint32_t columns = 1;  ///< cells along x; at least 1
    std::uint32_t rows = 1;     ///< cells along y
    /// Cell number of positions outside of the grid.
    static constexpr std::uint32_t no_cell = 0xffffffffU;

    /// Returns the number of cells; at most no_cell.
    std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{columns} * rows, no_cell));
    }
    /// Returns the cell of a position; no_cell: outside. A border belongs to the cell that begins
    /// there: the division rounds down, also below 0.
    std::uint32_t cell_of(Vec3 position) const noexcept;
    /// Returns the lower corner of a cell.
    Vec3 min_of(std::uint32_t cell) const noexcept;
    /// Returns the upper corner of a cell.
    Vec3 max_of(std::uint32_t cell) const noexcept;
    /// Appends the cell and all existing cells within `rings` rings, row by row. With one ring: 9
    /// inside, 6 at an edge, 4 in a corner. Appends nothing for a cell that does not exist.
    /// O(cells).
    void neighborhood(std::uint32_t cell, std::uint32_t rings,
                      std::vector<std::uint32_t>& out) const;
};

/// @}

}  // namespace purview
