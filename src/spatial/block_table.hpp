// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where every entity lives: one home slot, a lane of a block of 16, kept while it stays in its
// cell.
//
//   cells of all layers        base block = cell, so a row of cells is a run of blocks
//   0 1 2 3 ... C-1 | C ...    from C on: overflow blocks, chained to a full cell in a ring
//   one block: x[16] y[16] (z[16]) as floats, an empty lane has x = +infinity
//   grid: a ring of border cells around the bounds takes what lies outside
//
// Flags, keys and whatever else interest asks by slot are columns over the same numbering; they
// move with their entity. Must not know: observers, rules. Keeps: a lane that was left this tick
// takes no new entity before end_tick(), so a bit by slot can never speak of two entities; an
// overflow block with a free lane stands before all full ones of its ring, so inserting is O(1) in
// any crowd.
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
#include "purview/kernel.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

/// Entity indices stay below this: the bit above tells a lane that was left from one that is taken.
inline constexpr std::uint32_t entity_index_end = 0x80000000U;
/// Cells of one axis of a grid, so that a layer's fit 32 bits (1 km of 6 cm).
inline constexpr std::uint32_t axis_cells_max = 1U << 14;

/// A uniform grid of cells over a rectangle (or box), with a ring of cells around it that takes
/// what lies outside: ring cells reach to infinity, all others are as large as they look.
struct GridLayer {
    Vec3 origin;  ///< of the ring
    float cell_size = 1;
    float inverse_cell = 1;
    std::uint32_t nx = 1;
    std::uint32_t ny = 1;
    std::uint32_t nz = 1;
    Vec3 last = {};  ///< nx - 1 and so on: set_counts
    BlockIndex first_cell = 0;

    void set_counts(std::uint32_t x, std::uint32_t y, std::uint32_t z) noexcept {
        nx = x, ny = y, nz = z;
        last = {static_cast<float>(x - 1), static_cast<float>(y - 1), static_cast<float>(z - 1)};
    }

    /// floor, clamped to 0..last; monotonic in value, so a border point has exactly one cell (P22).
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
    /// Cells of an axis that end where they seem to: [1, n - 1), none of a layer without a ring.
    static bool is_bounded(std::uint32_t i, std::uint32_t n) noexcept { return i > 0 && i + 1 < n; }
};

inline constexpr std::uint32_t no_column = 0xffffffffU;

/// An entity that left a slot this tick.
struct Displaced {
    EntityId entity;
    Slot from = no_slot;
    Slot to = no_slot;    ///< where it is now; no_slot: it is gone
    bool silent = false;  ///< whoever removed it has told the observers: its bits end here
};

/// A move within a cell, kept where that is asked for instead of marking the block dirty.
struct Nudge {
    Slot slot;
    Vec3 before;
};

class BlockTable {
  public:
    /// `three_d`: blocks have a third line and cells a third axis.
    explicit BlockTable(bool three_d);

    /// Layers are added before the first entity. Returns the layer's number.
    std::uint32_t add_layer(Vec3 min, Vec3 max, float cell_size);
    /// A layer of one block ring for entities without a place; no region covers it.
    std::uint32_t add_abstract_layer();
    std::span<const GridLayer> layers() const noexcept { return layers_; }
    /// Room for about so many entities, after the layers.
    void reserve(std::size_t entities);
    /// Columns by slot, zero for everybody. Those of flags and floats take memory from the first
    /// value on that is not zero.
    std::uint32_t add_flag_column();
    std::uint32_t add_key_column();
    std::uint32_t add_float_column();

