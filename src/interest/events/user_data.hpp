// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The numbers that the caller stores with its entities and observers, and gets back in events.
//
// A number stays readable until the events of the tick in which its entity or observer ended are
// written, because the leaves of that tick contain it. Invariants: an id has at most one number; no
// memory is used before the first number other than 0. Must not depend on relevance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
    /// O(1); for an id that has ended O(log n), after sort_gone().
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

class InterestUserData {
  public:
    UserData<EntityId> entities;
    UserData<ObserverId> observers;

    /// Writes the numbers into the events of a tick, and drops those of ended ids. O(events).
    void write_to(std::span<InterestEvent> events) {
        if (!entities.any() && !observers.any()) return;
        entities.sort_gone();
        observers.sort_gone();
        for (InterestEvent& event : events) {
            event.observer_data = observers.get(event.observer);
            event.entity_data = entities.get(event.entity);
        }
        entities.clear_gone();
        observers.clear_gone();
    }
};

}  // namespace purview
