// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Indices with generations. A released index rests until `recycle()`, which its owner calls between
// ticks: within one tick an index never speaks of two things. First released, first reused, so that
// generations of one index are as far apart in time as possible. An index whose generations are
// used up is not used again: an id never comes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/mutate.hpp"
#include "purview/status.hpp"

namespace purview {

class IdPool {
  public:
    static constexpr std::uint32_t no_index = 0xffffffffU;

    /// `generation_max`: generations of an index run 1..generation_max; then another index takes
    /// its place, as long as there is one below `indices_max`.
    explicit IdPool(std::uint32_t capacity, std::uint32_t generation_max = 0xffffffffU,
                    std::uint32_t indices_max = no_index) noexcept
        : capacity_(capacity), generation_max_(generation_max), indices_max_(indices_max) {}

    std::uint32_t capacity() const noexcept { return capacity_; }
    std::uint32_t live_count() const noexcept { return live_count_; }
    /// One past the largest index ever used.
    std::uint32_t index_end() const noexcept {
        return static_cast<std::uint32_t>(generations_.size());
    }

    /// no_index when the pool is full.
    std::uint32_t acquire() {
        std::uint32_t index = no_index;
        if (live_count_ >= capacity_) return no_index;
        if (free_head_ < free_.size()) {
            index = free_[free_head_++];
            if (free_head_ == free_.size()) {
                free_.clear();
                free_head_ = 0;
            }
        } else if (index_end() < index_limit()) {
            index = index_end();
            generations_.push_back(0);
            live_.push_back(0);
        } else {
            return no_index;
        }
        ++generations_[index];
        live_[index] = 1;
        ++live_count_;
        return index;
    }

    void release(std::uint32_t index) {
        PURVIEW_ASSERT(index < index_end() && live_[index] != 0);
        live_[index] = 0;
        --live_count_;
        if (generations_[index] == generation_max_) {
            ++retired_;
        } else {
            resting_.push_back(index);
        }
    }

    /// Lets the indices released since the last call be used again.
    void recycle() {
        if (resting_.empty()) return;
        if (free_head_ > free_.size() / 2) {  // moved rarely enough to be free per index
            free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(free_head_));
            free_head_ = 0;
        }
        free_.insert(free_.end(), resting_.begin(), resting_.end());
        resting_.clear();
    }

    bool is_live(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index < index_end() && live_[index] != 0 &&
               PURVIEW_GUARD(generation, generations_[index] == generation);
    }
    bool is_live(std::uint32_t index) const noexcept {
        return index < index_end() && live_[index] != 0;
    }
    std::uint32_t generation(std::uint32_t index) const noexcept {
        PURVIEW_ASSERT(index < index_end());
        return generations_[index];
    }

  private:
    /// Indices that rest do not count against the capacity, up to as many again: what is released
    /// in a tick may be replaced in it.
    std::uint64_t index_limit() const noexcept {
        const auto resting = static_cast<std::uint64_t>(resting_.size());
        const std::uint64_t all =
            std::uint64_t{capacity_} + retired_ + std::min<std::uint64_t>(resting, capacity_);
        return std::min<std::uint64_t>(all, indices_max_);
    }

    std::uint32_t capacity_;
    std::uint32_t generation_max_;
    std::uint32_t indices_max_;
    std::uint32_t live_count_ = 0;
    std::uint32_t retired_ = 0;  ///< indices whose generations are used up
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint8_t> live_;
    std::vector<std::uint32_t> free_;
    std::size_t free_head_ = 0;
    std::vector<std::uint32_t> resting_;
};

}  // namespace purview
