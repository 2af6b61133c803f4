// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Allocates indices with generations. A released index is not reused before `recycle()`, which the
// owner calls between ticks, so within one tick an index never refers to two objects. Indices are
// reused in the order of release, so that generations of one index are as far apart in time as
// possible. An index that has used all its generations is retired, so an id is never reused. The
// caller may also choose index and generation (acquire_as).
//
// Invariants: an index is free, live, quarantined (released but not recycled) or retired. It is in
// the list of free indices at most once. After acquire_as it may be in that list while it is live
// or quarantined.
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

    /// Generations of an index run from 1 to `generation_max`. After that another index replaces
    /// it, as long as there is one below `indices_max`.
    explicit IdPool(std::uint32_t capacity, std::uint32_t generation_max = 0xffffffffU,
                    std::uint32_t indices_max = no_index) noexcept
        : capacity_(capacity), generation_max_(generation_max), indices_max_(indices_max) {}

    std::uint32_t capacity() const noexcept { return capacity_; }
    std::uint32_t live_count() const noexcept { return live_count_; }
    /// One past the largest index ever used.
    std::uint32_t index_end() const noexcept {
        return static_cast<std::uint32_t>(generations_.size());
    }

    /// Returns no_index if the pool is full.
    std::uint32_t acquire() {
        if (live_count_ >= capacity_) return no_index;
        std::uint32_t index = next_free();
        if (index == no_index) {
            if (index_end() >= index_limit()) return no_index;
            index = index_end();
            add_index();
        }
        start(index, generations_[index] + 1);
        return index;
    }

    /// Returns whether acquire_as can take this id: the index is below the capacity and not used in
    /// this tick, and the generation is above all earlier ones of the index.
    bool is_free(std::uint32_t index, std::uint32_t generation) const noexcept {
        if (index >= std::min(capacity_, indices_max_) || generation > generation_max_)
            return false;
        return index < index_end() ? (states_[index] & (live_bit | quarantined_bit)) == 0 &&
                                         generation > generations_[index]
                                   : generation > 0;
    }
    /// Takes an index and a generation chosen by the caller. Lower indices that were never used
    /// remain available to acquire(). Returns false if the pool is full or the id is not free.
    bool acquire_as(std::uint32_t index, std::uint32_t generation) {
        if (live_count_ >= capacity_ || !is_free(index, generation)) return false;
        while (index_end() <= index) {
            list(index_end());
            add_index();
        }
        start(index, generation);
        return true;
    }

    void release(std::uint32_t index) {
        PURVIEW_ASSERT(is_live(index));
        states_[index] &= static_cast<std::uint8_t>(~live_bit);
        --live_count_;
        if (generations_[index] == generation_max_) {
            ++retired_;
        } else {
            states_[index] |= quarantined_bit;
            quarantined_.push_back(index);
        }
    }

    /// Makes the indices released since the last call available again.
    void recycle() {
        if (quarantined_.empty()) return;
        if (free_head_ > free_.size() / 2) {  // amortized: O(1) per index
            free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(free_head_));
            free_head_ = 0;
        }
        for (const std::uint32_t index : quarantined_) {
            states_[index] &= static_cast<std::uint8_t>(~quarantined_bit);
            if ((states_[index] & listed_bit) == 0) list(index);
        }
        quarantined_.clear();
    }

    bool is_live(std::uint32_t index, std::uint32_t generation) const noexcept {
        return is_live(index) && PURVIEW_GUARD(generation, generations_[index] == generation);
    }
    bool is_live(std::uint32_t index) const noexcept {
        return index < index_end() && (states_[index] & live_bit) != 0;
    }
    std::uint32_t generation(std::uint32_t index) const noexcept {
        PURVIEW_ASSERT(index < index_end());
        return generations_[index];
    }

  private:
    static constexpr std::uint8_t live_bit = 1, quarantined_bit = 2,
                                  listed_bit = 4;  ///< bits of states_

    void add_index() {
        generations_.push_back(0);
        states_.resize(generations_.size(), 0);
    }
    void start(std::uint32_t index, std::uint32_t generation) {
        PURVIEW_ASSERT(!is_live(index) && generation > generations_[index]);
        generations_[index] = generation;
        states_[index] |= live_bit;
        ++live_count_;
    }
    void list(std::uint32_t index) {
        if (states_.size() <= index) states_.resize(index + std::size_t{1}, 0);
        states_[index] |= listed_bit;
        free_.push_back(index);
    }
    /// Returns no_index if none is free.
    std::uint32_t next_free() {
        while (free_head_ < free_.size()) {
            const std::uint32_t index = free_[free_head_++];
            if (free_head_ == free_.size()) {
                free_.clear();
                free_head_ = 0;
            }
            states_[index] &= static_cast<std::uint8_t>(~listed_bit);
            // Skips indices that acquire_as took meanwhile. recycle() lists them again after their
            // release.
            if (states_[index] == 0 && generations_[index] < generation_max_) return index;
        }
        return no_index;
    }
    /// Quarantined indices, up to `capacity_` of them, do not count against the capacity. An id
    /// that is released can therefore be replaced in the same tick.
    std::uint64_t index_limit() const noexcept {
        const auto quarantined = static_cast<std::uint64_t>(quarantined_.size());
        const std::uint64_t all =
            std::uint64_t{capacity_} + retired_ + std::min<std::uint64_t>(quarantined, capacity_);
        return std::min<std::uint64_t>(all, indices_max_);
    }

    std::uint32_t capacity_;
    std::uint32_t generation_max_;
    std::uint32_t indices_max_;
    std::uint32_t live_count_ = 0;
    std::uint32_t retired_ = 0;  ///< indices without further generations
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint8_t> states_;
    std::vector<std::uint32_t> free_;
    std::size_t free_head_ = 0;
    std::vector<std::uint32_t> quarantined_;  ///< in the order of release
};

}  // namespace purview
