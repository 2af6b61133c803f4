// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Counting sort by a small key: assigns each item its position in a list sorted by key. Call
// count() for every item, then settle() once, then next() for every item. The sort is stable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace purview {

class Buckets {
  public:
    /// Resets all counts. Keys are in [0, keys).
    void clear(std::size_t keys) { begin_.assign(keys + 1, 0); }
    void count(std::uint32_t key) noexcept { ++begin_[key + 1]; }
    void settle() {
        for (std::size_t key = 1; key < begin_.size(); ++key) begin_[key] += begin_[key - 1];
        next_ = begin_;
    }
    /// Returns the position of the next item with this key.
    std::uint32_t next(std::uint32_t key) noexcept { return next_[key]++; }

    std::uint32_t keys() const noexcept {
        return begin_.empty() ? 0 : static_cast<std::uint32_t>(begin_.size() - 1);
    }
    std::uint32_t size() const noexcept { return begin_.empty() ? 0 : begin_.back(); }
    std::uint32_t begin(std::uint32_t key) const noexcept { return begin_[key]; }
    std::uint32_t end(std::uint32_t key) const noexcept { return begin_[key + 1]; }

  private:
    std::vector<std::uint32_t> begin_;  ///< [keys + 1]
    std::vector<std::uint32_t> next_;   ///< [keys + 1]
};

}  // namespace purview
