// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/block_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/prefetch.hpp"
#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

constexpr float empty_lane = std::numeric_limits<float>::infinity();

/// Returns the number of cells along one axis, at least 1.
std::uint32_t axis_count(float min, float max, float cell_size) {
    const float count = std::ceil((max - min) / cell_size);
    constexpr auto most = static_cast<float>(axis_cells_max);
    return count < 1 ? 1U : count > most ? axis_cells_max : static_cast<std::uint32_t>(count);
}

}  // namespace

BlockTable::BlockTable(bool three_d) : axes_(three_d ? 3 : 2) {
    free_blocks_.reserve(least_room);
    idle_.reserve(least_room);
    displaced_.reserve(least_room);
    vacated_blocks_.reserve(least_room);
    leaving_.reserve(least_room);
    unsettled_cells_.reserve(least_room);
}

std::uint32_t BlockTable::add_layer(Vec3 min, Vec3 max, float cell_size) {
    GridLayer layer;
    layer.origin = {min.x - cell_size, min.y - cell_size, is_three_d() ? min.z - cell_size : min.z};
    layer.cell_size = cell_size;
    layer.inverse_cell = 1 / cell_size;
    layer.set_counts(axis_count(min.x, max.x, cell_size) + 2,
                     axis_count(min.y, max.y, cell_size) + 2,
                     is_three_d() ? axis_count(min.z, max.z, cell_size) + 2 : 1);
    return append_layer(layer);
}

std::uint32_t BlockTable::append_layer(GridLayer layer) {
    PURVIEW_ASSERT(block_end() == cell_count_);     // overflow blocks come after all cells
    PURVIEW_ASSERT(abstract_cell_ == 0xffffffffU);  // the abstract layer is the last one
    layer.first_cell = cell_count_;
    layers_.push_back(layer);
    cell_count_ += layer.cell_count();
    append_blocks(cell_count_ - block_end());
    overflowing_.resize(cell_count_);
    unsettled_.resize(cell_count_);
    ring_changed_.resize(cell_count_);
    return static_cast<std::uint32_t>(layers_.size() - 1);
}

std::uint32_t BlockTable::add_abstract_layer() {
    const std::uint32_t layer = append_layer({});
    abstract_cell_ = layers_[layer].first_cell;
    return layer;
}

std::uint32_t BlockTable::add_flag_column() {
    flags_.emplace_back();
    return static_cast<std::uint32_t>(flags_.size() - 1);
}

std::uint32_t BlockTable::add_key_column() {
    keys_.emplace_back(std::size_t{block_end()} * lanes_per_block, Key::none);
    return static_cast<std::uint32_t>(keys_.size() - 1);
}

std::uint32_t BlockTable::add_float_column() {
    floats_.emplace_back();
    return static_cast<std::uint32_t>(floats_.size() - 1);
}

void BlockTable::reserve(std::size_t entities) {
    // With twelve entities per cell one cell in ten overflows, and up to one in five after all have
    // moved around.
    constexpr std::size_t least = 16;
    const std::size_t overflow = std::min<std::size_t>(block_end(), entities / 12) / 5;
    const std::size_t blocks = block_end() + std::max(overflow, least);
    coordinates_.reserve(blocks * floats_per_block());
    occupied_.reserve(blocks);
    vacated_.reserve(blocks);
    index_.reserve(blocks * lanes_per_block);
    next_.reserve(blocks);
    previous_.reserve(blocks);
    cell_.reserve(blocks);
    home_.reserve(entities);
    free_blocks_.reserve(blocks - block_end());
    idle_.reserve(blocks - block_end());
}

// -- lanes --------------------------------------------------------------------------------------

namespace {

/// Grows the capacity by a sixteenth, so that occasional appends do not double the memory.
template <class Vector>
void grow_little(Vector& vector, std::size_t more) {
    const std::size_t wanted = vector.size() + more;
    if (wanted > vector.capacity()) vector.reserve(wanted + wanted / 16 + 64);
}

}  // namespace

