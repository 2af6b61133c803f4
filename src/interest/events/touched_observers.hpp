// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The observers that one edit of a cull group may affect, and whether it was explicitly relevant to
// each before the edit. Invariant: each observer is listed once. Must not depend on why it is
// relevant.
#pragma once

#include <cstdint>
#include <vector>

#include "core/id_pool.hpp"
#include "purview/status.hpp"

namespace purview {

class TouchedObservers {
  public:
    struct Entry {
        std::uint32_t observer;  ///< IdPool::no_index: left out
        bool before;
    };
    /// Begins an edit and clears the list.
    void begin(std::size_t observers) {
        ++stamp_;
        entries_.clear();
        before_edit_ = 0;
        if (stamps_.size() < observers) stamps_.resize(observers, 0);
    }
    /// Returns true if the observer is not touched yet; add() must follow.
    bool is_new(std::uint32_t observer) noexcept {
        PURVIEW_ASSERT(observer < stamps_.size());
        if (stamps_[observer] == stamp_) return false;
        stamps_[observer] = stamp_;
        return true;
    }
    void add(std::uint32_t observer, bool before) {
        PURVIEW_ASSERT(stamps_[observer] == stamp_ && entries_.size() < stamps_.size());
        entries_.push_back({observer, before});
    }
    /// Observers that are added after this call count as not relevant before the edit.
    /// leaves_out(observer): whether an observer that was added before is left out of for_each().
    template <class LeavesOut>
    void end_before(LeavesOut&& leaves_out) {
        PURVIEW_ASSERT(before_edit_ == 0);  // once an edit
        before_edit_ = entries_.size();
        for (Entry& entry : entries_) {
            if (leaves_out(entry.observer)) entry.observer = IdPool::no_index;
        }
    }
    /// Calls visit(observer, whether the cull group was explicitly relevant before).
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const Entry entry = entries_[i];
            if (entry.observer != IdPool::no_index)
                visit(entry.observer, i < before_edit_ && entry.before);
        }
    }

  private:
    std::vector<Entry> entries_;
    std::size_t before_edit_ = 0;        ///< number of entries from before the edit
    std::vector<std::uint64_t> stamps_;  ///< by observer: the last edit that touched it
    std::uint64_t stamp_ = 0;
};

}  // namespace purview
