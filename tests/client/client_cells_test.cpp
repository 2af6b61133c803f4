// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/client_cells.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "protocol/bit_writer.hpp"

namespace purview {

namespace {

struct Written {
    std::uint8_t flat = 0;
    float x = -10, y = -10, width = 5, height = 5;
    std::uint32_t columns = 4, rows = 4;
};

std::vector<std::byte> message_of(std::initializer_list<Written> grids) {
    std::vector<std::byte> bytes(200);
    BitWriter out(bytes);
    out.u8(7);
    out.u8(static_cast<std::uint8_t>(grids.size()));
    for (const Written& grid : grids) {
        out.u8(grid.flat);
        for (const float number : {grid.x, grid.y, grid.width, grid.height})
            out.u32(std::bit_cast<std::uint32_t>(number));
        out.u32(grid.columns);
        out.u32(grid.rows);
    }
    REQUIRE(out.ok());
    bytes.resize(out.bytes_written());
    return bytes;
}

}  // namespace

TEST_CASE("cells: positions map to the cells of received grids on xy and xz ground planes") {
    ClientCells cells;
    CHECK(cells.cell_of(0, {}) == CellGrid::no_cell);
    REQUIRE(cells.read(message_of({{}, {.flat = 1}})));
    REQUIRE(cells.size() == 2);
    CHECK(cells[0].columns == 4);
    CHECK(cells.cell_of(0, {-9, -4, 0}) == 4);
    CHECK(cells.cell_of(1, {-9, 100, -4}) == 4);
    CHECK(cells.cell_of(0, {100, 0, 0}) == CellGrid::no_cell);
    CHECK(cells.cell_of(2, {}) == CellGrid::no_cell);
}

TEST_CASE("cells: a malformed message is refused, and changes nothing") {
    ClientCells cells;
    REQUIRE(cells.read(message_of({{}})));
    const float infinite = std::numeric_limits<float>::infinity();
    CHECK_FALSE(cells.read(message_of({{.flat = 2}})));
    CHECK_FALSE(cells.read(message_of({{.x = infinite}})));
    CHECK_FALSE(cells.read(message_of({{.y = std::nanf("")}})));
    CHECK_FALSE(cells.read(message_of({{.width = 0}})));
    CHECK_FALSE(cells.read(message_of({{.height = -1}})));
    CHECK_FALSE(cells.read(message_of({{.columns = 0}})));
    CHECK_FALSE(cells.read(message_of({{.columns = 1U << 20, .rows = 2}})));
    auto bytes = message_of({{}, {}});
    bytes.pop_back();
    CHECK_FALSE(cells.read(bytes));
    bytes.resize(bytes.size() + 2);
    CHECK_FALSE(cells.read(bytes));
    CHECK(cells.size() == 1);
}

}  // namespace purview
