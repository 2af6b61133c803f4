// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/pair_table.hpp"

namespace purview {

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    const std::uint64_t pair = key(observer, index_of(entity));
    if (const std::uint32_t* at = index_.find(pair)) return entries_[*at];
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    index_[pair] = slot;

    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    std::uint32_t list = 0;
    if (const std::uint32_t* at = entity_list_.find(index_of(entity))) {
        list = *at;
    } else {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(by_entity_.size()));
            by_entity_.emplace_back();
        }
        list = free_lists_.back();
        free_lists_.pop_back();
        entity_list_[index_of(entity)] = list;
    }
    PairEntry& entry = entries_[slot];
    entry = PairEntry{};
    entry.observer = observer;
    entry.entity = entity;
    entry.in_observer = static_cast<std::uint32_t>(by_observer_[observer].size());
    entry.in_entity = static_cast<std::uint32_t>(by_entity_[list].size());
    by_observer_[observer].push_back(slot);
    by_entity_[list].push_back(slot);
    return entry;
}

void PairTable::settle(const PairEntry& entry) {
    if (!entry.is_empty()) return;
    const PairEntry gone = entry;
    const auto slot = static_cast<std::uint32_t>(&entry - entries_.data());
    index_.erase(key(gone.observer, index_of(gone.entity)));
    free_.push_back(slot);

    // The last of a list takes the place of the one that goes.
    List& mine = by_observer_[gone.observer];
    const std::uint32_t list = *entity_list_.find(index_of(gone.entity));
    List& theirs = by_entity_[list];
    mine[gone.in_observer] = mine.back();
    entries_[mine.back()].in_observer = gone.in_observer;
    mine.pop_back();
    theirs[gone.in_entity] = theirs.back();
    entries_[theirs.back()].in_entity = gone.in_entity;
    theirs.pop_back();
    if (theirs.empty()) {
        entity_list_.erase(index_of(gone.entity));
        free_lists_.push_back(list);
    }
}

}  // namespace purview
