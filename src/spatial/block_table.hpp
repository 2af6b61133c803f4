// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where every entity lives: one home slot, a lane of a block of 16, kept while it stays in its
// cell.
//
//   cells of all layers        base block = cell, so a row of cells is a run of blocks
//   0 1 2 3 ... C-1 | C ...    from C on: overflow blocks, chained to a full cell in a ring
//   one block: x[16] y[16] (z[16]) as floats, an empty lane has x = +infinity
//
// Flags, keys and whatever else interest asks by slot are columns over the same numbering; they
// move with their entity. Must not know: observers, rules. Keeps: a lane that was left this tick
// takes no new entity before end_tick(), so a bit by slot can never speak of two entities; an
// overflow block with a free lane stands before all full ones of its ring, so inserting is O(1) in
// any crowd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "purview/ids.hpp"

namespace purview {

using Mask = std::uint16_t;  ///< bit i speaks of lane i of a block
using BlockIndex = std::uint32_t;
using Slot = std::uint32_t;  ///< block * 16 + lane

inline constexpr unsigned lanes_per_block = 16;
inline constexpr Mask all_lanes = 0xffff;
inline constexpr Slot no_slot = 0xffffffffU;
inline constexpr std::uint32_t no_entity = 0xffffffffU;

constexpr BlockIndex block_of(Slot slot) noexcept {
    return slot / lanes_per_block;
}
constexpr unsigned lane_of(Slot slot) noexcept {
    return slot % lanes_per_block;
}
constexpr Slot slot_at(BlockIndex block, unsigned lane) noexcept {
    return block * lanes_per_block + lane;
}
constexpr Mask lane_bit(unsigned lane) noexcept {
    return static_cast<Mask>(1U << lane);
}

/// A uniform grid of cells over a rectangle (or box). What lies outside belongs to the border cell.
struct GridLayer {
    Vec3 origin;
    float cell_m = 1;
    float inverse_cell = 1;
    std::uint32_t nx = 1;
    std::uint32_t ny = 1;
    std::uint32_t nz = 1;
    BlockIndex first_cell = 0;

    /// floor, clamped to 0..n-1; monotonic in value, so a border point has exactly one cell (P22).
    static std::uint32_t axis_cell(float value, float origin, float inverse,
                                   std::uint32_t n) noexcept {
        const float scaled = (value - origin) * inverse;
        if (!(scaled > 0)) return 0;
        return scaled >= static_cast<float>(n) ? n - 1 : static_cast<std::uint32_t>(scaled);
    }
    std::uint32_t cell_x(float x) const noexcept {
        return axis_cell(x, origin.x, inverse_cell, nx);
    }
    std::uint32_t cell_y(float y) const noexcept {
        return axis_cell(y, origin.y, inverse_cell, ny);
    }
    std::uint32_t cell_z(float z) const noexcept {
        return axis_cell(z, origin.z, inverse_cell, nz);
    }
    BlockIndex cell_at(Vec3 p) const noexcept {
        return first_cell + (cell_z(p.z) * ny + cell_y(p.y)) * nx + cell_x(p.x);
    }
    std::uint32_t cell_count() const noexcept { return nx * ny * nz; }
};

/// An entity that left a slot this tick. Where it is now, slot_of() says.
struct Displaced {
    EntityId entity;
    Slot from = no_slot;
    bool silent = false;  ///< whoever removed it has told the observers: its bits end here
};

class BlockTable {
  public:
    /// `three_d`: blocks have a third line and cells a third axis.
    explicit BlockTable(bool three_d) : axes_(three_d ? 3 : 2) {}

    /// Layers are added before the first entity. Returns the layer's number.
    std::uint32_t add_layer(Vec3 min, Vec3 max, float cell_m);
    /// A layer of one block ring for entities without a place; no region covers it.
    std::uint32_t add_unplaced_layer();
    std::span<const GridLayer> layers() const noexcept { return layers_; }
    /// Columns by slot, added before the first entity.
    std::uint32_t add_flag_column();
    std::uint32_t add_key_column();

