// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Events as the caller of the engine reads them: with the numbers that it keeps with its entities
// and observers (user data).
//
// A number stays readable until the events of the tick in which its entity or observer went are
// built, because the leaves of that tick name it. Invariants: an id has at most one number; nothing
// is stored before the first number other than 0; all() has one report for each event of the last
// tick, in their order. Must not know: relevance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "interest/events/relevance_event.hpp"
#include "purview/interest.hpp"
#include "purview/types.hpp"

namespace purview {

template <class Id>
class UserData {
  public:
    /// O(1); the first time O(index).
    void set(Id id, std::uint64_t value) {
        const std::size_t index = index_of(id);
        if (index >= current_.size()) {
            if (value == 0) return;
            current_.resize(index + 1, {Id::none, 0});
        }
        current_[index] = {id, value};
    }
    /// O(1); for an id that is gone O(log n), after sort_gone().
    std::uint64_t get(Id id) const noexcept {
        const std::size_t index = index_of(id);
        if (index < current_.size() && current_[index].first == id) return current_[index].second;
        const auto at = std::lower_bound(gone_.begin(), gone_.end(), Entry{id, 0});
        return at != gone_.end() && at->first == id ? at->second : 0;
    }
    void forget(Id id) {
        const std::size_t index = index_of(id);
        if (index >= current_.size() || current_[index].first != id) return;
        if (current_[index].second != 0) gone_.push_back(current_[index]);
        current_[index] = {Id::none, 0};
    }
    void sort_gone() { std::sort(gone_.begin(), gone_.end()); }
    void clear_gone() noexcept { gone_.clear(); }
    bool any() const noexcept { return !current_.empty(); }

  private:
    using Entry = std::pair<Id, std::uint64_t>;
    std::vector<Entry> current_;  ///< by index
    std::vector<Entry> gone_;     ///< since the last tick
};

class EventReports {
  public:
    UserData<EntityId> entities;
    UserData<ObserverId> observers;

    /// Called at the end of a tick, before further edits.
    void end_tick(std::span<const RelevanceEvent> events) {
        is_built_ = false;
        if (!entities.any() && !observers.any()) return;
        build(events);
        entities.clear_gone();
        observers.clear_gone();
    }
    /// `events`: those of the last tick. O(events) for the first call after a tick, then O(1).
    std::span<const InterestEvent> all(std::span<const RelevanceEvent> events) {
        if (!is_built_) build(events);
        return reports_;
    }

  private:
    void build(std::span<const RelevanceEvent> events) {
        entities.sort_gone();
        observers.sort_gone();
        reports_.clear();
        reports_.reserve(events.size());
        for (const RelevanceEvent& event : events) {
            reports_.push_back({event.observer, event.entity, event.reason, event.enter,
                                observers.get(event.observer), entities.get(event.entity)});
        }
        is_built_ = true;
    }

    std::vector<InterestEvent> reports_;
    bool is_built_ = true;
};

}  // namespace purview
