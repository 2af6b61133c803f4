// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The cell size of a grid of the spatial index.
#pragma once

#include "purview/rules.hpp"

namespace purview {

/// Returns the cell size for entities that are relevant at a distance of at most `reach`:
/// Rules::cell_size, or a derived size if that is 0. If the grid would have more than 4 million
/// cells, or an axis more than axis_cells_max, the size is larger.
float cell_side(const Rules& rules, bool three_d, float reach);

}  // namespace purview
