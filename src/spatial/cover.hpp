// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where must an observer look? Regions in, runs of cells out, and from these the blocks of a
// window, each once. A cover may name too many cells, never too few. Must not know: who asks, what
// for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spatial/block_table.hpp"

namespace purview {

/// A ball (a disc in 2D) that must be covered.
struct Reach {
    Vec3 centre;
    float radius_m = 0;
};

/// Consecutive cells.
struct CellRun {
    BlockIndex first = 0;
    std::uint32_t count = 0;
};

/// Regions of one observer that are covered at once.
inline constexpr std::size_t reaches_max = 64;

/// Appends the runs of one layer that the reaches touch: ascending, disjoint, none empty.
void cover(const GridLayer& layer, bool three_d, std::span<const Reach> reaches,
           std::vector<CellRun>& out);

/// Appends the blocks of the runs that hold or held anything this tick, rings included; no block
/// twice when the runs are disjoint.
void expand(const BlockTable& table, std::span<const CellRun> runs, std::vector<BlockIndex>& out);

}  // namespace purview
