// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/tick_events.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "core/prefetch.hpp"
#include "core/run_chunks.hpp"
#include "core/trim.hpp"
#include "core/validate.hpp"
#include "purview/status.hpp"

namespace purview {

/// Whether only windows make events in this tick, so that nothing else has to be looked up.
bool TickEvents::is_window_all() const noexcept {
    return !explicit_.is_x_possible() && counts_.no_window == 0 && !summary_.has_hiding_flags &&
           spawned_.empty() && !groups_.any() && !splits_.any() && !split_queue_.any_released() &&
           !explicit_.has_minimum_relevance() && changes_.empty();
}

/// Makes an event, unless the pair is relevant for another reason all the while.
void TickEvents::report_change(const WindowChange& change, bool x_possible) {
    const std::uint32_t o = index_of(change.observer);
    const EntityId unit = change.unit;
    const bool enter = change.enter;
    const auto report = [&](EntityId member) {
        if (edits_.cancel_change(o, member, enter)) return;
        events_.add({member, change.observer, relevance_.reason_of(o, member, enter), enter});
    };
    if (lookup_.is_split_group(unit)) {
        if (!enter && change.is_there) (void)edits_.defer_leave(o, unit, change.wait_ticks);
        return edits_.touch_split_group(o, unit);
    }
    // A despawned cull group has no members left, and another entity may have its index.
    if (!change.is_there) return report(unit);
    if (x_possible && explicit_.x_holds(o, unit)) return;
    if (!enter && (edits_.defer_leave(o, unit, change.wait_ticks) || edits_.hold(o, unit))) return;
    relevance_.for_each_visible(o, unit, enter, report);
}

/// Goes chunk by chunk in the order of observers, whichever worker ran the chunk.
void TickEvents::report_changes() {
    const bool x_possible = explicit_.is_x_possible(), is_all = is_window_all();
    parts_.clear();
    for (const WindowWorker& worker : workers_) {
        std::size_t begin = 0;
        for (const WindowWorker::Chunk& chunk : worker.chunks) {
            if (chunk.end > begin)
                parts_.push_back(
                    {chunk.number, std::span(worker.changes).subspan(begin, chunk.end - begin)});
            begin = chunk.end;
        }
        PURVIEW_ASSERT(begin == worker.changes.size());
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const ChunkChanges& a, const ChunkChanges& b) { return a.chunk < b.chunk; });
    for (const ChunkChanges& part : parts_) {
        for (const WindowChange& change : part.changes) {
            if (is_all && change.is_there) {
                events_.add({change.unit, change.observer,
                             change.enter ? Reason::entered : Reason::left, change.enter});
            } else {
                report_change(change, x_possible);
            }
        }
    }
}

/// Begins the minimum relevance time of a pair that nodes made relevant.
void TickEvents::begin_stay(std::uint32_t o, EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || explicit_.is_hidden_by_rules(unit)) return;
    if (explicit_.facts_of(o, unit, slot).decide(false) == Stage::no_node)
        minimum_relevance_.begin(o, unit, tick_, rules_.minimum_relevance_ticks);
}

void TickEvents::publish() {
    changes_.settle(observers_.size());
    events_.publish(
        observers_.size(), changes_,
        [&](const ExplicitChange& change) -> InterestEvent {
            const Reason reason =
                relevance_.reason_of(change.observer, change.entity, change.enter);
            return {change.entity, observers_.id_of(change.observer), reason, change.enter};
        },
        [&](const ExplicitChange& change) {
            table_.prefetch_home_of(change.entity);
            pairs_.prefetch(change.observer, change.entity);
        });
    if (rules_.minimum_relevance_ticks > 0) {
        for (const PendingEvent& event : events_.pending()) {
            if (event.enter && !event.is_split) begin_stay(index_of(event.observer), event.entity);
        }
        for (const ExplicitChange& change : changes_) {
            if (change.enter && !change.canceled) begin_stay(change.observer, change.entity);
        }
    }
    events_.clear_pending();
    changes_.clear();
    spawned_.clear();
}

}  // namespace purview
