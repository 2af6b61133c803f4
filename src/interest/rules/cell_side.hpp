// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The side of the cells of a grid of the spatial index.
#pragma once

#include "purview/rules.hpp"

namespace purview {

/// Returns the side for entities that are seen from `reach` away at most: Rules::cell_size, or a
/// derived one if that is 0. If the grid would have more than 4 million cells, or an axis more than
/// axis_cells_max, the side is larger.
float cell_side(const Rules& rules, bool three_d, float reach);

}  // namespace purview
