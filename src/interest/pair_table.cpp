// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/pair_table.hpp"

namespace purview {

namespace {
constexpr PairEntry nothing{};  ///< copied: compilers make one by parts, and wait for these
}

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    OfObserver& mine = by_observer_[observer];
    const auto [at, is_new] = mine.index.find_or_make(index_of(entity));
    if (!is_new) return entries_[*at];
    std::uint32_t& slot = *at;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    const std::uint32_t index = index_of(entity);
    if (list_of_.size() <= index) list_of_.resize(index + 1 + index / 8, no_list);
    std::uint32_t& its = list_of_[index];
    if (its == no_list) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(by_entity_.size()));
            by_entity_.emplace_back();
        }
        its = free_lists_.back();
        free_lists_.pop_back();
    }
    List& theirs = by_entity_[its];
    PairEntry& entry = entries_[slot];
    entry = nothing;
    entry.observer = observer;
    entry.entity = entity;
    entry.in_observer = static_cast<std::uint32_t>(mine.ids.size());
    entry.in_entity = static_cast<std::uint32_t>(theirs.size());
    mine.ids.push_back(slot);
    theirs.push_back(slot);
    return entry;
}

void PairTable::settle(const PairEntry& entry) {
    if (!entry.is_empty()) return;
    const PairEntry gone = entry;
    const auto slot = static_cast<std::uint32_t>(&entry - entries_.data());
    by_observer_[gone.observer].index.erase(index_of(gone.entity));
    free_.push_back(slot);

    // The last of a list takes the place of the one that goes.
    List& mine = by_observer_[gone.observer].ids;
    const std::uint32_t list = list_of_[index_of(gone.entity)];
    List& theirs = by_entity_[list];
    mine[gone.in_observer] = mine.back();
    entries_[mine.back()].in_observer = gone.in_observer;
    mine.pop_back();
    theirs[gone.in_entity] = theirs.back();
    entries_[theirs.back()].in_entity = gone.in_entity;
    theirs.pop_back();
    if (theirs.empty()) {
        list_of_[index_of(gone.entity)] = no_list;
        free_lists_.push_back(list);
    }
}

}  // namespace purview
