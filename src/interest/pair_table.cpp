// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/pair_table.hpp"

namespace purview {

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    const auto [at, is_new] = index_.find_or_make(key(observer, index_of(entity)));
    if (!is_new) return entries_[*at];
    std::uint32_t& slot = *at;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    const auto [its, is_first] = entity_list_.find_or_make(index_of(entity));
    if (is_first) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(by_entity_.size()));
            by_entity_.emplace_back();
        }
        *its = free_lists_.back();
        free_lists_.pop_back();
    }
    List& theirs = by_entity_[*its];
    PairEntry& entry = entries_[slot];
    entry = PairEntry{};
    entry.observer = observer;
    entry.entity = entity;
    entry.in_observer = static_cast<std::uint32_t>(by_observer_[observer].size());
    entry.in_entity = static_cast<std::uint32_t>(theirs.size());
    by_observer_[observer].push_back(slot);
    theirs.push_back(slot);
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
