// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/history.hpp"

#include <bit>
#include <cstring>

#include "core/rotation.hpp"

namespace purview {

namespace {

constexpr std::uint16_t not_marked = 0xffff;
constexpr std::uint32_t align_bytes = 4;

/// Grows by an eighth instead of doubling, to keep tables beside a history small.
template <class T>
void grow_by_eighth(std::vector<T>& table, std::size_t size, T fill) {
    if (table.size() >= size) return;
    if (table.capacity() < size) table.reserve(size + size / 8);
    table.resize(size, fill);
}

}  // namespace

History::History(const WorldData& world, std::uint32_t ticks, float cell_size, Axes axes)
    : world_(&world), ticks_(std::max(ticks, 2 * span_ticks)), cell_m_(cell_size), axes_(axes) {
    const Schema& schema = world.entities.schema();
    offset_.assign(schema.components().size(), not_marked);
    const auto count = static_cast<std::uint16_t>(schema.components().size());
    for (std::uint16_t c = 0; c < count; ++c) {
        if (!schema.components()[c].is_rewound) continue;
        offset_[c] = static_cast<std::uint16_t>(stride_);
        marked_.push_back(id_at<ComponentId>(c));
        const std::uint32_t size = schema.components()[c].size_bytes;
        stride_ += (size + align_bytes - 1) / align_bytes * align_bytes;
    }
    has_positions_ = schema.position() != ComponentId::none &&
                     offset_[index_of(schema.position())] != not_marked;
    for (const KindDef& kind : schema.kinds()) {
        kind_is_marked_.push_back(std::any_of(
            kind.components.begin(), kind.components.end(),
            [&](ComponentId component) { return offset_[index_of(component)] != not_marked; }));
    }
    spans_.resize(ticks_ / span_ticks + 2);
}

Tick History::oldest() const noexcept {
    return newest_ >= ticks_ ? newest_ - ticks_ + 1 : 1;
}

void History::take_row(EntityId entity, Tick tick) {
    std::uint32_t row = 0;
    if (free_rows_.empty()) {
        row = static_cast<std::uint32_t>(rows_.size());
        grow_by_eighth(rows_, row + std::size_t{1}, Row{});
        if (row / page_rows >= pages_.size()) {
            pages_.push_back(
                std::make_unique<std::byte[]>(std::size_t{page_rows} * ticks_ * stride_));
        }
    } else {
        row = free_rows_.back();
        free_rows_.pop_back();
    }
    PURVIEW_ASSERT(rows_[row].entity == EntityId::none);
    rows_[row] = {entity, tick, 0};
    grow_by_eighth(row_at_, std::size_t{index_of(entity)} + 1, no_row);
    row_at_[index_of(entity)] = row;
}

void History::free_row(EntityId entity) {
    const std::uint32_t row = row_of(entity);
    if (row == no_row) return;
    rows_[row].entity = EntityId::none;
    row_at_[index_of(entity)] = no_row;
    free_rows_.push_back(row);
}

Status History::record(Tick tick) {
    if (!is_used()) return Status::ok;
    if (tick <= newest_) return Status::refused;
    for (const WorldOp& op : world_->log.ops()) {
        if (op.type == WorldOp::Type::despawn) free_row(op.entity);
        if (op.type != WorldOp::Type::spawn || !world_->entities.is_alive(op.entity)) continue;
        if (!kind_is_marked_[index_of(world_->entities.kind_at(index_of(op.entity)))]) continue;
        if (row_of(op.entity) == no_row) take_row(op.entity, tick);
    }
    const Tick before = newest_;
    newest_ = tick;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
        const EntityId entity = rows_[row].entity;
        if (entity == EntityId::none) continue;
        const std::uint32_t index = index_of(entity);
        for (const ComponentId component : marked_) {
            if (!world_->entities.has(index, component)) continue;
            std::memcpy(cell(row, tick) + offset_[index_of(component)],
                        world_->components.component_at(index, component),
                        world_->entities.schema().components()[index_of(component)].size_bytes);
        }
    }
    if (!has_positions_) return Status::ok;
    if (before != 0 && span_at(before).first != 0) widen_span(span_at(before), tick);
    if (before == 0 || tick / span_ticks != before / span_ticks) begin_span(tick);
    return Status::ok;
}

Vec3 History::position(std::uint32_t row, Tick tick) const noexcept {
    PURVIEW_ASSERT(has_positions_);
    Vec3 position;
    std::memcpy(&position,
                cell(row, tick) + offset_[index_of(world_->entities.schema().position())],
                sizeof position);
    return position;
}

