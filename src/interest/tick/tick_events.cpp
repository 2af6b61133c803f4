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

/// Returns whether only windows make events in this tick. Then nothing else has to be looked up.
bool TickEvents::is_spatial_only() const noexcept {
    return !explicit_.may_be_explicit() && counts_.no_window == 0 && !summary_.has_hiding_flags &&
           spawned_.empty() && !groups_.any() && !splits_.any() && !split_queue_.any_released() &&
           !explicit_.has_minimum_relevance() && changes_.empty();
}

/// Adds the events of a window change. Adds none if the pair is relevant for another reason:
/// explicit relevance or a minimum relevance time.
void TickEvents::report_change(const WindowChange& change, bool may_be_explicit) {
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
    if (may_be_explicit && explicit_.is_explicitly_relevant(o, unit)) return;
    if (!enter && (edits_.defer_leave(o, unit, change.wait_ticks) || edits_.hold(o, unit))) return;
    relevance_.for_each_visible(o, unit, enter, report);
}

/// Processes the chunks by number, so that the events do not depend on which worker ran a chunk.
void TickEvents::report_changes() {
    const bool may_be_explicit = explicit_.may_be_explicit(), is_spatial = is_spatial_only();
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
            if (is_spatial && change.is_there) {
                events_.add({change.unit, change.observer,
                             change.enter ? Reason::entered : Reason::left, change.enter});
            } else {
                report_change(change, may_be_explicit);
            }
        }
    }
}

/// Starts the minimum relevance time of a pair if nodes made it relevant.
void TickEvents::begin_minimum_time(std::uint32_t o, EntityId unit) {
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
            if (event.enter && !event.is_split)
                begin_minimum_time(index_of(event.observer), event.entity);
        }
        for (const ExplicitChange& change : changes_) {
            if (change.enter && !change.canceled)
                begin_minimum_time(change.observer, change.entity);
        }
    }
    events_.clear_pending();
    changes_.clear();
    spawned_.clear();
}

}  // namespace purview
