// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Memory of all windows: one behind the other, in the order in which they are visited, so that a
// tick reads it as a stream. A window that outgrows its piece takes a new one at the end; `repack`
// puts all in order again. Half of the memory is the room that the next repacking needs.
#pragma once

#include <cstddef>
#include <vector>

#include "core/aligned.hpp"

namespace purview {

class WindowArena {
  public:
    /// A piece of at least so many bytes, whole cache lines. Valid until the next repacking.
    std::byte* take(std::size_t bytes);
    static constexpr std::size_t rounded(std::size_t bytes) noexcept {
        return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    }

    /// Between the two, every window that is alive takes a piece anew and copies its bytes; pieces
    /// of before stay readable until end_repack. `bytes`: what they will take.
    void begin_repack(std::size_t bytes);
    void end_repack();

  private:
    using Block = LineVector<std::byte>;
    std::vector<Block> blocks_;  ///< pieces come from the last
    std::vector<Block> old_;
    Block spare_;
    std::size_t used_ = 0;  ///< of the last block
};

}  // namespace purview
