// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The cell grids of the nodes in a shared mode, as the server sent them.
//
// Invariants: every grid has finite numbers, cells of positive size, and at most `cells_max` cells.
//
// Must not know: ghosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/cells.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class ClientCells {
  public:
    static constexpr std::uint32_t cells_max = 1U << 20;  ///< per grid

    std::size_t size() const noexcept { return grids_.size(); }
    const CellGrid& operator[](std::size_t grid) const noexcept {
        PURVIEW_ASSERT(grid < grids_.size());
        return grids_[grid].cells;
    }
    /// Returns CellGrid::no_cell if there is no such grid, or if the position is outside of it.
    std::uint32_t cell_of(std::size_t grid, Vec3 position) const noexcept;
    /// Reads a message of the server. Returns false and changes nothing if it is malformed.
    bool read(std::span<const std::byte> message);

  private:
    struct Grid {
        CellGrid cells;
        bool is_flat = false;  ///< the second axis is z
    };
    std::vector<Grid> grids_;
};

}  // namespace purview
