// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/strength_list.hpp"

#include "core/prefetch.hpp"
#include "spatial/lane_test.hpp"

namespace purview {

namespace {

/// Room for n, and when there is none, for half as many again. What is in the list stays.
template <class Vector>
void grow(Vector& list, std::size_t n) {
    if (list.size() < n) list.resize(n + n / 2);
}

}  // namespace

void StrengthList::clear() noexcept {
    size_ = picked_ = 0;
    runs_.clear();
    named_.clear();
}

StrengthList::Picked StrengthList::pick(const Window& window, std::span<const Mask> flags) {
    grow(blocks_, picked_ + window.size() + lanes_per_block);
    grow(lanes_, picked_ + window.size() + lanes_per_block);
    const LaneCount picked = pick_lanes(window.blocks(), window.masks(), flags.data(),
                                        blocks_.data() + picked_, lanes_.data() + picked_);
    return {std::span(std::as_const(blocks_)).subspan(picked_, picked.blocks),
            std::span(lanes_).subspan(picked_, picked.blocks), picked.lanes};
}

void StrengthList::make_room(std::size_t n) {
    grow(entities_, size_ + n + lanes_per_block);
    grow(strength_, size_ + n + lanes_per_block);
}

std::span<float> StrengthList::add(const Picked& picked) {
    make_room(picked.count);
    picked_ += picked.blocks.size();
    if (runs_.empty() || runs_.back().end != size_) runs_.push_back({size_, size_, picked_});
    const std::span<float> strength = std::span(strength_).subspan(size_, picked.count);
    size_ += picked.count;
    runs_.back().end = size_;
    runs_.back().block_end = picked_;
    // Where the next ones go: a store that waits for its line keeps all others waiting.
    constexpr std::size_t ahead = 4 * lanes_per_block;
    for (std::size_t i = 0; i < ahead && size_ + ahead < strength_.size(); i += lanes_per_block)
        prefetch_line(strength_.data() + size_ + lanes_per_block + i);
    return strength;
}

void StrengthList::add(std::uint32_t entity, float strength) {
    make_room(1);
    named_.emplace_back(size_, entity);
    strength_[size_++] = strength;
}

void StrengthList::name(const BlockTable& table) {
    std::size_t block = 0;
    for (const Run& run : runs_) {
        // What is written beyond a run is written over by what follows.
        (void)gather_lanes(table.entity_indices(),
                           std::span(std::as_const(blocks_)).subspan(block, run.block_end - block),
                           std::span(std::as_const(lanes_)).subspan(block, run.block_end - block),
                           entities_.data() + run.begin);
        block = run.block_end;
    }
    for (const auto& [at, entity] : named_) entities_[at] = entity;
    picked_ = 0;
    runs_.clear();
    named_.clear();
}

}  // namespace purview
