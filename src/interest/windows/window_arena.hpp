// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Memory of all windows, one after another in the order in which a tick visits them, so that a tick
// reads it sequentially. A window that outgrows its piece takes a new one at the end. From time to
// time, a repack moves all windows in order. Windows that were neighbors mostly stay neighbors, so
// a block is empty soon after its first window has left it, and the next windows use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/aligned.hpp"

namespace purview {

class WindowArena {
  public:
    struct Block {
        LineVector<std::byte> memory;
        std::size_t used = 0;
        std::uint32_t live = 0;  ///< during a repack: windows that are still in it
    };
    struct Piece {
        std::byte* data = nullptr;
        Block* block = nullptr;
    };
    /// Returns at least this many bytes, in whole cache lines. Valid until the next repack.
    Piece take(std::size_t bytes);
    static constexpr std::size_t rounded(std::size_t bytes) noexcept {
        return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    }

    // -- repack -------------------------------------------------------------------------------
    // Order of calls: begin_repack, adopt the blocks of the other arenas, count every window's
    // piece, free_uncounted. Then every window takes a piece, copies its bytes and leaves the old
    // one. Then end_repack.
    void begin_repack() noexcept;
    void adopt(WindowArena& other);
    static void count(const Piece& piece) noexcept { ++piece.block->live; }
    void free_uncounted();
    void leave(const Piece& piece);
    void end_repack();

  private:
    Block* new_block(std::size_t bytes);
    Block* add_block(std::size_t bytes);

    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Block*> free_;
    Block* last_ = nullptr;  ///< pieces come from its end
    std::size_t bytes_ = 0;  ///< total of all blocks
};

}  // namespace purview
