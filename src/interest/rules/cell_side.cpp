// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/cell_side.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "spatial/block_table.hpp"
#include "world/axes.hpp"

namespace purview {

// Aims at twelve entities per cell (measured best for blocks of 16). If each observer is in a
// crowd, cells are far larger, because changing cells then costs more than testing. Cells are never
// so small that there are more than a few per entity, or that the table gets too large.
float cell_side(const Rules& rules, bool three_d, float reach) {
    constexpr double entities_per_cell = 12, crowd = 1000, crowd_share = 0.25, cells_max = 4e6;
    constexpr double cells_per_entity = 4, cells_min = 4096;
    const Vec3 min = exchanged(rules.axes, rules.min);
    const Vec3 max = exchanged(rules.axes, rules.max);
    const double room =
        (double{max.x} - min.x) * (double{max.y} - min.y) * (three_d ? double{max.z} - min.z : 1);
    const double root = three_d ? 1.0 / 3 : 0.5;
    const double smallest = std::pow(room / cells_max, root);
    double cell = rules.cell_size;
    if (!(cell > 0)) {
        const double expected = std::max<double>(rules.entities_expected, 1);
        const double ball = three_d ? 4.0 / 3 * std::numbers::pi * std::pow(reach, 3)
                                    : std::numbers::pi * reach * reach;
        const double seen = std::min(expected, expected / room * ball);
        const double per_cell = seen < crowd ? entities_per_cell : seen * crowd_share;
        cell = std::pow(per_cell * room / expected, root);
        if (reach > 0) cell = std::clamp(cell, reach / 16.0, reach * 1.0);
        const double cells = std::max(cells_min, expected * cells_per_entity);
        cell = std::max(cell, std::pow(room / cells, root));
    }
    const std::array<double, 3> sides{double{max.x} - min.x, double{max.y} - min.y,
                                      three_d ? double{max.z} - min.z : 0};
    // An axis has at most axis_cells_max cells; entities beyond them are in the last ones.
    const double longest = *std::max_element(sides.begin(), sides.end());
    cell = std::max({cell, smallest, longest / axis_cells_max});
    // Even a thin flat world has a few layers of cells and a border around them.
    const auto cells_of = [&](double side) {
        double cells = 1;
        for (std::size_t axis = 0; axis < (three_d ? 3U : 2U); ++axis)
            cells *= std::max(std::ceil(sides[axis] / side), 1.0) + 2;
        return cells;
    };
    while (cells_of(cell) > 1.25 * cells_max) cell *= 1.125;
    return static_cast<float>(cell);
}

}  // namespace purview
