// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Partly split groups that an edit or a window touched in this tick. When the tick's explicit
// relevance and windows are final, each is evaluated once for each touched observer.
//
// Invariant: released cull groups are treated as partly split until take_released(). Must not
// depend on the result of a group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/entity_map.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class SplitQueue {
  public:
    /// Queues the group of the cull group for one observer, or for all.
    void touch(EntityId unit, std::uint32_t observer) { pairs_.emplace_back(unit, observer); }
    void touch(EntityId unit) { units_.push_back(unit); }
    void touch(std::span<const EntityId> units) {
        units_.insert(units_.end(), units.begin(), units.end());
    }
    /// Adds a despawned entity of a partly split group.
    void add_gone(EntityId entity) { gone_.push_back(entity); }
    std::span<const EntityId> gone() const noexcept { return gone_; }
    void clear_gone() { gone_.clear(); }

    /// The cull group is in no partly split group any more, from the end of this tick on.
    void release(EntityId unit) {
        released_[unit] = true;
        released_units_.push_back(unit);
    }
    bool any_released() const noexcept { return released_.size() > 0; }
    bool is_released(EntityId unit) const noexcept { return released_.contains(unit); }
    std::vector<EntityId> take_released() {
        PURVIEW_ASSERT(released_.size() <= released_units_.size());
        released_.clear();
        return std::exchange(released_units_, {});
    }

    /// Calls visit(group root, observer) for every touched group and observer, ascending, each
    /// once, and then clears the queue. top_of(unit): the root, or none if the cull group is gone.
    /// is_concerned(observer): whether to visit the observer for groups that are touched for all.
    template <class TopOf, class IsConcerned, class Visit>
    void settle(std::uint32_t observers, TopOf&& top_of, IsConcerned&& is_concerned,
                Visit&& visit) {
        for (EntityId& unit : units_) unit = top_of(unit);
        std::sort(units_.begin(), units_.end());
        units_.erase(std::unique(units_.begin(), units_.end()), units_.end());
        for (auto& one : pairs_) one.first = top_of(one.first);
        for (const EntityId top : units_) {
            for (std::uint32_t o = 0; o < observers && top != EntityId::none; ++o) {
                if (is_concerned(o)) pairs_.emplace_back(top, o);
            }
        }
        units_.clear();
        std::sort(pairs_.begin(), pairs_.end());
        pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
        const std::size_t count = pairs_.size();
        for (const auto& [top, observer] : pairs_) {
            if (top != EntityId::none) visit(top, observer);
            PURVIEW_ASSERT(pairs_.size() == count && units_.empty());  // visit() touches nothing
        }
        pairs_.clear();
    }

  private:
    std::vector<std::pair<EntityId, std::uint32_t>> pairs_;  ///< cull groups, by observer
    std::vector<EntityId> units_;                            ///< touched for all observers
    std::vector<EntityId> gone_;
    EntityMap<bool> released_;
    std::vector<EntityId> released_units_;
};

}  // namespace purview
