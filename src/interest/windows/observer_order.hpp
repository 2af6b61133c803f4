// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The order in which windows are updated. Observers near each other come one after another, because
// they share blocks in the cache. A new observer comes last until the next sort. Invariant: each
// observer index is in the order at most once. Must not depend on positions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/bitset.hpp"
#include "purview/status.hpp"
#include "spatial/lanes.hpp"

namespace purview {

class ObserverOrder {
  public:
    std::size_t size() const noexcept { return order_.size(); }
    const std::uint32_t* begin() const noexcept { return order_.data(); }
    const std::uint32_t* end() const noexcept { return order_.data() + order_.size(); }

    bool contains(std::uint32_t observer) const noexcept {
        return observer < in_order_.size() && in_order_.test(observer);
    }
    /// Appends the observer, if it is not in the order.
    void add(std::uint32_t observer) {
        if (in_order_.size() <= observer) in_order_.resize(observer + 1 + observer / 8);
        if (in_order_.test(observer)) return;
        in_order_.set(observer);
        order_.push_back(observer);
        ++appended_;
    }
    /// Counts a tick. Returns true when it is time to sort, and then sets the next time.
    bool is_due() noexcept {
        // New windows are not packed yet, so the next sort is soon.
        constexpr std::uint32_t every = 128, soon = 4, joined_share = 8;
        const bool many_joined = appended_ > order_.size() / joined_share;
        if (!many_joined && ticks_to_sort_ > 0) {
            --ticks_to_sort_;
            return false;
        }
        ticks_to_sort_ = many_joined ? soon : every;
        return true;
    }
    /// Sorts by cell. cell_of(observer) returns a std::optional<BlockIndex>; nullopt removes the
    /// observer. O(n log n).
    template <class CellOf>
    void sort(CellOf&& cell_of) {
        appended_ = 0;
        keys_.clear();
        for (const std::uint32_t observer : order_) {
            const std::optional<BlockIndex> cell = cell_of(observer);
            if (!cell) {
                in_order_.reset(observer);
                continue;
            }
            keys_.push_back((std::uint64_t{*cell} << 32) | observer);
        }
        std::sort(keys_.begin(), keys_.end());
        order_.clear();
        for (const std::uint64_t key : keys_) order_.push_back(static_cast<std::uint32_t>(key));
    }

    /// Asserts the invariant. O(n).
    void validate() const {
        std::size_t in_order = 0;
        in_order_.for_each([&](std::size_t) { ++in_order; });
        PURVIEW_ASSERT(in_order == order_.size());
        PURVIEW_ASSERT(appended_ <= order_.size());
        for (const std::uint32_t observer : order_) PURVIEW_ASSERT(in_order_.test(observer));
    }

  private:
    std::vector<std::uint32_t> order_;
    Bitset in_order_;
    std::uint32_t appended_ = 0;  ///< since the last sort
    std::uint32_t ticks_to_sort_ = 0;
    std::vector<std::uint64_t> keys_;  ///< scratch
};

}  // namespace purview