/// Appends empty blocks. Each is a ring of its own.
void BlockTable::append_blocks(std::uint32_t count) {
    const BlockIndex first = block_end(), end = first + count;
    const auto append_to = [&](auto& column, std::size_t of_each, auto value) {
        grow_little(column, count * of_each);
        column.resize(std::size_t{end} * of_each, value);
    };
    append_to(coordinates_, floats_per_block(), 0.0F);
    append_to(occupied_, 1, Mask{0});
    append_to(vacated_, 1, Mask{0});
    append_to(index_, lanes_per_block, 0U);
    append_to(next_, 1, BlockIndex{0});
    append_to(previous_, 1, BlockIndex{0});
    append_to(cell_, 1, BlockIndex{0});
    for (auto& column : flags_) {
        if (!column.empty()) append_to(column, 1, Mask{0});
    }
    for (auto& column : keys_) append_to(column, lanes_per_block, Key::none);
    for (auto& column : floats_) {
        if (!column.empty()) append_to(column, lanes_per_block, 0.0F);
    }
    dirty_.resize(end);
    is_idle_.resize(end);
    for (BlockIndex block = first; block < end; ++block) {
        float* const x = coordinates_.data() + std::size_t{block} * floats_per_block();
        std::fill_n(x, lanes_per_block, empty_lane);
        next_[block] = previous_[block] = cell_[block] = block;
    }
}

void BlockTable::link_after(BlockIndex block, BlockIndex position) noexcept {
    next_[block] = next_[position];
    previous_[block] = position;
    previous_[next_[position]] = block;
    next_[position] = block;
    PURVIEW_ASSERT(cell_[block] == cell_[position]);
}

void BlockTable::unlink(BlockIndex block) noexcept {
    PURVIEW_ASSERT(block >= cell_count_);  // a cell keeps its base block
    PURVIEW_ASSERT(next_[previous_[block]] == block && previous_[next_[block]] == block);
    next_[previous_[block]] = next_[block];
    previous_[next_[block]] = previous_[block];
}

BlockIndex BlockTable::new_block(BlockIndex cell) {
    if (free_blocks_.empty() && !recycle_idle(ticks_)) {
        append_blocks(1);
        free_blocks_.push_back(block_end() - 1);
    }
    const BlockIndex block = free_blocks_.back();
    free_blocks_.pop_back();
    PURVIEW_ASSERT((occupied_[block] | vacated_[block]) == 0 && next_[block] == block);
    PURVIEW_ASSERT(!is_idle_.test(block));
    cell_[block] = cell;
    link_after(block, cell);
    overflowing_.set(cell);
    change_ring(cell);
    return block;
}

Slot BlockTable::take_lane(BlockIndex cell) {
    BlockIndex block = cell;
    if (free_lanes(block) == 0) {
        block = next_[cell];
        if (block == cell || free_lanes(block) == 0) {
            // Blocks with a free lane come before all full ones. If the first is full, so is the
            // last.
            PURVIEW_ASSERT(free_lanes(previous_[cell]) == 0);
            block = new_block(cell);
        }
    }
    PURVIEW_ASSERT(free_lanes(block) != 0 && cell_[block] == cell);
    const auto lane = static_cast<unsigned>(std::countr_zero(free_lanes(block)));
    occupied_[block] |= lane_bit(lane);
    mark_dirty(block);
    if (block != cell && free_lanes(block) == 0) {  // full blocks go to the end of the ring
        unlink(block);
        link_after(block, previous_[cell]);
    }
    return slot_at(block, lane);
}

void BlockTable::vacate(Slot slot, Slot to, bool silent) {
    const BlockIndex block = block_of(slot);
    const Mask bit = lane_bit(lane_of(slot));
    PURVIEW_ASSERT((occupied_[block] & bit) != 0);
    PURVIEW_ASSERT((vacated_[block] & bit) == 0);  // a vacated lane is not reused in its tick
    PURVIEW_ASSERT(home_[index_[slot]].slot == slot);
    occupied_[block] = static_cast<Mask>(occupied_[block] & ~bit);
    if (vacated_[block] == 0) vacated_blocks_.push_back(block);
    unsettle(cell_[block]);
    vacated_[block] |= bit;
    displaced_.push_back({entity(slot), slot, to, silent});
    index_[slot] = displaced_tag | static_cast<std::uint32_t>(displaced_.size() - 1);
    mark_dirty(block);
    write_position(slot, {empty_lane, 0, 0});
    for (auto& column : flags_) {
        if (!column.empty()) column[block] = static_cast<Mask>(column[block] & ~bit);
    }
    for (auto& column : keys_) column[slot] = Key::none;
    for (auto& column : floats_) {
        if (!column.empty()) column[slot] = 0;
    }
}

Slot BlockTable::insert(EntityId entity, std::uint32_t layer, Vec3 position) {
    const std::uint32_t index = index_of(entity);
    PURVIEW_ASSERT(index < entity_index_end && layer < layers_.size());
    if (home_.size() <= index) {
        grow_little(home_, index + 1 - home_.size());
        home_.resize(index + 1);
    }
    PURVIEW_ASSERT(home_[index].slot == no_slot);
    const Slot slot = take_lane(layers_[layer].cell_at(position));
    index_[slot] = index;
    home_[index] = {slot, generation_of(entity)};
    write_position(slot, position);
    return slot;
}

