// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/positions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "core/finite.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

std::uint32_t Positions::layer_for(const KindRules* kind, float range) const noexcept {
    if (kind != nullptr && kind->uses_group_radius) {
        PURVIEW_ASSERT(layers_.bounds < layers_.abstract);  // rules must have group_radius_max > 0
        return layers_.bounds;
    }
    const auto& classes = rules_.range_classes;
    std::uint32_t layer = 0;
    while (range > 0 && layer + 1 < classes.size() && classes[layer] < range) ++layer;
    return layer;
}

/// Returns the grid layer of a cull group that has a position.
std::uint32_t Positions::layer_of(EntityId unit) const noexcept {
    const std::uint32_t index = index_of(unit);
    return layer_for(lookup_.kind_of(kinds_.of(index)),
                     table_.number(facts_table_.columns.range, table_.slot_of(unit)));
}

void Positions::write_bounds(Slot slot, float radius) {
    const Columns& columns = facts_table_.columns;
    const bool was = table_.flag(columns.bounded, slot), is = radius > 0;
    table_.set_number(columns.bounds, slot, radius);
    table_.set_flag(columns.bounded, slot, is);
    PURVIEW_ASSERT(!was || counts_.bounded > 0);
    if (was != is) counts_.bounded += is ? 1 : static_cast<std::uint32_t>(-1);
}

void Positions::write_position(EntityId entity, Vec3 inner_position) {
    const Move one{entity, inner_position};
    const BlockTable::Refused refused = table_.write_positions(std::span(&one, 1));
    PURVIEW_ASSERT(refused.stale_ids == 0 && refused.bad_positions == 0);  // the caller checked
    if (summary_.has_moving_cells) cell_movers_.push_back(entity);
}

Status Positions::move(EntityId entity, Vec3 position) {
    if (!lookup_.is_known(entity)) {
        ++counters_.stale_ids;
        return Status::stale_id;
    }
    if (!is_finite(position)) {
        ++counters_.bad_positions;
        return Status::bad_position;
    }
    if (lookup_.is_member(entity)) return Status::ok;
    if (!position_sources_.empty()) {
        if (PositionSource* source = position_sources_.find(entity)) {
            source->own_position = lookup_.inner(position);
            return Status::ok;
        }
    }
    if (dormant_.size() > 0) {
        if (Vec3* away = dormant_.find(entity)) {
            *away = lookup_.inner(position);
            return Status::ok;
        }
    }
    write_position(entity, lookup_.inner(position));
    return Status::ok;
}

namespace {

/// Moves with their horizontal axes first.
struct ExchangedMoves {
    std::span<const Move> moves;
    std::size_t size() const noexcept { return moves.size(); }
    const Move* data() const noexcept { return moves.data(); }
    Move operator[](std::size_t i) const noexcept {
        return {moves[i].entity, exchanged(Axes::xz, moves[i].position)};
    }
};

}  // namespace

void Positions::move(std::span<const Move> moves) {
    if (groups_.any() || !position_sources_.empty() || dormant_.size() > 0 ||
        summary_.has_moving_cells) {
        for (const Move& one : moves) (void)move(one.entity, one.position);
        return;
    }
    const BlockTable::Refused refused = facts_table_.axes == Axes::xz
                                            ? table_.write_positions(ExchangedMoves{moves})
                                            : table_.write_positions(moves);
    counters_.stale_ids += refused.stale_ids;
    counters_.bad_positions += refused.bad_positions;
}

void Positions::move(const PositionColumns& columns) {
    moves_.clear();
    const auto at = [&](const float* column, std::size_t i) {
        if (column == nullptr) return 0.0F;
        const auto* bytes = reinterpret_cast<const unsigned char*>(column);
        float value = 0;
        std::memcpy(&value, bytes + i * columns.stride_bytes, sizeof value);
        return value;
    };
    const auto put = [&](std::size_t i) {
        if (i >= columns.entities.size() || columns.entities[i] == EntityId::none) return;
        moves_.push_back(
            {columns.entities[i], {at(columns.x, i), at(columns.y, i), at(columns.z, i)}});
    };
    if (!columns.changed.empty()) {
        for (std::size_t w = 0; w < columns.changed.size(); ++w)
            for_each_bit(columns.changed[w], w * bits_per_word, put);
    } else {
        const bool is_flat = !table_.is_three_d();
        for (std::size_t i = 0; i < columns.entities.size(); ++i) {
            const Slot slot = table_.slot_of(columns.entities[i]);
            if (slot != no_slot && !lookup_.is_routed(columns.entities[i])) {
                Vec3 now = lookup_.inner({at(columns.x, i), at(columns.y, i), at(columns.z, i)});
                if (is_flat) now.z = 0;
                if (now == table_.position(slot)) continue;
            }
            put(i);
        }
    }
    move(std::span<const Move>(moves_));
}

