// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Converts regions to runs of cells: the cells that an observer must search. A region is computed
// for a small box of positions, so a visible block set keeps its cells until the observer leaves
// the box. A cover may have too many cells, never too few. This module must not depend on observers
// or on the purpose of a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spatial/block_table.hpp"

namespace purview {

/// The box that contains a position: a quarter of a cell of the finest layer along each axis.
/// `alone`: the position is too far out for boxes, so the result is valid for this position only.
struct SubCell {
    std::int32_t x = 0, y = 0, z = 0;
    bool alone = false;
    friend bool operator==(const SubCell& a, const SubCell& b) noexcept {
        return a.x == b.x && a.y == b.y && a.z == b.z && !a.alone && !b.alone;
    }
};
SubCell sub_cell_of(const GridLayer& finest, bool three_d, const Vec3& position) noexcept;

/// A ball (a disc in 2D) around every position of a box.
struct Reach {
    Vec3 low, high;       ///< the box
    float radius = 0;     ///< cells within it must be covered
    float inside_m = -1;  ///< cells wholly within it of all positions are inside; -1: none
};
/// Returns the reach for the box that contains `position`.
Reach reach_of(const GridLayer& finest, bool three_d, Vec3 position, float radius,
               float inside_m) noexcept;
/// The same for a box of positions that moves with `position`: low <= position <= high.
Reach reach_of_box(const GridLayer& finest, bool three_d, Vec3 position, Vec3 low, Vec3 high,
                   float radius) noexcept;

/// Consecutive cells of one row. Those of [inside_first, inside_first + inside_count) are wholly
/// inside.
struct CellRun {
    BlockIndex first = 0;
    std::uint16_t count = 0;
    std::uint16_t inside_first = 0;  ///< relative to `first`
    std::uint16_t inside_count = 0;
};

/// Cells of one row that one reach touches: [first, last]. Those of [inside_first, inside_end) are
/// wholly inside.
struct RowSpan {
    std::uint32_t first = 0, last = 0;
    std::uint32_t inside_first = 0, inside_end = 0;
};

/// Appends the runs of one layer that the reaches touch: ascending, disjoint, none empty. `spans`
/// is scratch space.
void cover(const GridLayer& layer, bool three_d, std::span<const Reach> reaches,
           std::vector<RowSpan>& spans, std::vector<CellRun>& out);

}  // namespace purview
