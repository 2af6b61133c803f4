// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// History of the components that the schema marks: one ring of recent ticks per entity, in pages
// that do not move, with an index over past positions. The index is built once per span of ticks.
// The index stores the cell of each entity at the beginning of the span and the greatest distance
// that any indexed entity has moved since. Queries are widened by that distance. So the index costs
// a few bytes per entity and span. Entities that move more than a cell size are in a separate list.
//
// Must not know: observers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "purview/rewind.hpp"
#include "world/axes.hpp"
#include "world/world_data.hpp"

namespace purview {

class History {
  public:
    /// `axes`: axes of the index. Positions are returned in world axes.
    History(const WorldData& world, std::uint32_t ticks, float cell_size, Axes axes = Axes::xy);

    bool is_used() const noexcept { return stride_ != 0; }
    /// Number of ticks that are retained.
    std::uint32_t ticks() const noexcept { return ticks_; }
    /// Stores the current state of all entities of marked kinds. Returns refused for a tick that is
    /// not after the newest one.
    Status record(Tick tick);
    Tick newest() const noexcept { return newest_; }
    /// The oldest stored tick.
    Tick oldest() const noexcept;

    /// The component after the tick. Null if the component is not marked, the tick is not stored,
    /// or the entity did not exist then.
    const std::byte* at(EntityId entity, ComponentId component, Tick tick) const noexcept;
    /// Interpolates between the two ticks around `tick`. Returns false if the entity did not exist
    /// in the earlier one.
    bool position_at(EntityId entity, double tick, Vec3& out) const noexcept;

    struct Volume {
        Vec3 from;
        Vec3 to;  ///< equal to `from`: a sphere
        float radius = 0;
    };
    /// Calls visit(EntityId) for a superset of the entities in the volume at that tick. In a wide
    /// volume, some entities are visited twice.
    template <class Visit>
    void for_each_near(const Volume& volume, double tick, Visit&& visit) const;

    std::uint64_t history_bytes() const noexcept;
    std::uint64_t index_bytes() const noexcept;

  private:
    static constexpr std::uint32_t page_rows = 64;
    static constexpr Tick span_ticks = 8;
    static constexpr std::uint32_t no_row = 0xffffffffU;

    struct Row {
        EntityId entity = EntityId::none;
        Tick first = 0;      ///< its first tick
        Tick unindexed = 0;  ///< first tick of the span that has this row in `unindexed`
    };
    /// Index of `span_ticks` ticks and of the first tick of the next span.
    struct Span {
        Tick first = 0;  ///< 0: unused
        std::uint32_t side_bits = 0;
        float reach = 0;                       ///< greatest move of an indexed entity, in meters
        std::vector<std::uint32_t> starts;     ///< [buckets + 1]
        std::vector<std::uint32_t> rows;       ///< by bucket
        std::vector<std::uint32_t> unindexed;  ///< rows that moved far or were added later
    };

    std::byte* cell(std::uint32_t row, Tick tick) noexcept {
        PURVIEW_ASSERT(row < rows_.size() && row / page_rows < pages_.size());
        return pages_[row / page_rows].get() +
               (std::size_t{row % page_rows} * ticks_ + tick % ticks_) * stride_;
    }
    const std::byte* cell(std::uint32_t row, Tick tick) const noexcept {
        return const_cast<History*>(this)->cell(row, tick);
    }
    Vec3 position(std::uint32_t row, Tick tick) const noexcept;
    Vec3 inner(std::uint32_t row, Tick tick) const noexcept {
        return exchanged(axes_, position(row, tick));
    }
    std::uint32_t row_of(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        if (index >= row_at_.size() || row_at_[index] == no_row) return no_row;
        return rows_[row_at_[index]].entity == entity ? row_at_[index] : no_row;
    }
    bool is_remembered(std::uint32_t row, Tick tick) const noexcept {
        return tick >= rows_[row].first && tick <= newest_ && newest_ - tick < ticks_;
    }
    void take_row(EntityId entity, Tick tick);
    void free_row(EntityId entity);
    void begin_span(Tick tick);
    void widen_span(Span& span, Tick tick);
    Span& span_at(Tick tick) noexcept { return spans_[tick / span_ticks % spans_.size()]; }
    const Span* span_of(Tick tick) const noexcept;
    std::int32_t cell_coordinate(float meters) const noexcept;
    /// Cells that are a multiple of this power of two apart, on either axis, share a bucket.
    static std::uint32_t bucket(std::int32_t x, std::int32_t y, std::uint32_t side_bits) noexcept {
        const std::uint32_t mask = (1U << side_bits) - 1;
        return (static_cast<std::uint32_t>(y) & mask) << side_bits |
               (static_cast<std::uint32_t>(x) & mask);
    }

