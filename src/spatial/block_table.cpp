// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/block_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "purview/status.hpp"

namespace purview {

namespace {

constexpr float empty_lane = std::numeric_limits<float>::infinity();

/// Cells of one axis; at least 1, at most 2^14 so that a layer's cells fit 32 bits (1 km of 6 cm).
std::uint32_t axis_count(float min, float max, float cell_m) {
    const float count = std::ceil((max - min) / cell_m);
    return count < 1 ? 1U : count > 16384.0F ? 16384U : static_cast<std::uint32_t>(count);
}

}  // namespace

std::uint32_t BlockTable::add_layer(Vec3 min, Vec3 max, float cell_m) {
    PURVIEW_ASSERT(block_end() == cell_count_);
    GridLayer layer;
    layer.origin = min;
    layer.cell_m = cell_m;
    layer.inverse_cell = 1 / cell_m;
    layer.nx = axis_count(min.x, max.x, cell_m);
    layer.ny = axis_count(min.y, max.y, cell_m);
    layer.nz = is_three_d() ? axis_count(min.z, max.z, cell_m) : 1;
    layer.first_cell = cell_count_;
    layers_.push_back(layer);
    cell_count_ += layer.cell_count();
    while (block_end() < cell_count_) append_block();
    return static_cast<std::uint32_t>(layers_.size() - 1);
}

std::uint32_t BlockTable::add_unplaced_layer() {
    const std::uint32_t layer = add_layer({0, 0, 0}, {1, 1, 1}, 1);
    unplaced_cell_ = layers_[layer].first_cell;
    return layer;
}

std::uint32_t BlockTable::add_flag_column() {
    flags_.emplace_back(block_end(), Mask{0});
    return static_cast<std::uint32_t>(flags_.size() - 1);
}

std::uint32_t BlockTable::add_key_column() {
    keys_.emplace_back(std::size_t{block_end()} * lanes_per_block, Key::none);
    return static_cast<std::uint32_t>(keys_.size() - 1);
}

Vec3 BlockTable::place(Slot slot) const noexcept {
    const float* at = coordinates(block_of(slot)) + lane_of(slot);
    return {at[0], at[lanes_per_block], axes_ == 3 ? at[2 * lanes_per_block] : 0};
}

std::uint32_t BlockTable::layer_of(BlockIndex block) const noexcept {
    const BlockIndex cell = cell_[block];
    std::uint32_t layer = 0;
    while (layer + 1 < layers_.size() && layers_[layer + 1].first_cell <= cell) ++layer;
    return layer;
}

// -- lanes --------------------------------------------------------------------------------------

void BlockTable::append_block() {
    const BlockIndex block = block_end();
    coordinates_.resize(coordinates_.size() + floats_per_block(), 0.0F);
    std::fill_n(coordinates_.end() - floats_per_block(), lanes_per_block, empty_lane);
    occupied_.push_back(0);
    vacated_.push_back(0);
    entity_.resize(entity_.size() + lanes_per_block, EntityId::none);
    next_.push_back(block);
    previous_.push_back(block);
    cell_.push_back(block);
    for (auto& column : flags_) column.push_back(0);
    for (auto& column : keys_) column.resize(column.size() + lanes_per_block, Key::none);
}

void BlockTable::link_after(BlockIndex block, BlockIndex position) noexcept {
    next_[block] = next_[position];
    previous_[block] = position;
    previous_[next_[position]] = block;
    next_[position] = block;
}

void BlockTable::unlink(BlockIndex block) noexcept {
    next_[previous_[block]] = next_[block];
    previous_[next_[block]] = previous_[block];
}

BlockIndex BlockTable::new_block(BlockIndex cell) {
    if (free_blocks_.empty()) {
        append_block();
        free_blocks_.push_back(block_end() - 1);
    }
    const BlockIndex block = free_blocks_.back();
    free_blocks_.pop_back();
    cell_[block] = cell;
    link_after(block, cell);
    return block;
}

Slot BlockTable::take_lane(BlockIndex cell) {
    BlockIndex block = cell;
    if (free_lanes(block) == 0) {
        block = next_[cell];
        if (block == cell || free_lanes(block) == 0) block = new_block(cell);
    }
    const auto lane = static_cast<unsigned>(std::countr_zero(free_lanes(block)));
    occupied_[block] |= lane_bit(lane);
    if (block != cell && free_lanes(block) == 0) {  // full: behind those that are not
        unlink(block);
        link_after(block, previous_[cell]);
    }
    return slot_at(block, lane);
}

void BlockTable::write_place(Slot slot, Vec3 place) noexcept {
    float* at =
        coordinates_.data() + std::size_t{block_of(slot)} * floats_per_block() + lane_of(slot);
    at[0] = place.x;
    at[lanes_per_block] = place.y;
    if (axes_ == 3) at[2 * lanes_per_block] = place.z;
}

void BlockTable::vacate(Slot slot, bool silent) {
    const BlockIndex block = block_of(slot);
    const Mask bit = lane_bit(lane_of(slot));
    PURVIEW_ASSERT((occupied_[block] & bit) != 0);
    occupied_[block] = static_cast<Mask>(occupied_[block] & ~bit);
    if (vacated_[block] == 0) vacated_blocks_.push_back(block);
    vacated_[block] |= bit;
    displaced_.push_back({entity_[slot], slot, silent});
    entity_[slot] = EntityId{displaced_tag | (displaced_.size() - 1)};
    write_place(slot, {empty_lane, 0, 0});
    for (auto& column : flags_) column[block] = static_cast<Mask>(column[block] & ~bit);
    for (auto& column : keys_) column[slot] = Key::none;
}

Slot BlockTable::insert(EntityId entity, std::uint32_t layer, Vec3 place) {
    const std::uint32_t index = index_of(entity);
    if (home_.size() <= index)
        home_.resize(std::max<std::size_t>(index + 1, home_.size() * 2), no_slot);
    PURVIEW_ASSERT(home_[index] == no_slot);
    const Slot slot = take_lane(layers_[layer].cell_at(place));
    entity_[slot] = entity;
    home_[index] = slot;
    write_place(slot, place);
    return slot;
}

Slot BlockTable::move(Slot slot, Vec3 place) {
    const BlockIndex cell = layers_[layer_of(block_of(slot))].cell_at(place);
    if (cell == cell_[block_of(slot)]) {
        write_place(slot, place);
        return slot;
    }
    return relocate(slot, place, cell);
}

Slot BlockTable::relocate(Slot slot, Vec3 place, BlockIndex cell) {
    const EntityId entity = entity_[slot];
    const Slot to = take_lane(cell);
    entity_[to] = entity;
    home_[index_of(entity)] = to;
    write_place(to, place);
    const Mask from_bit = lane_bit(lane_of(slot));
    for (auto& column : flags_) {
        if ((column[block_of(slot)] & from_bit) != 0) column[block_of(to)] |= lane_bit(lane_of(to));
    }
    for (auto& column : keys_) column[to] = column[slot];
    vacate(slot, false);
    return to;
}

void BlockTable::remove(Slot slot, bool silent) {
    home_[index_of(entity_[slot])] = no_slot;
    vacate(slot, silent);
}

void BlockTable::set_flag(std::uint32_t column, Slot slot, bool value) noexcept {
    auto& mask = flags_[column][block_of(slot)];
    const Mask bit = lane_bit(lane_of(slot));
    mask = static_cast<Mask>(value ? mask | bit : mask & ~bit);
}

const Displaced& BlockTable::displaced_from(Slot slot) const noexcept {
    PURVIEW_ASSERT((vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
    return displaced_[static_cast<std::uint64_t>(entity_[slot]) & ~displaced_tag];
}

void BlockTable::free_vacated(BlockIndex block) {
    const bool was_full = free_lanes(block) == 0;
    vacated_[block] = 0;
    const BlockIndex cell = cell_[block];
    if (block == cell) return;
    if (occupied_[block] == 0) {
        unlink(block);
        next_[block] = previous_[block] = block;
        free_blocks_.push_back(block);
    } else if (was_full) {
        unlink(block);
        link_after(block, cell);
    }
}

void BlockTable::end_tick() {
    for (const BlockIndex block : vacated_blocks_) free_vacated(block);
    vacated_blocks_.clear();
    displaced_.clear();
}

void BlockTable::shuffle_cell(BlockIndex cell) {
    shuffle_slots_.clear();
    BlockIndex block = cell;
    do {
        for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
            if ((occupied_[block] & lane_bit(lane)) != 0)
                shuffle_slots_.push_back(slot_at(block, lane));
        }
        block = next_[block];
    } while (block != cell);
    for (const Slot slot : shuffle_slots_) (void)relocate(slot, place(slot), cell);
}

std::size_t BlockTable::memory_bytes() const noexcept {
    std::size_t bytes =
        coordinates_.capacity() * sizeof(float) +
        (occupied_.capacity() + vacated_.capacity()) * sizeof(Mask) +
        entity_.capacity() * sizeof(EntityId) + home_.capacity() * sizeof(Slot) +
        (next_.capacity() + previous_.capacity() + cell_.capacity()) * sizeof(BlockIndex);
    for (const auto& column : flags_) bytes += column.capacity() * sizeof(Mask);
    for (const auto& column : keys_) bytes += column.capacity() * sizeof(Key);
    return bytes;
}

}  // namespace purview