/// Builds the index of the span with a counting sort by cell, without memory besides the result.
void History::begin_span(Tick tick) {
    Span& span = span_at(tick);
    span.first = tick;
    span.reach = 0;
    span.unindexed.clear();
    std::uint32_t has_position = 0;
    for (const Row& row : rows_) has_position += row.entity != EntityId::none ? 1 : 0;
    span.side_bits = static_cast<std::uint32_t>(std::bit_width(has_position / 2 + 1) / 2 + 1);
    span.starts.assign((std::size_t{1} << (2 * span.side_bits)) + 1, 0);
    const auto for_each_positioned = [&](auto&& visit) {
        for (std::uint32_t row = 0; row < rows_.size(); ++row) {
            if (rows_[row].entity == EntityId::none ||
                !world_->entities.has_position(index_of(rows_[row].entity)))
                continue;
            const Vec3 at = inner(row, tick);
            visit(row, bucket(cell_coordinate(at.x), cell_coordinate(at.y), span.side_bits));
        }
    };
    for_each_positioned([&](std::uint32_t, std::uint32_t at) { ++span.starts[at + 1]; });
    for (std::size_t b = 1; b < span.starts.size(); ++b) span.starts[b] += span.starts[b - 1];
    if (span.rows.capacity() < span.starts.back()) span.rows.reserve(span.starts.back());
    span.rows.resize(span.starts.back());
    for_each_positioned(
        [&](std::uint32_t row, std::uint32_t at) { span.rows[span.starts[at]++] = row; });
    // Each start has moved to the start of the next bucket.
    for (std::size_t b = span.starts.size() - 1; b > 0; --b) span.starts[b] = span.starts[b - 1];
    span.starts[0] = 0;
    PURVIEW_ASSERT(span.starts.back() == span.rows.size());
}

void History::widen_span(Span& span, Tick tick) {
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
        Row& row = rows_[r];
        if (row.entity == EntityId::none || row.unindexed == span.first) continue;
        if (!world_->entities.has_position(index_of(row.entity))) continue;
        if (row.first <= span.first) {
            const Vec3 now = inner(r, tick);
            const Vec3 then = inner(r, span.first);
            const float gone = std::hypot(now.x - then.x, now.y - then.y);
            if (gone <= cell_m_) {
                span.reach = std::max(span.reach, gone);
                continue;
            }
        }
        row.unindexed = span.first;
        span.unindexed.push_back(r);
    }
}

const History::Span* History::span_of(Tick tick) const noexcept {
    if (newest_ == 0 || tick > newest_ || newest_ - tick >= ticks_) return nullptr;
    const Span& span = spans_[tick / span_ticks % spans_.size()];
    return span.first != 0 && span.first / span_ticks == tick / span_ticks ? &span : nullptr;
}

std::int32_t History::cell_coordinate(float meters) const noexcept {
    constexpr float limit = 1e9F;
    return static_cast<std::int32_t>(std::floor(std::clamp(meters / cell_m_, -limit, limit)));
}

const std::byte* History::at(EntityId entity, ComponentId component, Tick tick) const noexcept {
    const std::uint32_t row = row_of(entity);
    if (row == no_row || index_of(component) >= offset_.size() || !is_remembered(row, tick))
        return nullptr;
    const std::uint16_t offset = offset_[index_of(component)];
    return offset == not_marked || !world_->entities.has(index_of(entity), component)
               ? nullptr
               : cell(row, tick) + offset;
}

bool History::position_at(EntityId entity, double tick, Vec3& out) const noexcept {
    const std::uint32_t row = row_of(entity);
    const auto earlier = static_cast<Tick>(tick);
    if (row == no_row || !has_positions_ || !is_remembered(row, earlier) ||
        !world_->entities.has_position(index_of(entity)))
        return false;
    out = position(row, earlier);
    const auto part = static_cast<float>(tick - earlier);
    if (part <= 0 || earlier == newest_) return true;
    const Vec3 next = position(row, earlier + 1);
    const float teleport_distance =
        world_->entities.kind_def_at(index_of(entity)).teleport_distance;
    if (teleport_distance > 0 && is_jump(out, next, teleport_distance)) return true;
    out.x += (next.x - out.x) * part;
    out.y += (next.y - out.y) * part;
    out.z += (next.z - out.z) * part;
    return true;
}

std::uint64_t History::history_bytes() const noexcept {
    return std::uint64_t{pages_.size()} * page_rows * ticks_ * stride_;
}

std::uint64_t History::index_bytes() const noexcept {
    std::uint64_t bytes = rows_.capacity() * sizeof(Row) + free_rows_.capacity() * 4 +
                          row_at_.capacity() * 4 + spans_.capacity() * sizeof(Span);
    for (const Span& span : spans_) {
        bytes += (span.starts.capacity() + span.rows.capacity() + span.unindexed.capacity()) * 4;
    }
    return bytes;
}

}  // namespace purview
