// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where must an observer look? Regions in, runs of cells out. A region is made for a small box of
// places, so that a window keeps its cells until the observer leaves the box. A cover may name too
// many cells, never too few. Must not know: who asks, what for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spatial/block_table.hpp"

namespace purview {

/// A quarter of a cell (of the finest layer) along each axis: the box that a place is in. `alone`:
/// too far out for boxes, good for this very place only.
struct SubCell {
    std::int32_t x = 0, y = 0, z = 0;
    bool alone = false;
    friend bool operator==(const SubCell& a, const SubCell& b) noexcept {
        return a.x == b.x && a.y == b.y && a.z == b.z && !a.alone && !b.alone;
    }
};
SubCell sub_cell_of(const GridLayer& finest, bool three_d, const Vec3& position) noexcept;

/// A ball (a disc in 2D) around every place of a box.
struct Reach {
    Vec3 low, high;       ///< the box
    float radius = 0;     ///< must be covered
    float inside_m = -1;  ///< cells wholly within this of every place of the box are told apart
};
/// Around the box that a place is in.
Reach reach_of(const GridLayer& finest, bool three_d, Vec3 position, float radius,
               float inside_m) noexcept;
/// The same for a box of places that moves with one of them: low <= place <= high.
Reach reach_of_box(const GridLayer& finest, bool three_d, Vec3 position, Vec3 low, Vec3 high,
                   float radius) noexcept;

/// Consecutive cells of one row; those of [inside_first, inside_first + inside_count) are wholly
/// inside.
struct CellRun {
    BlockIndex first = 0;
    std::uint16_t count = 0;
    std::uint16_t inside_first = 0;  ///< from `first` on
    std::uint16_t inside_count = 0;
};

/// Cells of one row that one reach touches: [first, last], wholly inside [inside_first,
/// inside_end).
struct RowSpan {
    std::uint32_t first = 0, last = 0;
    std::uint32_t inside_first = 0, inside_end = 0;
};

/// Appends the runs of one layer that the reaches touch: ascending, disjoint, none empty.
/// `spans`: room to work in.
void cover(const GridLayer& layer, bool three_d, std::span<const Reach> reaches,
           std::vector<RowSpan>& spans, std::vector<CellRun>& out);

}  // namespace purview
