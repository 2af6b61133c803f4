// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer's nodes answered last tick: blocks, no block twice, a mask for each, and the
// memory of every kernel that asked for one. Private to its observer, rewritten by `scan` and
// `rescan_dirty`, and by nobody else. Masks speak of this tick's slots: when an entity changed slot
// its bits are carried in every plane before anything is tested
// (docs/adr/0004-carry-before-compare.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/program.hpp"
#include "interest/row_store.hpp"
#include "spatial/block_table.hpp"
#include "spatial/cover.hpp"

namespace purview {

/// Neighbouring cells of a row that a window looks at, and where their base blocks stand in it:
/// those that are wholly inside one after another, and the others, too.
struct CellSpan {
    BlockIndex first = 0;
    std::uint16_t count = 0;
    std::uint16_t inside_first = 0;  ///< from `first` on
    std::uint16_t inside_count = 0;
    std::uint32_t inside_position = 0;
    std::uint32_t outside_position = 0;

    bool has(BlockIndex cell) const noexcept { return cell - first < count; }
    std::size_t position(BlockIndex cell) const noexcept {
        const std::uint32_t i = cell - first, in = i - inside_first;
        if (in < inside_count) return inside_position + in;
        return outside_position + (i < inside_first ? i : i - inside_count);
    }
};

/// One piece of memory: boxes, cells, blocks, masks. The common tick touches nothing else.
class Window {
  public:
    /// The boxes of the places that it was made for.
    std::span<const SubCell> boxes() const noexcept { return {at<SubCell>(0), boxes_}; }
    std::span<const CellSpan> cells() const noexcept { return {at<CellSpan>(cells_at()), cells_}; }
    /// First those that lie wholly inside, then the others of the cells and their rings, then
    /// pulled ones.
    std::span<const BlockIndex> blocks() const noexcept {
        return {at<BlockIndex>(blocks_at()), blocks_};
    }
    std::size_t inside_count() const noexcept { return inside_; }
    /// [1 + planes][size()]: the nodes' answer, then each memory.
    std::span<Mask> masks() noexcept {
        return {const_cast<Mask*>(std::as_const(*this).masks().data()), masks_};
    }
    std::span<const Mask> masks() const noexcept { return {at<Mask>(masks_at()), masks_}; }
    std::size_t size() const noexcept { return blocks_; }
    /// Whether it was ever scanned.
    bool is_made() const noexcept { return made_; }

    void assign(std::span<const SubCell> boxes, std::span<const CellSpan> cells,
                std::span<const BlockIndex> blocks, std::size_t inside, bool has_pulled,
                std::span<const Mask> masks);
    /// Some block belongs to none of its cells.
    bool has_pulled() const noexcept { return has_pulled_; }
    std::span<const std::byte> data() const noexcept { return data_; }

    /// Position of a block, or size(). Blocks from cell_end on are overflow.
    std::size_t find(BlockIndex block, BlockIndex cell_end) const noexcept;
    bool contains(Slot slot, BlockIndex cell_end) const noexcept {
        const std::size_t position = find(block_of(slot), cell_end);
        return position < size() && (masks()[position] & lane_bit(lane_of(slot))) != 0;
    }

  private:
    template <class T>
    const T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<const T*>(data_.data() + offset);
    }
    std::size_t cells_at() const noexcept { return boxes_ * sizeof(SubCell); }
    std::size_t blocks_at() const noexcept { return cells_at() + cells_ * sizeof(CellSpan); }
    std::size_t masks_at() const noexcept { return blocks_at() + blocks_ * sizeof(BlockIndex); }

    LineVector<std::byte> data_;
    std::uint32_t boxes_ = 0;
    std::uint32_t cells_ = 0;
    std::uint32_t blocks_ = 0;
    std::uint32_t inside_ = 0;
    std::uint32_t masks_ = 0;
    bool made_ = false;
    bool has_pulled_ = false;
};

/// A bit that changed with this scan, before rows and pairs have been looked at. The entity is
/// table.last_entity(slot).
struct Toggle {
    std::uint32_t observer;
    Slot slot;
    bool enter;
};

/// Room to work in, one per worker.
struct ScanScratch {
    std::vector<SubCell> boxes;
    std::vector<CellRun> runs;
    std::vector<CellSpan> cells;
    std::vector<BlockIndex> blocks;
    std::vector<BlockIndex> outside;  ///< blocks that are not wholly inside, then appended
    std::vector<Mask> masks;          ///< [1 + planes][n]
    std::vector<Mask> before;         ///< [n] the answer of last tick, by this tick's slots
    std::vector<Mask> node_result;
    std::vector<Mask> answer;
    std::vector<Mask> unknown;
    std::vector<std::uint32_t> dirty;     ///< positions of dirty blocks in the window
    std::vector<std::uint32_t> position;  ///< by block: its position in `mapped` + 1, else 0
    FlatMap<std::uint32_t, std::uint8_t> pulled;
    std::vector<BlockIndex> mapped;  ///< the last large window's blocks: its neighbour's, too
    std::vector<Toggle> toggles;
    bool count_tested = false;
    std::uint64_t blocks_tested = 0;
    std::uint64_t lanes_tested = 0;
};

/// Who asks, and where the exceptional lanes are.
struct ScanInput {
    std::uint32_t observer_index;
    ObserverId observer;
    std::span<const Vec3> places;
    std::span<const Key> keys;
    const BlockTable& table;
    const Program& program;
    std::uint32_t force_hidden_column;
    bool any_force_hidden;
    /// Candidates wherever they are: members of rows that a later step judges pair by pair.
    std::span<const Row* const> pulled;
};

/// Clears the lanes of denied pairs of one block and returns the rest.
class Resolve {
  public:
    virtual Mask resolve(std::uint32_t observer, BlockIndex block, Mask mask) const noexcept = 0;

  protected:
    ~Resolve() = default;
};

/// The nodes' answer about the blocks: masks [1 + planes][n] hold last tick's answer and memory,
/// and this tick's afterwards. The first `inside` blocks lie wholly inside of the program's
/// inside_kernel. The one evaluation that every path uses.
void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks, std::size_t inside,
              std::span<Mask> masks, ScanScratch& scratch);

/// Brings the whole window up to date, and appends what changed to scratch.toggles. `resolve` may
/// be null: nobody is denied.
void scan(const ScanInput& input, Window& window, ScanScratch& scratch, const Resolve* resolve);

/// The same for an observer of which nothing changed but its blocks: only dirty blocks are looked
/// at.
void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch,
                  const Resolve* resolve);

/// Every bit leaves.
void clear_window(std::uint32_t observer, Window& window, const BlockTable& table,
                  std::vector<Toggle>& toggles);

}  // namespace purview
