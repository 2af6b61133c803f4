// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/cells.hpp"

#include <algorithm>
#include <cmath>

namespace purview {

std::uint32_t CellGrid::cell_of(Vec3 position) const noexcept {
    const float x = std::floor((position.x - origin.x) / width);
    const float y = std::floor((position.y - origin.y) / height);
    if (!(x >= 0 && x < static_cast<float>(columns) && y >= 0 && y < static_cast<float>(rows)))
        return no_cell;
    const auto cell = static_cast<std::uint64_t>(y) * columns + static_cast<std::uint64_t>(x);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(cell, no_cell));
}

Vec3 CellGrid::min_of(std::uint32_t cell) const noexcept {
    const std::uint32_t column = cell % columns, row = cell / columns;
    return {origin.x + static_cast<float>(column) * width,
            origin.y + static_cast<float>(row) * height, origin.z};
}

Vec3 CellGrid::max_of(std::uint32_t cell) const noexcept {
    const std::uint32_t column = cell % columns + 1, row = cell / columns + 1;
    return {origin.x + static_cast<float>(column) * width,
            origin.y + static_cast<float>(row) * height, origin.z};
}

void CellGrid::neighborhood(std::uint32_t cell, std::uint32_t rings,
                            std::vector<std::uint32_t>& out) const {
    if (cell >= count()) return;
    const std::uint32_t x = cell % columns, y = cell / columns;
    const std::uint64_t x1 = std::min(std::uint64_t{x} + rings, std::uint64_t{columns} - 1);
    const std::uint64_t y1 = std::min(std::uint64_t{y} + rings, std::uint64_t{rows} - 1);
    for (std::uint64_t cy = y - std::min(y, rings); cy <= y1; ++cy) {
        for (std::uint64_t cx = x - std::min(x, rings); cx <= x1; ++cx) {
            const std::uint64_t number = cy * columns + cx;
            if (number < count()) out.push_back(static_cast<std::uint32_t>(number));
        }
    }
}

bool are_adjacent(const CellGrid& grid, std::uint32_t a, std::uint32_t b,
                  std::uint32_t rings) noexcept {
    if (a >= grid.count() || b >= grid.count()) return false;
    const std::uint32_t columns = grid.columns;
    const auto apart = [](std::uint32_t i, std::uint32_t j) { return i > j ? i - j : j - i; };
    return apart(a % columns, b % columns) <= rings && apart(a / columns, b / columns) <= rings;
}

}  // namespace purview