/// Returns the length of the longest chain of position sources that ends at the cull group or one
/// of its members, up to `most`.
std::size_t Positions::links_behind(EntityId unit, std::size_t most) const {
    std::size_t longest = 0;
    const auto visit = [&](EntityId one) {
        for (const EntityId follower : position_sources_.followers(one)) {
            if (longest == most) return;
            longest = std::max(longest, 1 + links_behind(follower, most - 1));
        }
    };
    if (most == 0 || position_sources_.empty()) return 0;
    lookup_.for_each_member(unit, true, visit);
    PURVIEW_ASSERT(longest <= most);
    return longest;
}

Status Positions::set_position_source(EntityId entity, EntityId other) {
    if (!lookup_.is_known(entity)) return Status::stale_id;
    if (lookup_.is_member(entity)) return Status::refused;
    if (other == EntityId::none) {
        if (const PositionSource* had = position_sources_.find(entity))
            end_position_source(entity, *had);
        return Status::ok;
    }
    if (!lookup_.is_known(other)) return Status::stale_id;
    EntityId at = lookup_.unit_of(other);
    std::size_t links = 1;
    for (; links <= position_sources_.size() + 1; ++links) {
        if (at == entity) return Status::would_cycle;
        const PositionSource* next = position_sources_.find(at);
        if (next == nullptr) break;
        at = lookup_.unit_of(next->other);
    }
    constexpr std::size_t links_max = PositionSources::links_max;
    if (links + links_behind(entity, links_max) > links_max) return Status::too_deep;
    if (position_sources_.contains(entity)) {
        position_sources_.change(entity, other);
        return Status::ok;
    }
    const Slot slot = table_.slot_of(entity);
    PURVIEW_ASSERT(slot != no_slot);
    const Vec3* away = dormant_.find(entity);
    position_sources_.add(entity, {other, away != nullptr ? *away : table_.position(slot),
                                   !table_.will_be_positioned(slot)});
    return Status::ok;
}

/// Restores the entity's own position, or its lack of one.
void Positions::end_position_source(EntityId entity, PositionSource was) {
    position_sources_.erase(entity);
    if (dormant_.size() > 0) {
        if (Vec3* away = dormant_.find(entity)) *away = was.own_position;
    }
    const Slot slot = table_.slot_of(entity);
    PURVIEW_ASSERT(slot != no_slot);
    const std::uint32_t layer = was.was_abstract ? layers_.abstract : layer_of(entity);
    const bool is_there = table_.layer_of(block_of(slot)) == layer;
    if (is_there) write_position(entity, was.own_position);
    table_.change_layer(entity, layer, is_there ? nullptr : &was.own_position);
    if (summary_.has_moving_cells) cell_movers_.push_back(entity);
}

/// Moves every entity with a source to the position of the source.
void Positions::apply_position_sources() {
    const std::size_t in_a_row_max = position_sources_.size();  // groups may join chains
    // A group that an entity joined may close a cycle. Then the sources in the cycle end.
    const auto comes_back = [&](EntityId entity) {
        EntityId at = entity;
        for (std::size_t steps = 0; steps < in_a_row_max; ++steps) {
            const PositionSource* next = position_sources_.find(at);
            if (next == nullptr) return false;
            at = lookup_.unit_of(next->other);
            if (at == entity) return true;
        }
        return false;
    };
    std::vector<EntityId> ended;
    for (std::size_t i = position_sources_.size(); i > 0; --i) {
        const EntityId entity = position_sources_.entities()[i - 1];
        const EntityId other = position_sources_.find(entity)->other;
        if (!lookup_.is_known(other) || comes_back(entity)) ended.push_back(entity);
    }
    for (const EntityId entity : ended)
        end_position_source(entity, *position_sources_.find(entity));
    for (const EntityId entity : position_sources_.entities()) {
        PURVIEW_ASSERT(table_.slot_of(entity) != no_slot);
        PURVIEW_ASSERT(lookup_.is_known(position_sources_.find(entity)->other));
        EntityId at = entity;
        for (std::size_t steps = 0; steps < in_a_row_max; ++steps) {
            const PositionSource* next = position_sources_.find(at);
            if (next == nullptr) break;
            at = lookup_.unit_of(next->other);
        }
        const Slot slot = table_.slot_of(at), own = table_.slot_of(entity);
        if (slot == no_slot || own == no_slot) continue;
        const bool has_position = table_.will_be_positioned(slot);
        const Vec3 there = table_.position(slot);
        if (has_position != table_.will_be_positioned(own)) {
            // The entity has a position as long as its source has one.
            table_.change_layer(entity, has_position ? layer_of(entity) : layers_.abstract, &there);
            if (summary_.has_moving_cells) cell_movers_.push_back(entity);
        } else if (has_position && !(there == table_.position(own))) {
            write_position(entity, there);
        }
    }
}

}  // namespace purview
