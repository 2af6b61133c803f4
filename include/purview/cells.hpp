// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The cells of a neighbourhood as numbers (P1-P3, P22, P28): row by row from 0 on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "purview/types.hpp"

namespace purview {

/// A rectangle of columns x rows cells, from `origin` on. Of more than 2^32 - 1 those behind have
/// no number, and are as cells outside.
struct CellGrid {
    Vec3 origin;
    float width = 1;
    float height = 1;
    std::uint32_t columns = 1;
    std::uint32_t rows = 1;
    static constexpr std::uint32_t no_cell = 0xffffffffU;

    std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{columns} * rows, no_cell));
    }
    /// floor, never truncation: a border belongs to the cell that begins there. no_cell: outside.
    std::uint32_t cell_of(Vec3 position) const noexcept;
    Vec3 min_of(std::uint32_t cell) const noexcept;
    Vec3 max_of(std::uint32_t cell) const noexcept;
    /// Appends the cell and all within so many rings that exist: 9 inside, 6 at an edge, 4 in a
    /// corner.
    void neighborhood(std::uint32_t cell, std::uint32_t rings,
                      std::vector<std::uint32_t>& out) const;
    bool are_adjacent(std::uint32_t a, std::uint32_t b, std::uint32_t rings = 1) const noexcept;
};

}  // namespace purview
