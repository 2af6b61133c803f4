// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Minimum relevance time: until when a pair stays relevant after a node made it so, and what ends
// that early. Periods that begin in one tick may have different lengths. Invariants: a pair has at
// most one period; each period has an entry in the queue of ends, the next end first. Must not
// depend on why a pair would leave, or on what hides an entity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/relations/pair_table.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class MinimumRelevance {
  public:
    struct Period {
        EntityId entity = EntityId::none;
        Tick from = 0;
        Tick until = 0;  ///< the first tick in which it may leave
    };
    void begin(std::uint32_t observer, EntityId unit, Tick now, std::uint32_t ticks) {
        const Tick until = later(now, ticks);
        by_pair_[pair_key(observer, unit)] = {unit, now, until};
        constexpr std::size_t few = 64;
        if (queue_.size() > 2 * by_pair_.size() + few) forget_ended();
        queue_.push_back({observer, now, unit, until, ++number_});
        PURVIEW_ASSERT(is_current(queue_.back()));
        std::push_heap(queue_.begin(), queue_.end(), ends_later);
    }
    /// Returns the period of a pair, or null.
    const Period* find(std::uint32_t observer, EntityId unit) const noexcept {
        if (by_pair_.size() == 0) return nullptr;
        const Period* period = by_pair_.find(pair_key(observer, unit));
        return period != nullptr && period->entity == unit ? period : nullptr;
    }
    void end(std::uint32_t observer, EntityId unit) {
        if (find(observer, unit) != nullptr) by_pair_.erase(pair_key(observer, unit));
    }
    /// Removes all periods that end in this tick or before it, and calls visit(observer, unit) for
    /// each. Order: by end, then by begin.
    template <class Visit>
    void expire(Tick now, Visit&& visit) {
        while (!queue_.empty() && queue_.front().until <= now) {
            std::pop_heap(queue_.begin(), queue_.end(), ends_later);
            const Entry entry = queue_.back();
            queue_.pop_back();
            if (!is_current(entry)) continue;  // it began again since
            end(entry.observer, entry.unit);
            visit(entry.observer, entry.unit);
        }
    }
    /// Ends every period at most `ticks` after it began. O(size()).
    void shorten(std::uint32_t ticks) {
        for (Entry& entry : queue_) {
            if (!is_current(entry)) {
                entry.until = 0;  // it began again since
                continue;
            }
            Period* period = by_pair_.find(pair_key(entry.observer, entry.unit));
            PURVIEW_ASSERT(period != nullptr);
            entry.until = period->until = std::min(period->until, later(period->from, ticks));
        }
        std::make_heap(queue_.begin(), queue_.end(), ends_later);
    }
    std::size_t size() const noexcept { return by_pair_.size(); }

    /// Ends every period of the cull group that began before `tick`.
    void note_hidden(EntityId unit, Tick tick) {
        const std::uint32_t index = index_of(unit);
        if (hidden_at_.size() <= index) hidden_at_.resize(index + 1, 0);
        hidden_at_[index] = tick;
    }
    bool was_hidden_after(EntityId unit, Tick tick) const noexcept {
        return index_of(unit) < hidden_at_.size() && hidden_at_[index_of(unit)] > tick;
    }
    /// Cull groups with changed explicit relevance in this tick, and denied pairs. Whether a change
    /// hides them is checked when all changes of the tick are known.
    std::vector<EntityId> hide_checks;
    std::vector<std::pair<std::uint32_t, EntityId>> denial_checks;  ///< observer, unit
    /// Returns the number of entries in the queue: at most twice size(), plus a constant.
    std::size_t ends() const noexcept { return queue_.size(); }

    /// Asserts that each period has an entry in the queue, so that it ends. O(size()).
    void validate() const {
        PURVIEW_ASSERT(std::is_heap(queue_.begin(), queue_.end(), ends_later));
        std::size_t own = 0;
        for (const Entry& entry : queue_) own += is_current(entry) ? 1U : 0U;
        PURVIEW_ASSERT(own >= by_pair_.size());
    }

  private:
    static constexpr Tick later(Tick now, std::uint32_t ticks) noexcept {
        return now > std::numeric_limits<Tick>::max() - ticks ? std::numeric_limits<Tick>::max()
                                                              : now + ticks;
    }
    struct Entry {
        std::uint32_t observer;
        Tick from;
        EntityId unit;
        Tick until;
        std::uint32_t number;  ///< order among the periods of one tick
    };
    static bool ends_later(const Entry& a, const Entry& b) noexcept {
        return std::tie(a.until, a.from, a.number) > std::tie(b.until, b.from, b.number);
    }
    /// Returns false if the period has ended, or began again since.
    bool is_current(const Entry& entry) const noexcept {
        const Period* period = find(entry.observer, entry.unit);
        return period != nullptr && period->from == entry.from && period->until == entry.until;
    }
    void forget_ended() {
        std::erase_if(queue_, [&](const Entry& entry) { return !is_current(entry); });
        std::make_heap(queue_.begin(), queue_.end(), ends_later);
    }
    FlatMap<std::uint64_t, Period> by_pair_;
    std::vector<Entry> queue_;  ///< a heap: the next end is the first
    std::uint32_t number_ = 0;
    std::vector<Tick> hidden_at_;  ///< by entity index: the last tick of a hide
};

}  // namespace purview