void BlockTable::change_layer(EntityId entity, std::uint32_t layer, const Vec3* position) {
    const Slot slot = slot_of(entity);
    PURVIEW_ASSERT(slot != no_slot && layer < layers_.size());
    any_coming_ |= is_abstract(block_of(slot));
    if (position != nullptr) {
        write_position(slot, *position);
        if (moved_column_ != no_column) set_flag(moved_column_, slot, true);
    }
    const std::uint32_t* had = change_of_.find(index_of(entity));
    if (had != nullptr && changes_[*had].entity == entity) {
        changes_[*had].layer = layer;
        return;
    }
    change_of_[index_of(entity)] = static_cast<std::uint32_t>(changes_.size());
    changes_.push_back({entity, layer});
}

bool BlockTable::changes_to_positioned(Slot slot) const noexcept {
    const EntityId entity = this->entity(slot);
    const std::uint32_t* found = change_of_.find(index_of(entity));
    if (found != nullptr && changes_[*found].entity == entity)
        return layers_[changes_[*found].layer].first_cell != abstract_cell_;
    return !is_abstract(block_of(slot));
}

void BlockTable::settle_moves() {
    for (const LayerChange& change : changes_) {
        const Slot slot = slot_of(change.entity);
        if (slot == no_slot) continue;  // removed meanwhile
        const Vec3 at = position(slot);
        const BlockIndex cell = layers_[change.layer].cell_at(at);
        if (cell_[block_of(slot)] == cell) {
            mark_dirty(block_of(slot));
        } else {
            (void)relocate(slot, at, cell);
        }
    }
    if (!changes_.empty()) change_of_ = {};
    clear_and_trim(changes_);
    any_coming_ = false;
    // Prefetches for later iterations: the home record first, then the lane, then the target cell.
    constexpr std::size_t home_ahead = 24, lane_ahead = 16, cell_ahead = 8;
    const std::size_t n = leaving_.size();
    const auto cell_of_leaver = [&](Slot slot, BlockIndex home) {
        return layers_[layer_of_cell(home)].cell_at(position(slot));
    };
    for (std::size_t i = 0; i < n; ++i) {
        if (i + home_ahead < n) prefetch_home_of(leaving_[i + home_ahead]);
        if (i + lane_ahead < n) prefetch_lane(slot_of(leaving_[i + lane_ahead]));
        if (i + cell_ahead < n) {
            const Slot slot = slot_of(leaving_[i + cell_ahead]);
            if (slot != no_slot) prefetch_cell(cell_of_leaver(slot, cell_[block_of(slot)]));
        }
        const Slot slot = slot_of(leaving_[i]);
        if (slot == no_slot) continue;  // removed meanwhile
        const BlockIndex home = cell_[block_of(slot)];
        if (home == abstract_cell_) continue;
        const BlockIndex cell = cell_of_leaver(slot, home);
        if (cell != home) (void)relocate(slot, position(slot), cell);
    }
    clear_and_trim(leaving_);
}

void BlockTable::prefetch_lane(Slot slot) const noexcept {
    if (slot == no_slot) return;
    const BlockIndex block = block_of(slot);
    for (unsigned a = 0; a < axes_; ++a) prefetch_line(coordinates(block) + a * lanes_per_block);
    prefetch_line(&index_[slot]);
    prefetch_line(&cell_[block]);
}

/// Prefetches a cell that gets one more entity.
void BlockTable::prefetch_cell(BlockIndex cell) const noexcept {
    for (unsigned a = 0; a < axes_; ++a) prefetch_line(coordinates(cell) + a * lanes_per_block);
    prefetch_line(&index_[slot_at(cell, 0)]);
    prefetch_line(&occupied_[cell]);
    prefetch_line(&vacated_[cell]);
}

Slot BlockTable::relocate(Slot slot, Vec3 position, BlockIndex cell) {
    const std::uint32_t index = index_[slot];
    const Slot to = take_lane(cell);
    index_[to] = index;
    write_position(to, position);
    const Mask from_bit = lane_bit(lane_of(slot));
    for (auto& column : flags_) {
        if (column.empty()) continue;
        if ((column[block_of(slot)] & from_bit) != 0) column[block_of(to)] |= lane_bit(lane_of(to));
    }
    for (auto& column : keys_) column[to] = column[slot];
    for (auto& column : floats_) {
        if (!column.empty()) column[to] = column[slot];
    }
    vacate(slot, to, false);
    home_[index].slot = to;
    return to;
}