    // -- reads ----------------------------------------------------------------------------------
    BlockIndex block_end() const noexcept { return static_cast<BlockIndex>(occupied_.size()); }
    bool is_three_d() const noexcept { return axes_ == 3; }
    unsigned floats_per_block() const noexcept { return axes_ * lanes_per_block; }
    /// Of all blocks.
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
    /// Its entities have no place.
    bool is_abstract(BlockIndex block) const noexcept { return cell_[block] == abstract_cell_; }
    bool is_vacated(Slot slot) const noexcept {
        return (vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    /// The next block of the same cell; the ring comes back to the base block.
    BlockIndex next(BlockIndex block) const noexcept { return next_[block]; }
    BlockIndex cell_of_block(BlockIndex block) const noexcept { return cell_[block]; }
    /// [block_end()], contiguous: a run of cells reads a run of masks.
    std::span<const Mask> occupied() const noexcept { return occupied_; }
    /// Cells, by base block, of which a window's memory must be looked through: a lane was left
    /// this tick, or a block joined or left the ring (then ring_changed, too).
    const Bitset& unsettled() const noexcept { return unsettled_; }
    const Bitset& ring_changed() const noexcept { return ring_changed_; }
    /// Cells whose ring has more than its base block.
    const Bitset& overflowing() const noexcept { return overflowing_; }
    /// Blocks of which anything changed since the last end_tick(): a place, a flag, a key, a lane.
    /// The base block is marked with its overflow blocks. While moves are flagged (note_moves),
    /// those that were only moved in are not in it: is_dirty and for_each_dirty_in know them.
    const Bitset& dirty() const noexcept { return dirty_; }
    bool is_dirty(BlockIndex block) const noexcept {
        return dirty_.test(block) ||
               (moved_column_ != no_column && flags_[moved_column_][block] != 0);
    }
    /// visit(cell) for those of [first, first + count) where anything changed, ascending.
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
    /// Of an occupied lane.
    EntityId entity(Slot slot) const noexcept {
        const std::uint32_t index = index_[slot];
        return make_entity_id(index, home_[index].generation);
    }
    /// Of many occupied lanes, whose homes are far apart: out[slots.size()].
    void entities(std::span<const Slot> slots, std::span<EntityId> out) const noexcept {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::uint32_t index = index_[slots[i]];
            prefetch_line(&home_[index]);
            out[i] = EntityId{index};  // for the loop below
        }
        for (std::size_t i = 0; i < slots.size(); ++i)
            out[i] = make_entity_id(index_of(out[i]), home_[index_of(out[i])].generation);
    }
    /// Who stands on the lane, or left it this tick.
    EntityId last_entity(Slot slot) const noexcept {
        return (index_[slot] & displaced_tag) != 0 ? displaced_from(slot).entity : entity(slot);
    }
    std::uint32_t last_index(Slot slot) const noexcept {
        return (index_[slot] & displaced_tag) != 0 ? index_of(displaced_from(slot).entity)
                                                   : index_[slot];
    }
    /// The index of whoever stands on an occupied lane.
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
    /// The home of an entity, or no_slot for one that has none (or a stale id). One look-up.
    Slot slot_of(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        if (index >= home_.size()) return no_slot;
        return home_[index].generation == generation_of(entity) ? home_[index].slot : no_slot;
    }
    /// One past the largest entity index that ever had a home.
    std::size_t index_end() const noexcept { return home_.size(); }
    /// The entity that lives under an index, or none.
    EntityId entity_at(std::uint32_t index) const noexcept {
        if (index >= home_.size() || home_[index].slot == no_slot) return EntityId::none;
        return make_entity_id(index, home_[index].generation);
    }
    /// [block_end()], or empty while nobody ever had the flag.
    std::span<const Mask> flags(std::uint32_t column) const noexcept { return flags_[column]; }
    std::span<const Key> keys(std::uint32_t column) const noexcept { return keys_[column]; }
    bool flag(std::uint32_t column, Slot slot) const noexcept {
        return !flags_[column].empty() &&
               (flags_[column][block_of(slot)] & lane_bit(lane_of(slot))) != 0;
    }
    Key key(std::uint32_t column, Slot slot) const noexcept { return keys_[column][slot]; }
    /// [block_end() * 16], or empty while all are 0.
    std::span<const float> floats(std::uint32_t column) const noexcept { return floats_[column]; }
    float number(std::uint32_t column, Slot slot) const noexcept {
        return floats_[column].empty() ? 0 : floats_[column][slot];
    }
    std::uint32_t layer_of(BlockIndex block) const noexcept { return layer_of_cell(cell_[block]); }
    /// Entities that have moved out of their cell and are in it until settle_moves; some twice,
    /// some gone since.
    std::span<const EntityId> leaving() const noexcept { return leaving_; }
    std::uint32_t layer_of_cell(BlockIndex cell) const noexcept {
        PURVIEW_ASSERT(cell < cell_count_);
        std::uint32_t layer = 0;
        while (layer + 1 < layers_.size() && layers_[layer + 1].first_cell <= cell) ++layer;
        return layer;
    }

    // -- edits, one thread ----------------------------------------------------------------------
    /// Columns of the new lane are zero. place must be finite. Its index must be free.
    Slot insert(EntityId entity, std::uint32_t layer, Vec3 position);
    /// Writes the places of entities that have one. Whoever leaves his cell changes slot with the
    /// next settle_moves(), so of several moves the last wins. Ids that are not there and places
    /// that are not finite are left out and counted.
    struct Refused {
        std::uint64_t stale_ids = 0;
        std::uint64_t bad_positions = 0;
    };
    template <class Moves>
    Refused write_positions(const Moves& moves);
    /// From now on write_positions keeps nudges (true), or marks blocks dirty (false).
    void keep_nudges(bool value) noexcept { keeps_nudges_ = value; }
    /// From now on write_positions sets this flag of whoever it moves, until end_tick() clears it
    /// of all.
    void note_moves(std::uint32_t flag_column) {
        PURVIEW_ASSERT(flag_column < flags_.size());
        moved_column_ = flag_column;
        flags_[flag_column].resize(block_end(), 0);
    }
    /// Since the last end_tick(); some of them have left their cell since.
    std::span<const Nudge> nudges() const noexcept { return nudges_; }
    /// Places written since the last end_tick().
    std::size_t moves_seen() const noexcept { return moves_seen_; }
    /// Whoever stands outside of its cell gets a lane of the right one.
    void settle_moves();
    void remove(Slot slot, bool silent);
    /// With the next settle_moves it goes to another layer; it stands where it is, or at
    /// `position`.
    void change_layer(EntityId entity, std::uint32_t layer, const Vec3* position = nullptr);
    /// What is_abstract will say once layers have changed.
    bool will_be_positioned(Slot slot) const noexcept {
        return changes_.empty() ? !is_abstract(block_of(slot)) : changes_to_positioned(slot);
    }
    void set_number(std::uint32_t column, Slot slot, float number);
    /// Nobody has the flag any more.
    void clear_flag_column(std::uint32_t column);
    void set_flag(std::uint32_t column, Slot slot, bool value);
    void set_key(std::uint32_t column, Slot slot, Key key) noexcept {
        PURVIEW_ASSERT((occupied_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
        keys_[column][slot] = key;
        mark_dirty(block_of(slot));
    }

    /// What left its slot since the last end_tick(), in order.
    std::span<const Displaced> displaced() const noexcept { return displaced_; }
    /// The record of a lane whose vacated bit is set.
    const Displaced& displaced_from(Slot slot) const noexcept {
        PURVIEW_ASSERT((vacated_[block_of(slot)] & lane_bit(lane_of(slot))) != 0);
        const Displaced& gone = displaced_[index_[slot] & ~displaced_tag];
        PURVIEW_ASSERT(gone.from == slot);
        return gone;
    }
    /// Lanes that were left are free again; overflow blocks that are empty are recycled.
    void end_tick();
    /// Debug: every entity of the cell goes to another lane, as if it had moved. Finds slots that
    /// somebody kept across a tick.
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
    /// What write_positions leaves behind of each move.
    enum class MoveNote : std::uint8_t { dirty, nudge, flag };
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
    /// Recycles the longest idle block; false: there is none that is still empty.
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
    bool any_coming_ = false;  ///< some change of layers gives a place
    bool keeps_nudges_ = false;
    std::uint32_t moved_column_ = no_column;
    std::size_t moves_seen_ = 0;
    LineVector<Nudge> nudges_;
    LineVector<float> coordinates_;
    LineVector<Mask> occupied_;
    LineVector<Mask> vacated_;
    /// By slot: entity index. A lane that was left this tick holds displaced_tag | index into
    /// displaced_.
    LineVector<std::uint32_t> index_;
    LineVector<Home> home_;                   ///< by entity index
    Bitset overflowing_;                      ///< by cell
    Bitset unsettled_;                        ///< by cell
    Bitset ring_changed_;                     ///< by cell; only of those that are unsettled
    Bitset dirty_;                            ///< by block
    LineVector<BlockIndex> unsettled_cells_;  ///< each once: few of a large grid
    struct LayerChange {
        EntityId entity;
        std::uint32_t layer;
    };
    LineVector<LayerChange> changes_;
    FlatMap<std::uint32_t, std::uint32_t> change_of_;  ///< entity index to index in changes_
    LineVector<EntityId> leaving_;                     ///< stand outside of their cell; some twice
    LineVector<BlockIndex> next_;
    LineVector<BlockIndex> previous_;
    LineVector<BlockIndex> cell_;
    std::vector<LineVector<Mask>> flags_;
    std::vector<LineVector<Key>> keys_;
    std::vector<LineVector<float>> floats_;
    LineVector<BlockIndex> free_blocks_;
    /// Overflow blocks that are or were empty, longest first; they stay in their ring for a while,
    /// as cells that were full soon are again.
    struct Idle {
        BlockIndex block;
        std::uint32_t since;
    };
    LineVector<Idle> idle_;
    std::size_t idle_begin_ = 0;
    Bitset is_idle_;  ///< by block: stands in idle_
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
    any_dirty_ = any_dirty_ || (!keeps_nudges_ && moves.size() > 0);
    if (any_coming_) write_coming_positions(moves);
    return axes_ == 2 ? write_positions_in<2>(moves) : write_positions_in<3>(moves);
}

/// Of those who have no place yet; all others' are written where it is fast.
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
    return layers_.size() <= 2  // one, and the unplaced
               ? write_positions_in<axes, true>(moves)
               : write_positions_in<axes, false>(moves);
}

template <unsigned axes, bool one_layer, class Moves>
BlockTable::Refused BlockTable::write_positions_in(const Moves& moves) {
    if (keeps_nudges_) return write_positions_of<axes, one_layer, MoveNote::nudge>(moves);
    if (moved_column_ != no_column)
        return write_positions_of<axes, one_layer, MoveNote::flag>(moves);
    return write_positions_of<axes, one_layer, MoveNote::dirty>(moves);
}

/// `moves`: a copy of the view, as compilers then know that writing a place does not change it.
template <unsigned axes, bool one_layer, BlockTable::MoveNote note, class Moves>
BlockTable::Refused BlockTable::write_positions_of(Moves moves) {
    // The list, which nobody has read before; where caches do not hold them, homes, and the lanes
    // they name.
    constexpr std::size_t moves_ahead = 64, homes_ahead = 24, lanes_ahead = 12,
                          near_homes_max = 128 * 1024;
    constexpr std::size_t block_floats = std::size_t{axes} * lanes_per_block;
    constexpr bool nudging = note == MoveNote::nudge;
    Refused refused;
    const std::size_t n = moves.size(), home_count = home_.size();
    // Lists are written without asking for room, and handed over now and then.
    constexpr std::size_t batch = 512;
    std::array<EntityId, batch> leaving;
    std::array<Nudge, nudging ? batch : 1> nudges;
    std::size_t leavers = 0, nudged = 0;
    const auto hand_over = [&] {
        leaving_.insert(leaving_.end(), leaving.begin(), leaving.begin() + leavers);
        if (nudging) nudges_.insert(nudges_.end(), nudges.begin(), nudges.begin() + nudged);
        leavers = nudged = 0;
    };
    const Home* const homes = home_.data();
    float* const coordinates = coordinates_.data();
    std::uint64_t* const dirty = dirty_.words().data();
    const BlockIndex* const cells = cell_.data();
    const BlockIndex cell_count = cell_count_, abstract_cell = abstract_cell_;
    const BlockIndex base_end = std::min(cell_count, abstract_cell);
    // Blocks that are appended lengthen the column, as it is not empty.
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
                // Of an index without a home: some address, which a prefetch may have.
                const Slot ahead = near < home_count ? homes[near].slot : Slot{0};
                const float* at = coordinates + std::size_t{block_of(ahead)} * block_floats;
                for (unsigned a = 0; a < axes; ++a) prefetch_line(at + a * lanes_per_block);
            }
            const auto& [entity, position] = moves[i];
            const float x = position.x, y = position.y, z = position.z;
            // A difference with itself is zero unless it is not finite.
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
            if (nudging) {
                nudges[nudged++] = {home.slot,
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
        hand_over();
    }
    return refused;
}

}  // namespace purview
