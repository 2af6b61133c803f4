// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/window_arena.hpp"

#include <algorithm>
#include <utility>

namespace purview {

std::byte* WindowArena::take(std::size_t bytes) {
    constexpr std::size_t block_bytes = std::size_t{64} * 1024;
    const std::size_t wanted = rounded(bytes);
    if (blocks_.empty() || used_ + wanted > blocks_.back().size()) {
        // Grows by a quarter of what there is.
        std::size_t all = 0;
        for (const Block& block : blocks_) all += block.size();
        blocks_.emplace_back(rounded(std::max({wanted, block_bytes, all / 4})));
        used_ = 0;
    }
    std::byte* piece = blocks_.back().data() + used_;
    used_ += wanted;
    return piece;
}

void WindowArena::begin_repack(std::size_t bytes) {
    old_.clear();
    old_.swap(blocks_);
    const std::size_t wanted = rounded(bytes + bytes / 8);
    if (spare_.size() < wanted || spare_.size() > 4 * wanted + (std::size_t{1} << 16)) {
        spare_ = Block();
        spare_ = Block(rounded(wanted + wanted / 4));
    }
    blocks_.push_back(std::move(spare_));
    used_ = 0;
}

void WindowArena::end_repack() {
    // The largest is the next spare.
    const auto largest =
        std::max_element(old_.begin(), old_.end(),
                         [](const Block& a, const Block& b) { return a.size() < b.size(); });
    spare_ = largest == old_.end() ? Block() : std::move(*largest);
    old_.clear();
}

}  // namespace purview
