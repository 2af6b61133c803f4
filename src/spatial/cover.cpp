// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/cover.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "purview/status.hpp"

namespace purview {

namespace {

/// Room for rounding: a cell's border is known to about 1e-4 of its side, a distance to 1e-6 of
/// itself.
constexpr float cell_slack = 1e-3F;
constexpr float reach_slack = 1 + 1e-5F;

/// Distance from a coordinate to cell `i` of an axis; border cells reach to infinity.
float distance_to_cell(float value, float origin, float cell_m, std::uint32_t i, std::uint32_t n) {
    const float low = origin + (static_cast<float>(i) - cell_slack) * cell_m;
    const float high = origin + (static_cast<float>(i + 1) + cell_slack) * cell_m;
    if (i != 0 && value < low) return low - value;
    if (i + 1 != n && value > high) return value - high;
    return 0;
}

struct Span {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

/// The cells of one row that the reach touches; false when it passes the row by.
bool row_span(const GridLayer& layer, const Reach& reach, float off_axis_squared, Span& out) {
    const float radius = reach.radius_m * reach_slack;
    const float rest = radius * radius - off_axis_squared;
    if (!(rest >= 0)) return false;
    const float half = std::sqrt(rest);
    out.first = layer.cell_x(reach.centre.x - half);
    out.last = layer.cell_x(reach.centre.x + half);
    return true;
}

void emit(BlockIndex row, std::span<Span> spans, std::vector<CellRun>& out) {
    if (spans.size() > 1) {
        std::sort(spans.begin(), spans.end(),
                  [](const Span& a, const Span& b) { return a.first < b.first; });
    }
    for (std::size_t i = 0; i < spans.size();) {
        Span merged = spans[i++];
        while (i < spans.size() && spans[i].first <= merged.last + 1) {
            merged.last = std::max(merged.last, spans[i++].last);
        }
        out.push_back({row + merged.first, merged.last - merged.first + 1});
    }
}

}  // namespace

void cover(const GridLayer& layer, bool three_d, std::span<const Reach> reaches,
           std::vector<CellRun>& out) {
    PURVIEW_ASSERT(reaches.size() <= reaches_max);
    if (reaches.empty() || reaches.size() > reaches_max) return;
    std::uint32_t y0 = layer.ny, y1 = 0, z0 = layer.nz, z1 = 0;
    for (const Reach& reach : reaches) {
        const float radius = reach.radius_m * reach_slack;
        y0 = std::min(y0, layer.cell_y(reach.centre.y - radius));
        y1 = std::max(y1, layer.cell_y(reach.centre.y + radius));
        z0 = std::min(z0, three_d ? layer.cell_z(reach.centre.z - radius) : 0);
        z1 = std::max(z1, three_d ? layer.cell_z(reach.centre.z + radius) : 0);
    }
    // One cell more on either side: a coordinate just over a border may count to either cell.
    y0 = y0 == 0 ? 0 : y0 - 1;
    y1 = std::min(y1 + 1, layer.ny - 1);
    if (three_d) {
        z0 = z0 == 0 ? 0 : z0 - 1;
        z1 = std::min(z1 + 1, layer.nz - 1);
    }
    std::array<Span, reaches_max> spans;
    for (std::uint32_t z = z0; z <= z1; ++z) {
        for (std::uint32_t y = y0; y <= y1; ++y) {
            std::size_t count = 0;
            for (const Reach& reach : reaches) {
                const float dy =
                    distance_to_cell(reach.centre.y, layer.origin.y, layer.cell_m, y, layer.ny);
                const float dz = three_d ? distance_to_cell(reach.centre.z, layer.origin.z,
                                                            layer.cell_m, z, layer.nz)
                                         : 0;
                if (row_span(layer, reach, dy * dy + dz * dz, spans[count])) ++count;
            }
            if (count > 0) {
                emit(layer.first_cell + (z * layer.ny + y) * layer.nx,
                     std::span(spans).first(count), out);
            }
        }
    }
}

void expand(const BlockTable& table, std::span<const CellRun> runs, std::vector<BlockIndex>& out) {
    for (const CellRun& run : runs) {
        for (BlockIndex cell = run.first; cell < run.first + run.count; ++cell) {
            BlockIndex block = cell;
            do {
                if ((table.occupied(block) | table.vacated(block)) != 0) out.push_back(block);
                block = table.next(block);
            } while (block != cell);
        }
    }
}

}  // namespace purview