    const WorldData* world_;
    std::uint32_t ticks_;
    float cell_m_;
    Axes axes_;
    /// By component: offset in a cell of the ring; 0xffff: not marked.
    std::vector<std::uint16_t> offset_;
    std::vector<ComponentId> marked_;
    std::vector<bool> kind_is_marked_;
    std::uint32_t stride_ = 0;  ///< bytes of one entity in one tick
    bool has_positions_ = false;
    Tick newest_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> pages_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> free_rows_;
    std::vector<std::uint32_t> row_at_;  ///< by entity index
    std::vector<Span> spans_;            ///< by span number modulo size
};

template <class Visit>
void History::for_each_near(const Volume& volume, double tick, Visit&& visit) const {
    const Span* span = span_of(static_cast<Tick>(tick));
    if (span == nullptr) return;
    const auto report = [&](std::uint32_t row) {
        if (rows_[row].entity != EntityId::none) visit(rows_[row].entity);
    };
    // Iterates over the cells along the longer axis of the volume, and for each over the cells
    // across that it may touch.
    const float reach = volume.radius + span->reach;
    const Vec3 from = exchanged(axes_, volume.from);
    const Vec3 to = exchanged(axes_, volume.to);
    const bool along_y = std::abs(to.y - from.y) > std::abs(to.x - from.x);
    const float a0 = along_y ? from.y : from.x;
    const float a1 = along_y ? to.y : to.x;
    const float b0 = along_y ? from.x : from.y;
    const float b1 = along_y ? to.x : to.y;
    const float low = std::min(a0, a1);
    const float high = std::max(a0, a1);
    const float slope = high > low ? (b1 - b0) / (a1 - a0) : 0;
    const auto across = [&](float a) { return b0 + slope * (std::clamp(a, low, high) - a0); };
    const std::int32_t first_a = cell_coordinate(low - reach);
    const std::int32_t last_a = cell_coordinate(high + reach);
    const double wide = static_cast<double>(last_a) - first_a + 1;
    const double thick = 2 * double{reach} / cell_m_ + 2;
    // Visiting so many cells costs more than visiting all rows.
    if (!(wide * thick <= static_cast<double>(rows_.size()))) {
        for (std::uint32_t row = 0; row < rows_.size(); ++row) report(row);
        return;
    }
    for (const std::uint32_t row : span->unindexed) report(row);
    for (std::int32_t a = first_a; a <= last_a; ++a) {
        const float left = across(static_cast<float>(a) * cell_m_ - reach);
        const float right = across(static_cast<float>(a + 1) * cell_m_ + reach);
        const std::int32_t first_b = cell_coordinate(std::min(left, right) - reach);
        const std::int32_t last_b = cell_coordinate(std::max(left, right) + reach);
        for (std::int32_t b = first_b; b <= last_b; ++b) {
            const std::uint32_t at =
                along_y ? bucket(b, a, span->side_bits) : bucket(a, b, span->side_bits);
            for (std::uint32_t i = span->starts[at]; i < span->starts[at + 1]; ++i)
                report(span->rows[i]);
        }
    }
}

}  // namespace purview
