// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/retained_ghosts.hpp"

#include <bit>

namespace purview {

LocalId RetainedGhosts::find(EntityId entity) const noexcept {
    const LocalId* slot = slot_of_.find(index_of(entity));
    return slot != nullptr && entries_[*slot].entity == entity ? *slot : no_local_id;
}

void RetainedGhosts::begin(LocalId slot, EntityId entity, RetentionPeriod period, Tick now) {
    PURVIEW_ASSERT(period.policy != Retention::despawn);
    PURVIEW_ASSERT(!is_retained(slot) && entity != EntityId::none);
    if (slot >= entries_.size()) {
        words_.resize(slot_word(slot) + 1);
        entries_.resize(words_.size() * bits_per_word);
    }
    words_[slot_word(slot)] |= slot_bit(slot);
    entries_[slot] = {entity, period, now};
    slot_of_[index_of(entity)] = slot;
    ++count_;
    until_ = std::min(until_, period.until);
}

void RetainedGhosts::end(LocalId slot) noexcept {
    PURVIEW_ASSERT(is_retained(slot) && count_ > 0);
    words_[slot_word(slot)] &= ~slot_bit(slot);
    --count_;
    const std::uint32_t index = index_of(entries_[slot].entity);
    const LocalId* newest = slot_of_.find(index);
    if (newest != nullptr && *newest == slot) slot_of_.erase(index);
}

bool RetainedGhosts::is_sound() const noexcept {
    std::uint32_t count = 0;
    bool is_in_time = true;
    for (std::size_t w = 0; w < words_.size(); ++w) {
        count += static_cast<std::uint32_t>(std::popcount(words_[w]));
        for_each_bit(words_[w], w * bits_per_word, [&](std::size_t slot) {
            is_in_time = is_in_time && entries_[slot].period.until >= until_;
        });
    }
    return count == count_ && slot_of_.size() <= count && is_in_time;
}

std::size_t RetainedGhosts::memory_bytes() const noexcept {
    std::size_t bytes = words_.size() * sizeof(std::uint64_t) + entries_.size() * sizeof(Entry) +
                        slot_of_.memory_bytes();
    for (const auto& [slot, copy] : copies_)
        bytes += sizeof(slot) + sizeof(copy) + copy.words.capacity() * sizeof(std::uint32_t);
    return bytes;
}

}  // namespace purview
