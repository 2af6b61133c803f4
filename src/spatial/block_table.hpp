// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Stores the position of every entity. Each entity has one home slot, a lane of a block of 16, and
// keeps it while it stays in its cell.
//
//   cells of all layers        base block = cell, so a row of cells is a run of blocks
//   0 1 2 3 ... C-1 | C ...    from C on: overflow blocks, chained to a full cell in a ring
//   one block: x[16] y[16] (z[16]) as floats, an empty lane has x = +infinity
//   grid: a ring of border cells around the bounds covers everything outside
//
// Flags, keys and other data of interest management are columns with the same numbering. They move
// with their entity. This module must not depend on observers or rules.
//
// Invariants: a lane that was vacated in this tick is not reused before end_tick(), so a bit by
// slot never refers to two entities. An overflow block with a free lane comes before all full
// blocks of its ring, so an insertion is O(1) in any crowd.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/finite.hpp"
#include "core/flat_map.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "spatial/lanes.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

/// Entity indices are below this. The bit above marks a vacated lane.
inline constexpr std::uint32_t entity_index_end = 0x80000000U;
/// Maximum number of cells along one axis of a grid, so that the cells of a layer fit 32 bits (1 km
/// of 6 cm cells).
inline constexpr std::uint32_t axis_cells_max = 1U << 14;

/// A uniform grid of cells over a rectangle (or box). A ring of border cells around it covers
/// everything outside. Border cells extend to infinity; all others have exactly the cell size.
struct GridLayer {
    Vec3 origin;  ///< minimum corner of the ring
    float cell_size = 1;
    float inverse_cell = 1;
    std::uint32_t nx = 1;
    std::uint32_t ny = 1;
    std::uint32_t nz = 1;
    Vec3 last = {};  ///< nx - 1 and so on, by set_counts
    BlockIndex first_cell = 0;

    void set_counts(std::uint32_t x, std::uint32_t y, std::uint32_t z) noexcept {
        nx = x, ny = y, nz = z;
        last = {static_cast<float>(x - 1), static_cast<float>(y - 1), static_cast<float>(z - 1)};
    }

    /// floor, clamped to 0..last; monotonic in value, so a border point has exactly one cell.
    static std::uint32_t axis_cell(float value, float origin, float inverse, float last) noexcept {
        const float scaled = std::max((value - origin) * inverse, 0.0F);
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::min(scaled, last)));
    }
    std::uint32_t cell_x(float x) const noexcept {
        return axis_cell(x, origin.x, inverse_cell, last.x);
    }
    std::uint32_t cell_y(float y) const noexcept {
        return axis_cell(y, origin.y, inverse_cell, last.y);
    }
    std::uint32_t cell_z(float z) const noexcept {
        return axis_cell(z, origin.z, inverse_cell, last.z);
    }
    BlockIndex cell_at(Vec3 p) const noexcept {
        return first_cell + (cell_z(p.z) * ny + cell_y(p.y)) * nx + cell_x(p.x);
    }
    std::uint32_t cell_count() const noexcept { return nx * ny * nz; }
    /// Returns whether cell i of n on an axis is bounded: [1, n - 1). A layer without a ring has no
    /// such cell.
    static bool is_bounded(std::uint32_t i, std::uint32_t n) noexcept { return i > 0 && i + 1 < n; }
};

inline constexpr std::uint32_t no_column = 0xffffffffU;

/// An entity that left a slot this tick.
struct Displaced {
    EntityId entity;
    Slot from = no_slot;
    Slot to = no_slot;    ///< its new slot; no_slot: removed
    bool silent = false;  ///< the removal was already reported: its bits are dropped
};

/// A move, usually within a cell. Recorded only on request, instead of marking the block dirty.
struct CellMove {
    Slot slot;
    Vec3 before;
};

class BlockTable {
  public:
    /// With `three_d`, blocks have a third cache line and cells a third axis.
    explicit BlockTable(bool three_d);

    /// Adds a layer; all layers must be added before the first entity. Returns the layer's number.
    std::uint32_t add_layer(Vec3 min, Vec3 max, float cell_size);
    /// Adds a layer with one block ring for entities without a position. No region covers it.
    std::uint32_t add_abstract_layer();
    std::span<const GridLayer> layers() const noexcept { return layers_; }
    /// Reserves memory for about this many entities. Call it after the layers are added.
    void reserve(std::size_t entities);
    /// Columns by slot, zero for all entities. Columns of flags and floats allocate memory only
    /// with the first value that is not zero.
    std::uint32_t add_flag_column();
    std::uint32_t add_key_column();
    std::uint32_t add_float_column();

