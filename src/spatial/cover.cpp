// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/cover.hpp"

#include <algorithm>
#include <cmath>

#include "purview/status.hpp"

namespace purview {

namespace {

/// Margins for rounding. With 2^14 cells per axis a cell border is accurate to 2e-3 of the cell
/// size. A distance is accurate to 1e-6 of itself.
constexpr float cell_slack = 4e-3F;
constexpr float reach_slack = 1 + 1e-5F;
constexpr float boxes_per_cell = 4;
/// Beyond this many boxes from the origin, a float cannot distinguish boxes.
constexpr float box_end = 1 << 17;

struct Edges {
    float low, high;
};

/// Returns the borders of cell `i` on an axis, widened by the margin.
Edges edges_of(float origin, float cell_size, std::uint32_t i) noexcept {
    return {origin + (static_cast<float>(i) - cell_slack) * cell_size,
            origin + (static_cast<float>(i + 1) + cell_slack) * cell_size};
}

/// Distance from the nearest point of [low, high] to cell `i`. Border cells extend to infinity.
float nearest(float low, float high, Edges cell, std::uint32_t i, std::uint32_t n) noexcept {
    if (i != 0 && high < cell.low) return cell.low - high;
    if (i + 1 != n && low > cell.high) return low - cell.high;
    return 0;
}

/// Distance from the point of [low, high] that is farthest from the cell to the far border of the
/// cell.
float farthest(float low, float high, Edges cell) noexcept {
    return std::max(cell.high - low, high - cell.low);
}

struct Row {
    std::uint32_t y, z;
};

bool row_span(const GridLayer& layer, bool three_d, const Reach& reach, Row row,
              RowSpan& out) noexcept {
    const Edges y = edges_of(layer.origin.y, layer.cell_size, row.y);
    const Edges z = edges_of(layer.origin.z, layer.cell_size, row.z);
    const float dy = nearest(reach.low.y, reach.high.y, y, row.y, layer.ny);
    const float dz = three_d ? nearest(reach.low.z, reach.high.z, z, row.z, layer.nz) : 0;
    const float radius = reach.radius * reach_slack;
    const float rest = radius * radius - (dy * dy + dz * dz);
    if (!(rest >= 0)) return false;
    const float half = std::sqrt(rest);
    out.first = layer.cell_x(reach.low.x - half);
    out.last = layer.cell_x(reach.high.x + half);
    PURVIEW_ASSERT(out.first <= out.last && out.last < layer.nx);
    out.inside_first = out.inside_end = 0;
    const bool bounded = GridLayer::is_bounded(row.y, layer.ny) &&
                         (!three_d || GridLayer::is_bounded(row.z, layer.nz));
    if (!bounded || reach.inside_m < 0) return true;
    const float fy = farthest(reach.low.y, reach.high.y, y);
    const float fz = three_d ? farthest(reach.low.z, reach.high.z, z) : 0;
    const float inside = reach.inside_m / reach_slack;
    const float inside_remainder = inside * inside - (fy * fy + fz * fz);
    if (!(inside_remainder > 0)) return true;
    const float inside_half = std::sqrt(inside_remainder) - 2 * cell_slack * layer.cell_size;
    if (reach.low.x + inside_half <= reach.high.x - inside_half) return true;
    const std::uint32_t first = layer.cell_x(reach.high.x - inside_half) + 1;
    const std::uint32_t end = layer.cell_x(reach.low.x + inside_half);
    out.inside_first = std::max({first, out.first, 1U});
    out.inside_end = std::max(out.inside_first, std::min({end, out.last + 1, layer.nx - 1}));
    return true;
}

void emit(BlockIndex row, std::span<RowSpan> spans, std::vector<CellRun>& out) {
    if (spans.size() > 1) {
        std::sort(spans.begin(), spans.end(),
                  [](const RowSpan& a, const RowSpan& b) { return a.first < b.first; });
    }
    for (std::size_t i = 0; i < spans.size();) {
        RowSpan merged = spans[i++];
        for (; i < spans.size() && spans[i].first <= merged.last + 1; ++i) {
            merged.last = std::max(merged.last, spans[i].last);
            const RowSpan& other = spans[i];
            if (other.inside_end - other.inside_first > merged.inside_end - merged.inside_first) {
                merged.inside_first = other.inside_first;
                merged.inside_end = other.inside_end;
            }
        }
        CellRun run{row + merged.first, static_cast<std::uint16_t>(merged.last - merged.first + 1),
                    0, 0};
        PURVIEW_ASSERT(out.empty() || out.back().first + out.back().count <= run.first);
        if (merged.inside_end > merged.inside_first) {
            PURVIEW_ASSERT(merged.first <= merged.inside_first &&
                           merged.inside_end <= merged.last + 1);
            run.inside_first = static_cast<std::uint16_t>(merged.inside_first - merged.first);
            run.inside_count = static_cast<std::uint16_t>(merged.inside_end - merged.inside_first);
        }
        out.push_back(run);
    }
}

}  // namespace

SubCell sub_cell_of(const GridLayer& finest, bool three_d, const Vec3& position) noexcept {
    const float scale = finest.inverse_cell * boxes_per_cell;
    const float x = (position.x - finest.origin.x) * scale;
    const float y = (position.y - finest.origin.y) * scale;
    const float z = three_d ? (position.z - finest.origin.z) * scale : 0;
    const bool fits =
        x > -box_end && x < box_end && y > -box_end && y < box_end && z > -box_end && z < box_end;
    if (!fits) return {0, 0, 0, true};
    const auto floor_of = [](float v) {
        const auto whole = static_cast<std::int32_t>(v);
        return whole - (static_cast<float>(whole) > v ? 1 : 0);
    };
    return {floor_of(x), floor_of(y), floor_of(z), false};
}

Reach reach_of_box(const GridLayer& finest, bool three_d, Vec3 position, Vec3 low, Vec3 high,
                   float radius) noexcept {
    Reach reach = reach_of(finest, three_d, position, radius, -1);
    // Extends the box by as much as the position can move within its own box.
    reach.low = {low.x - (position.x - reach.low.x), low.y - (position.y - reach.low.y),
                 low.z - (position.z - reach.low.z)};
    reach.high = {high.x + (reach.high.x - position.x), high.y + (reach.high.y - position.y),
                  high.z + (reach.high.z - position.z)};
    return reach;
}

Reach reach_of(const GridLayer& finest, bool three_d, Vec3 position, float radius,
               float inside_m) noexcept {
    const SubCell box = sub_cell_of(finest, three_d, position);
    Reach reach{position, position, radius, inside_m};
    if (box.alone) return reach;
    const float side = finest.cell_size / boxes_per_cell;
    const auto spread = [&](float& low, float& high, float origin, std::int32_t i) {
        low = std::min(low, origin + (static_cast<float>(i) - boxes_per_cell * cell_slack) * side);
        high = std::max(high,
                        origin + (static_cast<float>(i + 1) + boxes_per_cell * cell_slack) * side);
    };
    spread(reach.low.x, reach.high.x, finest.origin.x, box.x);
    spread(reach.low.y, reach.high.y, finest.origin.y, box.y);
    if (three_d) spread(reach.low.z, reach.high.z, finest.origin.z, box.z);
    return reach;
}

void cover(const GridLayer& layer, bool three_d, std::span<const Reach> reaches,
           std::vector<RowSpan>& spans, std::vector<CellRun>& out) {
    if (reaches.empty()) return;
    if (spans.size() < reaches.size()) spans.resize(reaches.size());
    std::uint32_t y0 = layer.ny, y1 = 0, z0 = layer.nz, z1 = 0;
    for (const Reach& reach : reaches) {
        const float radius = reach.radius * reach_slack;
        y0 = std::min(y0, layer.cell_y(reach.low.y - radius));
        y1 = std::max(y1, layer.cell_y(reach.high.y + radius));
        z0 = std::min(z0, three_d ? layer.cell_z(reach.low.z - radius) : 0);
        z1 = std::max(z1, three_d ? layer.cell_z(reach.high.z + radius) : 0);
    }
    // One more cell on either side: rounding may assign a coordinate at a border to either cell.
    y0 = y0 == 0 ? 0 : y0 - 1;
    y1 = std::min(y1 + 1, layer.ny - 1);
    if (three_d) {
        z0 = z0 == 0 ? 0 : z0 - 1;
        z1 = std::min(z1 + 1, layer.nz - 1);
    }
    PURVIEW_ASSERT(y0 <= y1 && y1 < layer.ny && z0 <= z1 && z1 < layer.nz);
    for (std::uint32_t z = z0; z <= z1; ++z) {
        for (std::uint32_t y = y0; y <= y1; ++y) {
            std::size_t count = 0;
            for (const Reach& reach : reaches) {
                if (row_span(layer, three_d, reach, {y, z}, spans[count])) ++count;
            }
            if (count > 0) {
                emit(layer.first_cell + (z * layer.ny + y) * layer.nx,
                     std::span(spans).first(count), out);
            }
        }
    }
}

}  // namespace purview
