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
#include "interest/window_arena.hpp"
#include "spatial/block_table.hpp"
#include "spatial/cover.hpp"

namespace purview {

/// One piece of memory: boxes, cells, loose blocks, masks. The common tick touches nothing else.
class Window {
  public:
    /// The boxes of the places that it was made for.
    std::span<const SubCell> boxes() const noexcept { return {at<SubCell>(0), boxes_}; }
    /// Cells it looks at: ascending, disjoint.
    std::span<const CellRun> cells() const noexcept { return {at<CellRun>(cells_at()), cells_}; }
    /// Overflow of these cells, those of inside cells first; then pulled blocks.
    std::span<const BlockIndex> loose() const noexcept {
        return {at<BlockIndex>(loose_at()), std::size_t{inside_loose_} + outside_loose_};
    }
    /// [1 + planes][size()]: the nodes' answer, then each memory. Positions: base blocks of inside
    /// cells, their overflow, base blocks of the other cells, their overflow, pulled blocks.
    std::span<Mask> masks() noexcept {
        return {const_cast<Mask*>(std::as_const(*this).masks().data()), masks_};
    }
    std::span<const Mask> masks() const noexcept { return {at<Mask>(masks_at()), masks_}; }
    std::size_t size() const noexcept { return inside_count() + outside_bases_ + outside_loose_; }
    /// So many, from the first on, lie wholly inside.
    std::size_t inside_count() const noexcept { return inside_bases_ + inside_loose_; }
    /// Whether it was ever scanned.
    bool is_made() const noexcept { return data_ != nullptr; }
    /// Some block belongs to none of its cells.
    bool has_pulled() const noexcept { return has_pulled_; }

    std::span<const BlockIndex> inside_loose() const noexcept {
        return loose().first(inside_loose_);
    }
    std::span<const BlockIndex> outside_loose() const noexcept {
        return loose().subspan(inside_loose_);
    }
    /// visit(position, block) for all.
    template <class Visit>
    void for_each_block(Visit&& visit) const;
    /// Position of a block, or size(). Blocks from cell_end on are overflow.
    std::size_t find(BlockIndex block, BlockIndex cell_end) const noexcept;
    bool contains(Slot slot, BlockIndex cell_end) const noexcept {
        const std::size_t position = find(block_of(slot), cell_end);
        return position < size() && (masks()[position] & lane_bit(lane_of(slot))) != 0;
    }

    struct Parts {
        std::span<const SubCell> boxes;
        std::span<const CellRun> cells;
        std::span<const BlockIndex> inside_loose;
        std::span<const BlockIndex> outside_loose;  ///< pulled ones last
        std::span<const Mask> masks;
        bool has_pulled;
    };
    void assign(const Parts& parts, WindowArena& arena);
    /// Takes its memory anew, between begin_repack and end_repack.
    void repack(WindowArena& arena);
    std::size_t bytes() const noexcept { return masks_at() + masks_ * sizeof(Mask); }
    const std::byte* data() const noexcept { return data_; }

  private:
    template <class T>
    const T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<const T*>(data_ + offset);
    }
    std::size_t cells_at() const noexcept { return boxes_ * sizeof(SubCell); }
    std::size_t loose_at() const noexcept { return cells_at() + cells_ * sizeof(CellRun); }
    std::size_t masks_at() const noexcept {
        return loose_at() + (std::size_t{inside_loose_} + outside_loose_) * sizeof(BlockIndex);
    }

    std::byte* data_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t masks_ = 0;
    std::uint32_t inside_bases_ = 0;
    std::uint32_t inside_loose_ = 0;
    std::uint32_t outside_bases_ = 0;
    std::uint32_t outside_loose_ = 0;
    std::uint16_t boxes_ = 0;
    bool has_pulled_ = false;
    std::uint32_t cells_ = 0;
};

template <class Visit>
void Window::for_each_block(Visit&& visit) const {
    std::size_t inside = 0, outside = inside_count();
    for (const CellRun& run : cells()) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            visit(i - run.inside_first < run.inside_count ? inside++ : outside++, run.first + i);
        }
    }
    for (std::uint32_t i = 0; i < inside_loose_; ++i) visit(inside++, loose()[i]);
    for (std::uint32_t i = 0; i < outside_loose_; ++i) visit(outside++, loose()[inside_loose_ + i]);
}

/// The blocks of a window by position; `blocks` is resized.
void list_blocks(std::span<const CellRun> cells, std::span<const BlockIndex> inside_loose,
                 std::span<const BlockIndex> outside_loose, std::vector<BlockIndex>& blocks);

/// A bit that changed with this scan, before rows and pairs have been looked at. The entity is
/// table.last_entity(slot).
struct Toggle {
    std::uint32_t observer;
    Slot slot;
    bool enter;
};

/// Room to work in, one per worker.
struct ScanScratch {
    WindowArena arena;
    std::vector<SubCell> boxes;
    std::vector<CellRun> runs;
    std::vector<BlockIndex> inside_loose;
    std::vector<BlockIndex> outside_loose;
    std::vector<BlockIndex> blocks;
    std::vector<BlockIndex> left;  ///< blocks that somebody left
    std::vector<Mask> masks;       ///< [1 + planes][n]
    std::vector<Mask> before;      ///< [n] the answer of last tick, by this tick's slots
    std::vector<Mask> node_result;
    std::vector<Mask> answer;
    std::vector<Mask> unknown;
    std::vector<Mask> asked;
    std::vector<std::uint32_t> dirty;     ///< positions of dirty blocks in the window
    std::vector<std::uint32_t> position;  ///< by block: its position in `mapped` + 1, else 0
    FlatMap<std::uint32_t, std::uint8_t> pulled;
    std::vector<BlockIndex> mapped;  ///< the last large window's blocks: its neighbour's, too
    std::vector<Toggle> toggles;
    bool count_tested = false;
    std::uint64_t blocks_tested = 0;
    std::uint64_t lanes_tested = 0;
};

/// What each step said about the first block, for whoever asks why.
struct StepTrace {
    const Step* step;
    Mask answer;
    Mask unknown;
    Mask so_far;  ///< the node's result behind the step
};

/// Who asks, and where the exceptional lanes are.
struct ScanInput {
    std::uint32_t observer_index;
    ObserverId observer;
    std::span<const Vec3> places;
    std::span<const Key> keys;
    const BlockTable& table;
    const Program& program;
    std::span<const NodeProgram> nodes;  ///< of the program, or its whole nodes one by one
    std::uint32_t force_hidden_column;
    bool any_force_hidden;
    /// Candidates wherever they are: members of rows that a later step judges pair by pair.
    std::span<const Row* const> pulled;
    bool may_be_unplaced;  ///< some block may belong to entities without a place
    std::vector<StepTrace>* trace = nullptr;
    EntityId stands_for = EntityId::none;  ///< explain: whom the copy in the table stands for
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

}  // namespace purview