    // -- reads ----------------------------------------------------------------------------------
    BlockIndex block_end() const noexcept { return static_cast<BlockIndex>(occupied_.size()); }
    bool is_three_d() const noexcept { return axes_ == 3; }
    unsigned floats_per_block() const noexcept { return axes_ * lanes_per_block; }
    /// Returns the coordinates of all blocks.
    LaneCoordinates coordinates() const noexcept { return {coordinates_.data(), axes_}; }
    /// [16 * axes]: 16 x, then 16 y, then 16 z.
    const float* coordinates(BlockIndex block) const noexcept {
        return coordinates_.data() + std::size_t{block} * floats_per_block();
    }
    Vec3 position(Slot slot) const noexcept {
        const float* at = coordinates(block_of(slot)) + lane_of(slot);
        return {at[0], at[lanes_per_block], axes_ == 3 ? at[2 * lanes_per_block] : 0};
    }
    Mask occupied(BlockIndex block) const noexcept { return occupied_[block]; }
    Mask vacated(BlockIndex block) const noexcept { return vacated_[block]; }
    /// Returns whether the entities of the block have no position.
    bool is_abstract(BlockIndex block) const noexcept { return cell_[block] == abstract_cell_; }
    bool is_vacated(Slot slot) const noexcept {
        return (vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    /// Returns the next block of the same cell. The ring leads back to the base block.
    BlockIndex next(BlockIndex block) const noexcept { return next_[block]; }
    BlockIndex cell_of_block(BlockIndex block) const noexcept { return cell_[block]; }
    /// [block_end()], contiguous: a run of cells has a run of masks.
    std::span<const Mask> occupied() const noexcept { return occupied_; }
    /// Cells, by base block, that visible block sets must check again: a lane was vacated in this
    /// tick, or a block joined or left the ring (then ring_changed() as well).
    const Bitset& unsettled() const noexcept { return unsettled_; }
    const Bitset& ring_changed() const noexcept { return ring_changed_; }
    /// Cells with a ring of more than the base block.
    const Bitset& overflowing() const noexcept { return overflowing_; }
    /// Blocks in which anything changed since the last end_tick(): a position, flag, key or lane.
    /// An overflow block also marks its base block. While moves are flagged (note_moves), blocks
    /// with moves only are not marked. is_dirty and for_each_dirty_in include them.
    const Bitset& dirty() const noexcept { return dirty_; }
    bool is_dirty(BlockIndex block) const noexcept {
        return dirty_.test(block) ||
               (moved_column_ != no_column && flags_[moved_column_][block] != 0);
    }
    /// Calls visit(cell) for each cell of [first, first + count) in which anything changed,
    /// ascending.
    template <class Visit>
    void for_each_dirty_in(BlockIndex first, BlockIndex count, Visit&& visit) const {
        PURVIEW_ASSERT(first + count <= cell_count_);
        if (moved_column_ == no_column) return dirty_.for_each_in(first, count, visit);
        for (BlockIndex cell = first; cell < first + count; ++cell) {
            bool is_one = is_dirty(cell);
            if (!is_one && overflowing_.test(cell)) {
                for (BlockIndex b = next_[cell]; b != cell && !is_one; b = next_[b])
                    is_one = is_dirty(b);
            }
            if (is_one) visit(std::size_t{cell});
        }
    }
    bool is_any_dirty() const noexcept { return any_dirty_; }
    void mark_dirty(BlockIndex block) noexcept {
        dirty_.set(block);
        if (block >= cell_count_) dirty_.set(cell_[block]);
        any_dirty_ = true;
    }
    BlockIndex cell_end() const noexcept { return cell_count_; }
    /// Returns the entity in an occupied lane.
    EntityId entity(Slot slot) const noexcept {
        const std::uint32_t index = index_[slot];
        return make_entity_id(index, home_[index].generation);
    }
    /// Looks up the entities of many occupied lanes. Their homes are far apart in memory. `out` has
    /// slots.size() elements.
    void entities(std::span<const Slot> slots, std::span<EntityId> out) const noexcept {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::uint32_t index = index_[slots[i]];
            prefetch_line(&home_[index]);
            out[i] = EntityId{index};  // for the loop below
        }
        for (std::size_t i = 0; i < slots.size(); ++i)
            out[i] = make_entity_id(index_of(out[i]), home_[index_of(out[i])].generation);
    }
    /// Returns the entity in the lane, or the one that left it in this tick.
    EntityId last_entity(Slot slot) const noexcept {
        return (index_[slot] & displaced_tag) != 0 ? displaced_from(slot).entity : entity(slot);
    }
    std::uint32_t last_index(Slot slot) const noexcept {
        return (index_[slot] & displaced_tag) != 0 ? index_of(displaced_from(slot).entity)
                                                   : index_[slot];
    }
    /// Returns the index of the entity in an occupied lane.
    std::uint32_t entity_index(Slot slot) const noexcept { return index_[slot]; }
    /// [16 * block_end()] the same by slot.
    const std::uint32_t* entity_indices() const noexcept { return index_.data(); }
    void prefetch_position(Slot slot) const noexcept {
        const float* at = coordinates(block_of(slot));
        for (unsigned a = 0; a < axes_; ++a) prefetch_line(at + a * lanes_per_block);
    }
    void prefetch_entity(Slot slot) const noexcept { prefetch_line(&index_[slot]); }
    void prefetch_home(Slot slot) const noexcept {
        if ((index_[slot] & displaced_tag) == 0) prefetch_line(&home_[index_[slot]]);
    }
    void prefetch_home_of(EntityId entity) const noexcept {
        if (index_of(entity) < home_.size()) prefetch_line(&home_[index_of(entity)]);
    }
    /// Returns the home of an entity, or no_slot if it has none or the id is stale. One look-up.
    Slot slot_of(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        if (index >= home_.size()) return no_slot;
        return home_[index].generation == generation_of(entity) ? home_[index].slot : no_slot;
    }
    /// One past the largest entity index that ever had a home.
    std::size_t index_end() const noexcept { return home_.size(); }
    /// Returns the entity with this index, or none.
    EntityId entity_at(std::uint32_t index) const noexcept {
        if (index >= home_.size() || home_[index].slot == no_slot) return EntityId::none;
        return make_entity_id(index, home_[index].generation);
    }
    /// [block_end()], or empty while no entity ever had the flag.
    std::span<const Mask> flags(std::uint32_t column) const noexcept { return flags_[column]; }
    std::span<const Key> keys(std::uint32_t column) const noexcept { return keys_[column]; }
    bool flag(std::uint32_t column, Slot slot) const noexcept {
        return !flags_[column].empty() &&
               (flags_[column][block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    Key key(std::uint32_t column, Slot slot) const noexcept { return keys_[column][slot]; }
    /// [block_end() * 16], or empty while all values are 0.
    std::span<const float> floats(std::uint32_t column) const noexcept { return floats_[column]; }
    float number(std::uint32_t column, Slot slot) const noexcept {
        return floats_[column].empty() ? 0 : floats_[column][slot];
    }
    std::uint32_t layer_of(BlockIndex block) const noexcept { return layer_of_cell(cell_[block]); }
    /// Entities that moved out of their cell but stay in its lanes until settle_moves. May contain
    /// duplicates and removed entities.
    std::span<const EntityId> leaving() const noexcept { return leaving_; }
    std::uint32_t layer_of_cell(BlockIndex cell) const noexcept {
        PURVIEW_ASSERT(cell < cell_count_);
        std::uint32_t layer = 0;
        while (layer + 1 < layers_.size() && layers_[layer + 1].first_cell <= cell) ++layer;
        return layer;
    }

    // -- edits, one thread ----------------------------------------------------------------------
    /// Inserts an entity. The position must be finite and the index free. Columns of the new lane
    /// are zero.
    Slot insert(EntityId entity, std::uint32_t layer, Vec3 position);
    /// Writes positions of entities that have one. An entity that leaves its cell changes its slot
    /// with the next settle_moves(), so the last of several moves counts. Ids without a slot and
    /// positions that are not finite are skipped and counted.
    struct Refused {
        std::uint64_t stale_ids = 0;
        std::uint64_t bad_positions = 0;
    };
    template <class Moves>
    Refused write_positions(const Moves& moves);
    /// Selects what write_positions does from now on: record moves in cell_moves() (true) or mark
    /// blocks dirty (false).
    void keep_cell_moves(bool value) noexcept { keeps_cell_moves_ = value; }
    /// From now on write_positions sets this flag of each entity that it moves. end_tick() clears
    /// the flag of all entities.
    void note_moves(std::uint32_t flag_column) {
        PURVIEW_ASSERT(flag_column < flags_.size());
        moved_column_ = flag_column;
        flags_[flag_column].resize(block_end(), 0);
    }
    /// Moves since the last end_tick(). Some of the entities have left their cell since then.
    std::span<const CellMove> cell_moves() const noexcept { return cell_moves_; }
    /// Number of moves passed to write_positions since the last end_tick().
    std::size_t moves_seen() const noexcept { return moves_seen_; }
    /// Moves each entity that is outside its cell to a lane of the right cell, and applies layer
    /// changes.
    void settle_moves();
    void remove(Slot slot, bool silent);
    /// The next settle_moves() puts the entity into another layer. It keeps its position or takes
    /// `position` at once.
    void change_layer(EntityId entity, std::uint32_t layer, const Vec3* position = nullptr);
    /// Returns whether the entity will have a position after pending layer changes.
    bool will_be_positioned(Slot slot) const noexcept {
        return changes_.empty() ? !is_abstract(block_of(slot)) : changes_to_positioned(slot);
    }
    void set_number(std::uint32_t column, Slot slot, float number);
    /// Clears the flag of all entities.
    void clear_flag_column(std::uint32_t column);
    void set_flag(std::uint32_t column, Slot slot, bool value);
    void set_key(std::uint32_t column, Slot slot, Key key) noexcept {
        PURVIEW_ASSERT((occupied_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
        keys_[column][slot] = key;
        mark_dirty(block_of(slot));
    }

    /// Entities that left their slot since the last end_tick(), in order.
    std::span<const Displaced> displaced() const noexcept { return displaced_; }
    /// Returns the record of a vacated lane.
    const Displaced& displaced_from(Slot slot) const noexcept {
        PURVIEW_ASSERT((vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
        const Displaced& gone = displaced_[index_[slot] & ~displaced_tag];
        PURVIEW_ASSERT(gone.from == slot);
        return gone;
    }
    /// Makes vacated lanes available again. Recycles overflow blocks that have been empty for a
    /// while.
    void end_tick();
    /// For debugging: moves every entity of the cell to another lane. Reveals slots that a caller
    /// kept across a tick.
    void shuffle_cell(BlockIndex cell);

  private:
    static constexpr std::uint32_t displaced_tag = entity_index_end;
    struct Home {
        Slot slot = no_slot;
        std::uint32_t generation = 0;
    };

    template <class Moves>
    void write_coming_positions(const Moves& moves);
    template <unsigned axes, class Moves>
    Refused write_positions_in(const Moves& moves);
    template <unsigned axes, bool one_layer, class Moves>
    Refused write_positions_in(const Moves& moves);
    /// What write_positions records for each move.
    enum class MoveNote : std::uint8_t { dirty, cell_move, flag };
    template <unsigned axes, bool one_layer, MoveNote note, class Moves>
    Refused write_positions_of(Moves moves);
    std::uint32_t append_layer(GridLayer layer);
    Slot take_lane(BlockIndex cell);
    Slot relocate(Slot slot, Vec3 position, BlockIndex cell);
    void prefetch_lane(Slot slot) const noexcept;
    void prefetch_cell(BlockIndex cell) const noexcept;
    void vacate(Slot slot, Slot to, bool silent);
    void write_position(Slot slot, Vec3 position) noexcept;
    bool changes_to_positioned(Slot slot) const noexcept;
    BlockIndex new_block(BlockIndex cell);
    void append_blocks(std::uint32_t count);
    void link_after(BlockIndex block, BlockIndex position) noexcept;
    void unlink(BlockIndex block) noexcept;
    void free_vacated(BlockIndex block);
    void recycle(BlockIndex block);
    /// Recycles the block that has been idle longest. Returns false if there is none that is still
    /// empty.
    bool recycle_idle(std::uint32_t since_at_most);
    void unsettle(BlockIndex cell) {
        if (!unsettled_.test(cell)) unsettled_cells_.push_back(cell);
        unsettled_.set(cell);
        mark_dirty(cell);
    }
    void change_ring(BlockIndex cell) {
        ring_changed_.set(cell);
        unsettle(cell);
    }
    Mask free_lanes(BlockIndex block) const noexcept {
        return static_cast<Mask>(~(occupied_[block] | vacated_[block]));
    }

    unsigned axes_;
    std::vector<GridLayer> layers_;
    BlockIndex cell_count_ = 0;
    BlockIndex abstract_cell_ = 0xffffffffU;
    bool any_dirty_ = false;
    bool any_coming_ = false;  ///< a pending layer change may add a position
    bool keeps_cell_moves_ = false;
    std::uint32_t moved_column_ = no_column;
    std::size_t moves_seen_ = 0;
    LineVector<CellMove> cell_moves_;
    LineVector<float> coordinates_;
    LineVector<Mask> occupied_;
    LineVector<Mask> vacated_;
    /// Entity index by slot. A lane that was vacated in this tick holds displaced_tag | index into
    /// displaced_.
    LineVector<std::uint32_t> index_;
    LineVector<Home> home_;                   ///< by entity index
    Bitset overflowing_;                      ///< by cell
    Bitset unsettled_;                        ///< by cell
    Bitset ring_changed_;                     ///< by cell; a subset of unsettled_
    Bitset dirty_;                            ///< by block
    LineVector<BlockIndex> unsettled_cells_;  ///< each once: few cells of a large grid
    struct LayerChange {
        EntityId entity;
        std::uint32_t layer;
    };
    LineVector<LayerChange> changes_;
    FlatMap<std::uint32_t, std::uint32_t> change_of_;  ///< entity index to index in changes_
    LineVector<EntityId> leaving_;                     ///< outside their cell; may have duplicates
    LineVector<BlockIndex> next_;
    LineVector<BlockIndex> previous_;
    LineVector<BlockIndex> cell_;
    std::vector<LineVector<Mask>> flags_;
    std::vector<LineVector<Key>> keys_;
    std::vector<LineVector<float>> floats_;
    LineVector<BlockIndex> free_blocks_;
    /// Overflow blocks that are or were empty, in the order in which they became empty. They stay
    /// in their ring for a while, because a cell that was full is often full again soon.
    struct Idle {
        BlockIndex block;
        std::uint32_t since;
    };
    LineVector<Idle> idle_;
    std::size_t idle_begin_ = 0;
    Bitset is_idle_;  ///< by block: is in idle_
    std::uint32_t ticks_ = 0;
    LineVector<Displaced> displaced_;
    LineVector<BlockIndex> vacated_blocks_;  ///< each once
    std::vector<Slot> shuffle_slots_;
};

inline void BlockTable::write_position(Slot slot, Vec3 position) noexcept {
    float* at =
        coordinates_.data() + std::size_t{block_of(slot)} * floats_per_block() + lane_of(slot);
    at[0] = position.x;
    at[lanes_per_block] = position.y;
    if (axes_ == 3) at[2 * lanes_per_block] = position.z;
}

template <class Moves>
BlockTable::Refused BlockTable::write_positions(const Moves& moves) {
    moves_seen_ += moves.size();
    any_dirty_ = any_dirty_ || (!keeps_cell_moves_ && moves.size() > 0);
    if (any_coming_) write_coming_positions(moves);
    return axes_ == 2 ? write_positions_in<2>(moves) : write_positions_in<3>(moves);
}

/// Writes the positions of entities that get a position with a pending layer change. The fast path
/// writes all others.
template <class Moves>
void BlockTable::write_coming_positions(const Moves& moves) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const auto& [entity, position] = moves[i];
        const Slot slot = slot_of(entity);
        if (slot != no_slot && is_abstract(block_of(slot)) && will_be_positioned(slot) &&
            is_finite(position)) {
            write_position(slot, position);
        }
    }
}

template <unsigned axes, class Moves>
BlockTable::Refused BlockTable::write_positions_in(const Moves& moves) {
    return layers_.size() <= 2  // one and the abstract layer
               ? write_positions_in<axes, true>(moves)
               : write_positions_in<axes, false>(moves);
}

template <unsigned axes, bool one_layer, class Moves>
BlockTable::Refused BlockTable::write_positions_in(const Moves& moves) {
    if (keeps_cell_moves_) return write_positions_of<axes, one_layer, MoveNote::cell_move>(moves);
    if (moved_column_ != no_column)
        return write_positions_of<axes, one_layer, MoveNote::flag>(moves);
    return write_positions_of<axes, one_layer, MoveNote::dirty>(moves);
}

/// `moves` is a copy of the view, so that compilers know that writing a position does not change
/// it.
template <unsigned axes, bool one_layer, BlockTable::MoveNote note, class Moves>
BlockTable::Refused BlockTable::write_positions_of(Moves moves) {
    // Prefetch distances: the list, which is read for the first time; and, if the caches do not
    // hold all homes, the homes and their lanes.
    constexpr std::size_t moves_ahead = 64, homes_ahead = 24, lanes_ahead = 12,
                          near_homes_max = 128 * 1024;
    constexpr std::size_t block_floats = std::size_t{axes} * lanes_per_block;
    constexpr bool records_moves = note == MoveNote::cell_move;
    Refused refused;
    const std::size_t n = moves.size(), home_count = home_.size();
    // Writes to small arrays without a check of the capacity and appends them to the lists once per
    // batch.
    constexpr std::size_t batch = 512;
    std::array<EntityId, batch> leaving;
    std::array<CellMove, records_moves ? batch : 1> cell_moves;
    std::size_t leavers = 0, moved_count = 0;
    const auto flush = [&] {
        leaving_.insert(leaving_.end(), leaving.begin(), leaving.begin() + leavers);
        if (records_moves)
            cell_moves_.insert(cell_moves_.end(), cell_moves.begin(),
                               cell_moves.begin() + moved_count);
        leavers = moved_count = 0;
    };
    const Home* const homes = home_.data();
    float* const coordinates = coordinates_.data();
    std::uint64_t* const dirty = dirty_.words().data();
    const BlockIndex* const cells = cell_.data();
    const BlockIndex cell_count = cell_count_, abstract_cell = abstract_cell_;
    const BlockIndex base_end = std::min(cell_count, abstract_cell);
    // append_blocks() extends this column, too, because it is not empty.
    PURVIEW_ASSERT(note != MoveNote::flag || flags_[moved_column_].size() == block_end());
    Mask* const moved = note == MoveNote::flag ? flags_[moved_column_].data() : nullptr;
    const GridLayer only = layers_.front();
    for (std::size_t first = 0; first < n; first += batch) {
        for (std::size_t i = first; i < std::min(first + batch, n); ++i) {
            prefetch_line(moves.data() + std::min(i + moves_ahead, n));
            if (home_count > near_homes_max && i + homes_ahead < n) {
                const std::size_t far = index_of(moves[i + homes_ahead].entity);
                prefetch_line(homes + std::min(far, home_count));
                const std::size_t near = index_of(moves[i + lanes_ahead].entity);
                // An index without a home prefetches an arbitrary slot, which is harmless.
                const Slot ahead = near < home_count ? homes[near].slot : Slot{0};
                const float* at = coordinates + std::size_t{block_of(ahead)} * block_floats;
                for (unsigned a = 0; a < axes; ++a) prefetch_line(at + a * lanes_per_block);
            }
            const auto& [entity, position] = moves[i];
            const float x = position.x, y = position.y, z = position.z;
            // A number minus itself is zero unless it is not finite.
            if (const float sum = x + y + z;
                !(sum - sum == 0) && !(std::isfinite(x) && std::isfinite(y) && std::isfinite(z)))
                [[unlikely]] {
                ++refused.bad_positions;
                continue;
            }
            const std::uint32_t index = index_of(entity);
            const Home home = index < home_count ? homes[index] : Home{};
            const BlockIndex block = block_of(home.slot);
            if (home.generation != generation_of(entity)) [[unlikely]] {
                ++refused.stale_ids;
                continue;
            }
            BlockIndex cell = block;
            if (block >= base_end) [[unlikely]] {
                if (home.slot == no_slot) {
                    ++refused.stale_ids;
                    continue;
                }
                cell = block < cell_count ? block : cells[block];
                if (cell == abstract_cell) continue;
                if (note == MoveNote::dirty)
                    dirty[cell / bits_per_word] |= std::uint64_t{1} << (cell % bits_per_word);
            }
            float* const lane = coordinates + block * block_floats + lane_of(home.slot);
            if (records_moves) {
                cell_moves[moved_count++] = {home.slot,
                                             {lane[0], lane[lanes_per_block],
                                              axes == 3 ? lane[(axes - 1) * lanes_per_block] : 0}};
            }
            lane[0] = x;
            lane[lanes_per_block] = y;
            if (axes == 3) lane[(axes - 1) * lanes_per_block] = z;
            const GridLayer& layer = one_layer ? only : layers_[layer_of_cell(cell)];
            BlockIndex row = layer.cell_y(y);
            if (axes == 3) row += layer.cell_z(z) * layer.ny;
            leaving[leavers] = entity;
            leavers += layer.first_cell + row * layer.nx + layer.cell_x(x) != cell ? 1 : 0;
            if (note == MoveNote::flag)
                moved[block] = static_cast<Mask>(moved[block] | lane_bit(lane_of(home.slot)));
            if (note == MoveNote::dirty)
                dirty[block / bits_per_word] |= std::uint64_t{1} << (block % bits_per_word);
        }
        flush();
    }
    return refused;
}

}  // namespace purview
