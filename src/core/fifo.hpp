// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A first-in, first-out queue in a ring buffer. Elements are addressed by a position, which counts
// from the first element pushed after construction or clear(). The ring only grows, and then by a
// factor of four, so that a fluctuating size does not cause late allocations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/aligned.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"

namespace purview {

template <class T>
class Fifo {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    using Position = std::uint64_t;

    Position begin() const noexcept { return begin_; }
    Position end() const noexcept { return end_; }
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    std::size_t memory_bytes() const noexcept { return ring_.capacity() * sizeof(T); }

    T& operator[](Position at) noexcept {
        PURVIEW_ASSERT(at >= begin_ && at < end_);
        return ring_[static_cast<std::size_t>(at) & (ring_.size() - 1)];
    }
    const T& operator[](Position at) const noexcept { return const_cast<Fifo&>(*this)[at]; }
    /// Appends an element. Invalidates references.
    void push(const T& value) {
        if (size() == ring_.size()) grow();
        ring_[static_cast<std::size_t>(end_++) & (ring_.size() - 1)] = value;
    }
    /// Appends `count` elements T{}.
    void push_empty(std::size_t count) {
        while (size() + count > ring_.size()) grow();
        for (; count > 0; --count)
            ring_[static_cast<std::size_t>(end_++) & (ring_.size() - 1)] = {};
    }
    /// Prefetches the memory of the next `count` elements.
    void prefetch_end(std::size_t count) const noexcept {
        static_assert(sizeof(T) <= cache_line_bytes);
        for (std::size_t i = 0; i < count && !ring_.empty(); i += cache_line_bytes / sizeof(T))
            prefetch_line(&ring_[(static_cast<std::size_t>(end_) + i) & (ring_.size() - 1)]);
    }
    /// Removes all elements before the position.
    void drop_before(Position at) noexcept {
        PURVIEW_ASSERT(at >= begin_ && at <= end_);
        begin_ = at;
    }

    /// Removes all elements. Positions start again at 0, so a queue that is often empty stays in
    /// the same few cache lines.
    void clear() noexcept { begin_ = end_ = 0; }

  private:
    static constexpr std::size_t size_min = std::bit_floor(4096 / sizeof(T));  ///< at most a page

    void grow() {
        LineVector<T> larger(ring_.empty() ? size_min : 4 * ring_.size());
        for (Position at = begin_; at != end_; ++at) {
            larger[static_cast<std::size_t>(at) & (larger.size() - 1)] = (*this)[at];
        }
        ring_.swap(larger);
    }

    LineVector<T> ring_;  ///< size: a power of two
    Position begin_ = 0;
    Position end_ = 0;
};

}  // namespace purview
