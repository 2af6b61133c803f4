// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Retained ghosts of one observer: their entity left, and the client keeps the ghost for a while
// (Retention). An entity that returns in time resumes the same slot. Stores these slots, the end of
// their retention, and the state that the client had last. Invariants: at most count_max slots;
// count() is the number of retained slots; no retention ends before `until_`. Allocates nothing
// while nothing is retained. Must not depend on relevance or packets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/flat_map.hpp"
#include "purview/types.hpp"
#include "replication/retained_copy.hpp"
#include "replication/slot_words.hpp"

namespace purview {

/// Whether, and until when, a ghost is retained after its entity left.
struct RetentionPeriod {
    Retention policy = Retention::despawn;
    Tick until = 0;  ///< tick in which the ghost is dropped
};

class RetainedGhosts {
  public:
    /// Maximum for one observer.
    static constexpr std::uint32_t count_max = 1'024;

    std::uint32_t count() const noexcept { return count_; }
    bool has_room() const noexcept { return count_ < count_max; }
    bool is_retained(LocalId slot) const noexcept {
        const std::size_t word = slot_word(slot);
        return word < words_.size() && (words_[word] & slot_bit(slot)) != 0;
    }
    /// Returns Retention::despawn if the slot is not retained.
    Retention policy(LocalId slot) const noexcept {
        return is_retained(slot) ? entries_[slot].period.policy : Retention::despawn;
    }
    bool is_retained(EntityId entity) const noexcept { return find(entity) != no_local_id; }
    /// Returns the newest retained slot of the entity, or no_local_id.
    LocalId find(EntityId entity) const noexcept;

    /// Retains the slot from tick `now` on. There must be room.
    void begin(LocalId slot, EntityId entity, RetentionPeriod period, Tick now);
    void end(LocalId slot) noexcept;
    /// Ends expired retentions. If there is no room for `many` more, also ends the oldest of the
    /// others. Calls visit(slot) for each ended retention.
    template <class Visit>
    void end_expired(Tick now, std::size_t many, Visit&& visit);

    /// Stores the state that the client had last. The copy remains after the retention, until the
    /// client is known to have resumed the ghost or the slot is free.
    void set_copy(LocalId slot, RetainedCopy copy) {
        PURVIEW_ASSERT(is_retained(slot));
        copies_[slot] = std::move(copy);
    }
    bool has_copies() const noexcept { return !copies_.empty(); }
    /// Returns null if there is none.
    const RetainedCopy* copy(LocalId slot) const noexcept {
        if (copies_.empty()) return nullptr;
        const auto found = copies_.find(slot);
        return found != copies_.end() ? &found->second : nullptr;
    }
    void drop_copy(LocalId slot) noexcept {
        if (!copies_.empty()) copies_.erase(slot);
    }
    /// For assertions: checks everything.
    bool is_sound() const noexcept;
    std::size_t memory_bytes() const noexcept;

  private:
    struct Entry {
        EntityId entity = EntityId::none;
        RetentionPeriod period;
        Tick since = 0;
    };

    std::vector<std::uint64_t> words_;  ///< retained slots, a bit each
    std::vector<Entry> entries_;        ///< by slot
    std::uint32_t count_ = 0;
    Tick until_ = ~Tick{0};
    FlatMap<std::uint32_t, LocalId> slot_of_;  ///< by entity index
    std::unordered_map<LocalId, RetainedCopy> copies_;
    std::vector<std::pair<Tick, LocalId>> oldest_;  ///< scratch: start of retention, slot
};

template <class Visit>
void RetainedGhosts::end_expired(Tick now, std::size_t many, Visit&& visit) {
    if (count_ == 0) return;
    const bool is_full = count_ + many > count_max;
    if (until_ > now && !is_full) return;
    oldest_.clear();
    until_ = ~Tick{0};
    std::size_t left = 0;
    for (std::size_t w = 0; count_ > left && w < words_.size(); ++w) {
        for_each_bit(words_[w], w * bits_per_word, [&](std::size_t s) {
            const auto slot = static_cast<LocalId>(s);
            const Entry& entry = entries_[slot];
            if (entry.period.until <= now) {
                end(slot);
                return visit(slot);
            }
            ++left;
            if (is_full) oldest_.emplace_back(entry.since, slot);
            until_ = std::min(until_, entry.period.until);
        });
    }
    PURVIEW_ASSERT(left == count_);
    if (left + many <= count_max) return;
    PURVIEW_ASSERT(is_full && oldest_.size() == left);
    std::sort(oldest_.begin(), oldest_.end());
    oldest_.resize(std::min(left, left + many - count_max));
    for (const auto& [since, slot] : oldest_) {
        end(slot);
        visit(slot);
    }
}

}  // namespace purview
