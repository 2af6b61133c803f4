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
    by_observer_[observer].push_back(entity);
    by_entity_[list].push_back(observer);
    return entry;
}

void PairTable::settle(std::uint32_t observer, EntityId entity) {
    const std::uint64_t pair = key(observer, index_of(entity));
    const std::uint32_t* at = index_.find(pair);
    if (at == nullptr || !entries_[*at].is_empty()) return;
    const std::uint32_t slot = *at;
    const PairEntry gone = entries_[slot];
    index_.erase(pair);
    free_.push_back(slot);

    auto& mine = by_observer_[observer];
    mine[gone.in_observer] = mine.back();
    mine.pop_back();
    if (gone.in_observer < mine.size()) {
        edit(observer, mine[gone.in_observer]).in_observer = gone.in_observer;
    }
    const std::uint32_t list = *entity_list_.find(index_of(entity));
    auto& theirs = by_entity_[list];
    theirs[gone.in_entity] = theirs.back();
    theirs.pop_back();
    if (gone.in_entity < theirs.size()) {
        edit(theirs[gone.in_entity], entity).in_entity = gone.in_entity;
    }
    if (theirs.empty()) {
        entity_list_.erase(index_of(entity));
        free_lists_.push_back(list);
    }
}

std::span<const EntityId> PairTable::entities_of(std::uint32_t observer) const noexcept {
    if (observer >= by_observer_.size()) return {};
    return by_observer_[observer];
}

std::span<const std::uint32_t> PairTable::observers_of(EntityId entity) const noexcept {
    const std::uint32_t* list = entity_list_.find(index_of(entity));
    if (list == nullptr) return {};
    return by_entity_[*list];
}

}  // namespace purview
