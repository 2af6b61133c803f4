// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The enters and leaves of the last tick, sorted by observer, leaves before enters.
//
// Events of windows and of partly split groups are pending until the tick ends; then they and the
// changes of explicit relevance are published together. Invariants: all() stays the same from one
// publish() to the next; for each observer, leaves come first, because an entity may have the index
// of one that left. Must not depend on why a pair is relevant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/aligned.hpp"
#include "core/buckets.hpp"
#include "core/trim.hpp"
#include "interest/events/explicit_change_log.hpp"
#include "purview/interest.hpp"
#include "purview/status.hpp"

namespace purview {

struct PendingEvent {
    EntityId entity;
    ObserverId observer;
    Reason reason;
    bool enter;
    bool is_split = false;  ///< in a partly split group: its minimum relevance time is set already
};

class EventList {
  public:
    std::span<const InterestEvent> all() const noexcept { return events_; }
    std::span<InterestEvent> all() noexcept { return events_; }
    /// Returns the events of one live observer. O(1).
    std::span<const InterestEvent> of(ObserverId observer) const noexcept;

    void add(const PendingEvent& event) { pending_.push_back(event); }
    std::span<const PendingEvent> pending() const noexcept { return pending_; }

    /// Replaces all(): pending events first, then `changes`, each in their order.
    /// event_of(change) -> InterestEvent; prefetch(change) is called some changes ahead.
    /// O(events).
    template <class EventOf, class Prefetch>
    void publish(std::size_t observers, const ExplicitChangeLog& changes, EventOf&& event_of,
                 Prefetch&& prefetch) {
        constexpr std::size_t ahead = 16;
        of_observer_.clear(2 * observers);
        for (const PendingEvent& event : pending_) {
            PURVIEW_ASSERT(index_of(event.observer) < observers);
            of_observer_.count(bucket(index_of(event.observer), event.enter));
        }
        for (const ExplicitChange& change : changes) {
            if (!change.canceled) of_observer_.count(bucket(change.observer, change.enter));
        }
        of_observer_.settle();
        // All entries are overwritten; memory is released only if the list is far too long.
        const std::size_t size = of_observer_.size();
        if (events_.capacity() > 8 * size) clear_and_trim(events_);
        events_.resize(size);
        for (const PendingEvent& event : pending_) {
            events_[of_observer_.next(bucket(index_of(event.observer), event.enter))] = {
                event.entity, event.observer, event.reason, event.enter};
        }
        for (std::size_t i = 0; i < changes.size(); ++i) {
            if (i + ahead < changes.size()) prefetch(changes[i + ahead]);
            const ExplicitChange& change = changes[i];
            if (change.canceled) continue;
            events_[of_observer_.next(bucket(change.observer, change.enter))] = event_of(change);
        }
    }
    /// Drops the pending events.
    void clear_pending() { clear_and_trim(pending_); }
    /// Asserts the invariants. O(events).
    void validate() const;

  private:
    static constexpr std::uint32_t bucket(std::uint32_t observer, bool enter) noexcept {
        return 2 * observer + (enter ? 1U : 0U);
    }

    LineVector<PendingEvent> pending_;
    LineVector<InterestEvent> events_;
    Buckets of_observer_;  ///< of events_, by bucket()
};

}  // namespace purview
