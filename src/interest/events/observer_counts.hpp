// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How many observers each entity is relevant to, and which entities gained their first or lost
// their last one in the last tick. Counted from events; all zero while counting is off.
//
// Invariant: the count of a live entity is the number of its enters less its leaves since its
// spawn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class ObserverCounts {
  public:
    /// By entity index. O(1).
    std::uint32_t of(std::uint32_t index) const noexcept {
        return index < counts_.size() ? counts_[index] : 0;
    }
    std::span<const EntityId> newly_observed() const noexcept { return first_; }
    std::span<const EntityId> no_longer_observed() const noexcept { return last_; }
    void begin_tick() {
        first_.clear();
        last_.clear();
    }

    /// Counts the events of a tick and fills newly_observed() and no_longer_observed().
    /// is_alive(EntityId) returns whether the entity still exists. O(events).
    template <class IsAlive>
    void count(std::span<const InterestEvent> events, IsAlive&& is_alive) {
        gained_.clear();
        for (const InterestEvent& event : events) add(event);
        for (const InterestEvent& event : events) {
            const auto id = static_cast<std::uint64_t>(event.entity);
            const std::uint32_t* gained = gained_.find(id);
            if (gained == nullptr) continue;
            const std::uint32_t now = counts_[index_of(event.entity)], before = now - *gained;
            if ((before == 0) != (now == 0) && is_alive(event.entity))
                (now > 0 ? first_ : last_).push_back(event.entity);
            gained_.erase(id);
        }
        PURVIEW_ASSERT(gained_.size() == 0);  // each entity was reported once
    }

  private:
    void add(const InterestEvent& event) {
        const std::uint32_t index = index_of(event.entity);
        if (counts_.size() <= index) counts_.resize(index + 1 + index / 8, 0);
        const std::uint32_t gain = event.enter ? 1 : static_cast<std::uint32_t>(-1);
        counts_[index] += gain;
        gained_[static_cast<std::uint64_t>(event.entity)] += gain;  // entities may share an index
    }

    std::vector<std::uint32_t> counts_;             ///< by entity index
    std::vector<EntityId> first_;                   ///< gained their first observer
    std::vector<EntityId> last_;                    ///< lost their last one
    FlatMap<std::uint64_t, std::uint32_t> gained_;  ///< in this tick, by entity id; wraps
};

}  // namespace purview
