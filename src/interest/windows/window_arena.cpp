// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/window_arena.hpp"

#include <algorithm>
#include <utility>

#include "purview/status.hpp"

namespace purview {

namespace {

constexpr std::size_t block_bytes_min = std::size_t{16} * 1024;
constexpr std::size_t block_bytes_max = std::size_t{128} * 1024;
constexpr std::size_t growth_share = 8;  ///< new blocks: 1 / 8 of all bytes, within the limits
/// Free memory that is kept for the next repack: free_blocks_min blocks, or 1 / free_share of all
/// bytes. Up to few_bytes in all, half of the blocks are free, because all windows of a few
/// observers may move at once.
constexpr std::size_t free_blocks_min = 3;
constexpr std::size_t free_share = 16;
constexpr std::size_t few_bytes = std::size_t{256} * 1024;

}  // namespace

WindowArena::Piece WindowArena::take(std::size_t bytes) {
    const std::size_t wanted = rounded(bytes);
    if (last_ == nullptr || last_->used + wanted > last_->memory.size()) last_ = new_block(wanted);
    std::byte* piece = last_->memory.data() + last_->used;
    last_->used += wanted;
    PURVIEW_ASSERT(last_->used <= last_->memory.size());
    return {piece, last_};
}

WindowArena::Block* WindowArena::new_block(std::size_t bytes) {
    const auto fits = std::find_if(free_.begin(), free_.end(), [&](const Block* block) {
        return block->memory.size() >= bytes;
    });
    if (fits == free_.end()) return add_block(bytes);
    Block* block = *fits;
    PURVIEW_ASSERT(block->live == 0);  // no window uses it
    *fits = free_.back();
    free_.pop_back();
    block->used = 0;
    return block;
}

WindowArena::Block* WindowArena::add_block(std::size_t bytes) {
    const std::size_t usual =
        rounded(std::clamp(bytes_ / growth_share, block_bytes_min, block_bytes_max));
    Block& block = *blocks_.emplace_back(std::make_unique<Block>());
    free_.reserve(blocks_.capacity());  // then leave() does not allocate
    block.memory.resize(std::max(usual, bytes));
    bytes_ += block.memory.size();
    return &block;
}

void WindowArena::begin_repack() noexcept {
    last_ = nullptr;
    for (const auto& block : blocks_) block->live = 0;
}

void WindowArena::adopt(WindowArena& other) {
    other.begin_repack();
    for (auto& block : other.blocks_) blocks_.push_back(std::move(block));
    other.blocks_.clear();
    other.free_.clear();
    bytes_ += std::exchange(other.bytes_, 0);
}

void WindowArena::free_uncounted() {
    free_.clear();
    for (const auto& block : blocks_) {
        if (block->live == 0) free_.push_back(block.get());
    }
}

void WindowArena::leave(const Piece& piece) {
    PURVIEW_ASSERT(piece.block->live > 0);  // count() counted it
    if (--piece.block->live == 0) free_.push_back(piece.block);
}

/// Keeps some free blocks for the next repack.
void WindowArena::end_repack() {
    while (bytes_ <= few_bytes && free_.size() * 2 < blocks_.size()) free_.push_back(add_block(0));
    std::size_t free_bytes = 0;
    for (const Block* block : free_) free_bytes += block->memory.size();
    PURVIEW_ASSERT(free_.size() <= blocks_.size() && free_bytes <= bytes_);
    while (bytes_ > few_bytes && free_.size() > free_blocks_min &&
           free_bytes > bytes_ / free_share) {
        const Block* gone = free_.back();
        free_.pop_back();
        free_bytes -= gone->memory.size();
        bytes_ -= gone->memory.size();
        std::erase_if(blocks_, [&](const auto& block) { return block.get() == gone; });
    }
}

}  // namespace purview
