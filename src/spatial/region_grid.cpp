// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/region_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

namespace {

/// Returns the cell size for about twelve observers per cell. A cell is at least two reaches wide,
/// so that a move searches few cells. The number of cells per axis is limited.
float cell_of(bool three_d, Vec3 min, Vec3 max, float reach, std::size_t observers) {
    constexpr double per_cell = 12, cells_per_axis_max = 512;
    std::array sides{double{max.x} - min.x, double{max.y} - min.y,
                     three_d ? double{max.z} - min.z : 0};
    std::sort(sides.begin(), sides.end(), std::greater());
    // Divides the space along the longest side, the longest two or all three. A side shorter than a
    // cell is not divided. There are therefore never more than about four cells per observer.
    double room = per_cell / static_cast<double>(std::max<std::size_t>(observers, 1));
    double shared = 0;
    for (std::size_t axes = 1; axes <= sides.size(); ++axes) {
        room *= sides[axes - 1];
        shared = std::max(shared, std::pow(room, 1.0 / static_cast<double>(axes)));
    }
    const double cell = std::max({2.0 * reach, sides[0] / cells_per_axis_max, 1e-3});
    return static_cast<float>(std::max(cell, std::min(shared, sides[0])));
}

}  // namespace

RegionGrid::RegionGrid(bool three_d, Vec3 min, Vec3 max, float reach, std::size_t observers)
    : table_(three_d), made_for_(observers) {
    table_.add_layer(min, max, cell_of(three_d, min, max, reach, observers));
    table_.add_abstract_layer();
}

void RegionGrid::set(std::uint32_t observer, std::span<const Vec3> positions) {
    if (regions_.size() <= observer) regions_.resize(observer + 1);
    auto& regions = regions_[observer];
    while (regions.size() > positions.size()) {
        PURVIEW_ASSERT(owner_[regions.back()] == observer);
        table_.remove(table_.slot_of(make_entity_id(regions.back(), 1)), false);
        free_.push_back(regions.back());
        regions.pop_back();
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (i < regions.size()) {
            PURVIEW_ASSERT(owner_[regions[i]] == observer);
            const std::array one{Move{make_entity_id(regions[i], 1), positions[i]}};
            table_.write_positions(std::span<const Move>(one));
            continue;
        }
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(owner_.size()));
            owner_.push_back(0);
        }
        const std::uint32_t region = free_.back();
        free_.pop_back();
        owner_[region] = observer;
        regions.push_back(region);
        (void)table_.insert(make_entity_id(region, 1), 0, positions[i]);
    }
    PURVIEW_ASSERT(regions.size() == positions.size());
    table_.settle_moves();
}

void RegionGrid::find_blocks(Vec3 low, Vec3 high) {
    const GridLayer& layer = table_.layers().front();
    const bool three_d = table_.is_three_d();
    blocks_.clear();
    // Rounding may assign a coordinate near a border to either cell, so the box is widened a
    // little.
    const float slack = layer.cell_size * 0.01F;
    const std::uint32_t x0 = layer.cell_x(low.x - slack), x1 = layer.cell_x(high.x + slack);
    const std::uint32_t y0 = layer.cell_y(low.y - slack), y1 = layer.cell_y(high.y + slack);
    const std::uint32_t z0 = three_d ? layer.cell_z(low.z - slack) : 0;
    const std::uint32_t z1 = three_d ? layer.cell_z(high.z + slack) : 0;
    for (std::uint32_t z = z0; z <= z1; ++z) {
        for (std::uint32_t y = y0; y <= y1; ++y) {
            for (std::uint32_t x = x0; x <= x1; ++x) {
                const BlockIndex base = layer.first_cell + (z * layer.ny + y) * layer.nx + x;
                BlockIndex block = base;
                do {
                    if (table_.occupied(block) != 0) blocks_.push_back(block);
                    block = table_.next(block);
                } while (block != base);
            }
        }
    }
}

}  // namespace purview
