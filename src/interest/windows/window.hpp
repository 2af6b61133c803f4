// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The window of one observer: its visible block set, cached from tick to tick. It lists each block
// once. For each block it has a mask with the result of the last tick, and one mask per plane of
// kernel memory. Only windows/scan writes it. Masks refer to this tick's slots: when an entity
// changes its slot, its bits are remapped in every plane before anything is tested
// (docs/adr/0004-remap-before-compare.md). Loose blocks are not the base block of a covered cell:
// overflow blocks, and pulled blocks, which contain candidates outside the covered cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "interest/windows/window_arena.hpp"
#include "spatial/cover.hpp"
#include "spatial/lanes.hpp"

namespace purview {

/// Stores cells, blocks and masks in one piece of memory. A typical tick reads nothing else.
class Window {
  public:
    /// Returns the hash of the boxes, shapes and rules that the cells were found for; 0: none.
    std::uint64_t cells_hash() const noexcept { return cells_hash_; }
    /// Returns the covered cells: ascending, disjoint.
    std::span<const CellRun> cells() const noexcept { return {at<CellRun>(0), cells_}; }
    /// Returns the blocks; the index in this list is the block's position. In order: base blocks of
    /// inside cells; their overflow, ascending; base blocks of the other cells; their overflow and
    /// pulled blocks, ascending.
    std::span<const BlockIndex> blocks() const noexcept {
        return {at<BlockIndex>(blocks_at()), blocks_};
    }
    /// [1 + planes][size()]: the result, then each plane of kernel memory, by position.
    std::span<Mask> masks() noexcept {
        return {const_cast<Mask*>(std::as_const(*this).masks().data()), masks_};
    }
    std::span<const Mask> masks() const noexcept { return {at<Mask>(masks_at()), masks_}; }
    std::size_t size() const noexcept { return blocks_; }
    /// Returns how many blocks, from the first on, lie wholly inside.
    std::size_t inside_count() const noexcept { return inside_bases_ + inside_loose_; }
    /// Returns whether the window was ever scanned.
    bool is_made() const noexcept { return piece_.data != nullptr; }
    /// Returns whether some block belongs to none of the covered cells.
    bool has_pulled() const noexcept { return has_pulled_; }

    /// Returns the position of a block, or size(). Blocks from cell_end on are overflow.
    std::size_t find(BlockIndex block, BlockIndex cell_end) const noexcept;
    bool contains(Slot slot, BlockIndex cell_end) const noexcept {
        if (size() == 0) return false;
        const std::size_t position = find(block_of(slot), cell_end);
        return position < size() && (masks()[position] & lane_bit(lane_of(slot))) != 0;
    }

    struct Parts {
        std::uint64_t cells_hash;
        std::span<const CellRun> cells;
        std::span<const BlockIndex> blocks;
        std::size_t inside_loose;   ///< blocks that are overflow of inside cells, ascending
        std::size_t outside_loose;  ///< overflow of other cells, or pulled; ascending
        std::span<const Mask> masks;
        bool has_pulled;
    };
    void assign(const Parts& parts, WindowArena& arena);
    /// Replaces the planes and keeps the cells. New plane p is a copy of old plane from[p], or
    /// empty if from[p] is no_plane. `masks`: scratch memory.
    void replace_planes(std::span<const std::uint32_t> from, std::vector<Mask>& masks,
                        WindowArena& arena);
    /// Takes new memory from the arena and copies the contents.
    void repack(WindowArena& arena);
    const WindowArena::Piece& piece() const noexcept { return piece_; }
    std::size_t bytes() const noexcept { return masks_at() + masks_ * sizeof(Mask); }
    /// Returns the size of its piece, with room for more cells, because windows grow and shrink.
    std::size_t piece_bytes() const noexcept {
        return WindowArena::rounded(bytes() + bytes() / 16 + 1);
    }
    const std::byte* data() const noexcept { return piece_.data; }
    /// Asserts the invariants of cells and blocks. O(blocks).
    void validate() const;

  private:
    template <class T>
    const T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<const T*>(piece_.data + offset);
    }
    std::size_t blocks_at() const noexcept { return cells_ * sizeof(CellRun); }
    std::size_t masks_at() const noexcept { return blocks_at() + blocks_ * sizeof(BlockIndex); }
    /// Returns the position of a loose block, or size().
    std::size_t find_loose(BlockIndex block) const noexcept;

    WindowArena::Piece piece_;
    std::uint32_t capacity_ = 0;
    std::uint32_t masks_ = 0;
    std::uint32_t inside_bases_ = 0;
    std::uint32_t inside_loose_ = 0;
    std::uint32_t outside_loose_ = 0;
    std::uint32_t blocks_ = 0;
    std::uint32_t cells_ = 0;
    bool has_pulled_ = false;
    std::uint64_t cells_hash_ = 0;
};

/// Lists the blocks of a window by position; `blocks` is resized.
void list_blocks(std::span<const CellRun> cells, std::span<const BlockIndex> inside_loose,
                 std::span<const BlockIndex> outside_loose, std::vector<BlockIndex>& blocks);

}  // namespace purview