void BlockTable::remove(Slot slot, bool silent) {
    const std::uint32_t index = index_[slot];
    if (const std::uint32_t* change = change_of_.find(index)) {
        // The same id may be inserted again before layers change.
        PURVIEW_ASSERT(changes_[*change].entity == entity(slot));
        changes_[*change].entity = EntityId::none;
        change_of_.erase(index);
    }
    vacate(slot, no_slot, silent);
    home_[index] = Home{};
}

void BlockTable::set_number(std::uint32_t column, Slot slot, float number) {
    PURVIEW_ASSERT((occupied_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
    if (floats_[column].empty()) {
        if (number == 0) return;
        floats_[column].resize(std::size_t{block_end()} * lanes_per_block, 0.0F);
    }
    floats_[column][slot] = number;
    mark_dirty(block_of(slot));
}

void BlockTable::clear_flag_column(std::uint32_t column) {
    for (BlockIndex block = 0; block < flags_[column].size(); ++block) {
        if (flags_[column][block] != 0) mark_dirty(block);
    }
    flags_[column] = {};
}

void BlockTable::set_flag(std::uint32_t column, Slot slot, bool value) {
    PURVIEW_ASSERT((occupied_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
    if (flags_[column].empty()) {
        if (!value) return;
        flags_[column].resize(block_end(), 0);
    }
    auto& mask = flags_[column][block_of(slot)];
    const Mask bit = lane_bit(lane_of(slot));
    mask = static_cast<Mask>(value ? mask | bit : mask & ~bit);
    mark_dirty(block_of(slot));
}

void BlockTable::free_vacated(BlockIndex block) {
    PURVIEW_ASSERT(vacated_[block] != 0);
    const bool was_full = free_lanes(block) == 0;
    vacated_[block] = 0;
    const BlockIndex cell = cell_[block];
    if (block == cell) return;
    if (occupied_[block] == 0 && !is_idle_.test(block)) {
        is_idle_.set(block);
        idle_.push_back({block, ticks_});
    }
    if (was_full) {
        unlink(block);
        link_after(block, cell);
    }
}

void BlockTable::recycle(BlockIndex block) {
    const BlockIndex cell = cell_[block];
    unlink(block);
    next_[block] = previous_[block] = block;
    free_blocks_.push_back(block);
    if (next_[cell] == cell) overflowing_.reset(cell);
    change_ring(cell);  // visible block sets must drop the block
}

bool BlockTable::recycle_idle(std::uint32_t since_at_most) {
    bool found = false;
    while (!found && idle_begin_ < idle_.size() && idle_[idle_begin_].since <= since_at_most) {
        const BlockIndex block = idle_[idle_begin_++].block;
        PURVIEW_ASSERT(is_idle_.test(block));
        is_idle_.reset(block);
        found = (occupied_[block] | vacated_[block]) == 0;
        if (found) recycle(block);
    }
    if (idle_begin_ * 2 > idle_.size()) {
        idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(idle_begin_));
        idle_begin_ = 0;
    }
    return found;
}

void BlockTable::end_tick() {
    constexpr std::uint32_t idle_ticks = 64;
    PURVIEW_ASSERT(any_dirty_ || dirty_.none());
    PURVIEW_ASSERT(displaced_.empty() == vacated_blocks_.empty());
    PURVIEW_ASSERT(vacated_blocks_.empty() || !unsettled_cells_.empty());
    if (any_dirty_) dirty_.clear_all();
    any_dirty_ = false;
    for (const BlockIndex cell : unsettled_cells_) {
        unsettled_.reset(cell);
        ring_changed_.reset(cell);
    }
    clear_and_trim(unsettled_cells_);
    moves_seen_ = 0;
    clear_and_trim(cell_moves_);
    if (moved_column_ != no_column)
        std::fill(flags_[moved_column_].begin(), flags_[moved_column_].end(), Mask{0});
    for (const BlockIndex block : vacated_blocks_) free_vacated(block);
    clear_and_trim(vacated_blocks_);
    clear_and_trim(displaced_);
    ++ticks_;
    while (ticks_ > idle_ticks && recycle_idle(ticks_ - idle_ticks)) {
    }
}

void BlockTable::shuffle_cell(BlockIndex cell) {
    PURVIEW_ASSERT(cell < cell_count_);
    shuffle_slots_.clear();
    BlockIndex block = cell;
    do {
        for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
            if ((occupied_[block] & lane_bit(lane)) != 0)
                shuffle_slots_.push_back(slot_at(block, lane));
        }
        block = next_[block];
    } while (block != cell);
    for (const Slot slot : shuffle_slots_) (void)relocate(slot, position(slot), cell);
}

}  // namespace purview