    // -- reads ----------------------------------------------------------------------------------
    BlockIndex block_end() const noexcept { return static_cast<BlockIndex>(occupied_.size()); }
    bool is_three_d() const noexcept { return axes_ == 3; }
    unsigned floats_per_block() const noexcept { return axes_ * lanes_per_block; }
    /// [16 * axes]: 16 x, then 16 y, then 16 z.
    const float* coordinates(BlockIndex block) const noexcept {
        return coordinates_.data() + std::size_t{block} * floats_per_block();
    }
    Vec3 place(Slot slot) const noexcept;
    Mask occupied(BlockIndex block) const noexcept { return occupied_[block]; }
    Mask vacated(BlockIndex block) const noexcept { return vacated_[block]; }
    /// Its entities have no place.
    bool is_unplaced(BlockIndex block) const noexcept { return cell_[block] == unplaced_cell_; }
    bool is_vacated(Slot slot) const noexcept {
        return (vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    /// The next block of the same cell; the ring comes back to the base block.
    BlockIndex next(BlockIndex block) const noexcept { return next_[block]; }
    BlockIndex cell_of_block(BlockIndex block) const noexcept { return cell_[block]; }
    /// Of an occupied lane.
    EntityId entity(Slot slot) const noexcept { return entity_[slot]; }
    /// The home of an entity, or no_slot for one that has none (or a stale id). One look-up.
    Slot slot_of(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        if (index >= home_.size() || home_[index] == no_slot) return no_slot;
        return entity_[home_[index]] == entity ? home_[index] : no_slot;
    }
    /// The entity that lives under an index, or none.
    EntityId entity_at(std::uint32_t index) const noexcept {
        if (index >= home_.size() || home_[index] == no_slot) return EntityId::none;
        return entity_[home_[index]];
    }
    std::span<const Mask> flags(std::uint32_t column) const noexcept { return flags_[column]; }
    std::span<const Key> keys(std::uint32_t column) const noexcept { return keys_[column]; }
    bool flag(std::uint32_t column, Slot slot) const noexcept {
        return (flags_[column][block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    Key key(std::uint32_t column, Slot slot) const noexcept { return keys_[column][slot]; }
    std::uint32_t layer_of(BlockIndex block) const noexcept;

    // -- edits, one thread ----------------------------------------------------------------------
    /// Columns of the new lane are zero. place must be finite. Its index must be free.
    Slot insert(EntityId entity, std::uint32_t layer, Vec3 place);
    /// The new slot: the same while it stays in its cell.
    Slot move(Slot slot, Vec3 place);
    void remove(Slot slot, bool silent);
    void set_flag(std::uint32_t column, Slot slot, bool value) noexcept;
    void set_key(std::uint32_t column, Slot slot, Key key) noexcept { keys_[column][slot] = key; }

    /// What left its slot since the last end_tick(), in order.
    std::span<const Displaced> displaced() const noexcept { return displaced_; }
    /// The record of a lane whose vacated bit is set.
    const Displaced& displaced_from(Slot slot) const noexcept;
    /// Lanes that were left are free again; overflow blocks that are empty are recycled.
    void end_tick();
    /// Debug: every entity of the cell goes to another lane, as if it had moved. Finds slots that
    /// somebody kept across a tick.
    void shuffle_cell(BlockIndex cell);
    std::size_t memory_bytes() const noexcept;

  private:
    static constexpr std::uint64_t displaced_tag = std::uint64_t{1} << 63;

    Slot take_lane(BlockIndex cell);
    Slot relocate(Slot slot, Vec3 place, BlockIndex cell);
    void vacate(Slot slot, bool silent);
    void write_place(Slot slot, Vec3 place) noexcept;
    BlockIndex new_block(BlockIndex cell);
    void append_block();
    void link_after(BlockIndex block, BlockIndex position) noexcept;
    void unlink(BlockIndex block) noexcept;
    void free_vacated(BlockIndex block);
    Mask free_lanes(BlockIndex block) const noexcept {
        return static_cast<Mask>(~(occupied_[block] | vacated_[block]));
    }

    unsigned axes_;
    std::vector<GridLayer> layers_;
    BlockIndex cell_count_ = 0;
    BlockIndex unplaced_cell_ = 0xffffffffU;
    LineVector<float> coordinates_;
    LineVector<Mask> occupied_;
    LineVector<Mask> vacated_;
    /// By slot. A lane that was left this tick holds displaced_tag | index into displaced_.
    LineVector<EntityId> entity_;
    std::vector<Slot> home_;  ///< by entity index
    std::vector<BlockIndex> next_;
    std::vector<BlockIndex> previous_;
    std::vector<BlockIndex> cell_;
    std::vector<LineVector<Mask>> flags_;
    std::vector<LineVector<Key>> keys_;
    std::vector<BlockIndex> free_blocks_;
    std::vector<Displaced> displaced_;
    std::vector<BlockIndex> vacated_blocks_;  ///< each once
    std::vector<Slot> shuffle_slots_;
};

}  // namespace purview
