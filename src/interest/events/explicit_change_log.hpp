// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The enters and leaves of this tick that come from edits of explicit relevance, in the order in
// which they were made. Two opposite changes of a pair cancel each other.
//
// Invariants: entries before `settled_` are sorted by observer, and opposite ones among them are
// canceled; for every pair the entries that are not canceled alternate between enter and leave.
// Must not depend on why a pair is relevant, or on windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/buckets.hpp"
#include "purview/types.hpp"

namespace purview {

struct ExplicitChange {
    std::uint32_t observer;
    EntityId entity;
    bool enter;
    bool canceled;
};

class ExplicitChangeLog {
  public:
    bool empty() const noexcept { return changes_.empty(); }
    std::size_t size() const noexcept { return changes_.size(); }
    const ExplicitChange& operator[](std::size_t at) const noexcept { return changes_[at]; }
    const ExplicitChange* begin() const noexcept { return changes_.data(); }
    const ExplicitChange* end() const noexcept { return changes_.data() + changes_.size(); }

    void add(std::uint32_t observer, EntityId entity, bool enter) {
        changes_.push_back({observer, entity, enter, false});
    }
    /// Cancels the newest change of the pair if it is the opposite of `enter`. Returns whether it
    /// was; then the caller must not add a change.
    bool cancel(std::uint32_t observer, EntityId entity, bool enter, std::size_t observers) {
        ExplicitChange* change = find(observer, entity, observers);
        if (change == nullptr || change->enter == enter) return false;
        change->canceled = true;
        return true;
    }
    /// Returns the newest change of the pair that is not canceled, or null. Calls settle().
    ExplicitChange* find(std::uint32_t observer, EntityId entity, std::size_t observers);
    /// Sorts by observer and cancels opposite changes. `observers`: all observer indices are below
    /// it. O(changes) if anything was added since the last call, else O(1).
    void settle(std::size_t observers);
    void clear();
    /// Asserts the invariants. O(changes).
    void validate() const;

  private:
    void sort(std::size_t observers);
    ExplicitChange* find_before(std::uint32_t observer, std::size_t end, EntityId entity) noexcept;

    LineVector<ExplicitChange> changes_;
    std::size_t settled_ = 0;
    Buckets of_observer_;                  ///< the settled changes, by observer
    LineVector<ExplicitChange> unsorted_;  ///< scratch
    std::vector<std::uint32_t> last_;      ///< by entity index: its newest change of `last_of_`
    std::uint32_t last_of_ = 0;            ///< the observer of last_
};

}  // namespace purview
