// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/client_cells.hpp"

#include <bit>
#include <cmath>

#include "link/messages.hpp"
#include "protocol/bit_reader.hpp"

namespace purview {

bool ClientCells::read(std::span<const std::byte> message) {
    BitReader in(message);
    (void)in.u8();
    const std::size_t count = in.u8();
    if (count > cell_grids_max) return false;
    std::vector<Grid> read(count);
    for (Grid& one : read) {
        const std::uint8_t flat = in.u8();
        one.is_flat = flat == 1;
        float numbers[4];
        for (float& number : numbers) number = std::bit_cast<float>(in.u32());
        one.cells = {{numbers[0], numbers[1], 0}, numbers[2], numbers[3], in.u32(), in.u32()};
        const bool is_sound = std::isfinite(numbers[0]) && std::isfinite(numbers[1]) &&
                              std::isfinite(numbers[2]) && std::isfinite(numbers[3]) &&
                              numbers[2] > 0 && numbers[3] > 0 && one.cells.columns > 0 &&
                              one.cells.rows > 0 && one.cells.columns <= cells_max / one.cells.rows;
        if (flat > 1 || !is_sound) return false;
    }
    if (!in.exhausted()) return false;
    grids_ = std::move(read);
    return true;
}

std::uint32_t ClientCells::cell_of(std::size_t grid, Vec3 position) const noexcept {
    if (grid >= grids_.size()) return CellGrid::no_cell;
    if (grids_[grid].is_flat) position.y = position.z;
    return grids_[grid].cells.cell_of(position);
}

}  // namespace purview
