// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enter/leave log of one observer over the last ticks. Combined with the current relevance, it
// yields the relevance in an earlier tick.
#pragma once

#include <algorithm>
#include <vector>

#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class RelevanceLog {
  public:
    void note(EntityId entity, Tick tick, bool enter) {
        PURVIEW_ASSERT(entries_.empty() || entries_.back().tick <= tick);
        entries_.push_back({entity, tick, enter});
    }
    /// Removes all entries that are not after the tick.
    void forget(Tick tick) {
        if (entries_.empty() || entries_.front().tick > tick) return;
        entries_.erase(entries_.begin(), first_after(tick));
    }
    /// Returns whether the entity was relevant in that tick, given whether it is relevant now.
    bool was_relevant(EntityId entity, Tick tick, bool is_relevant) const noexcept {
        const auto found = std::find_if(first_after(tick), entries_.end(),
                                        [&](const Entry& entry) { return entry.entity == entity; });
        return found == entries_.end() ? is_relevant : !found->enter;
    }

  private:
    struct Entry {
        EntityId entity;
        Tick tick;
        bool enter;
    };
    std::vector<Entry>::const_iterator first_after(Tick tick) const noexcept {
        return std::upper_bound(entries_.begin(), entries_.end(), tick,
                                [](Tick at, const Entry& entry) { return at < entry.tick; });
    }
    std::vector<Entry> entries_;  ///< ticks ascend
};

}  // namespace purview
