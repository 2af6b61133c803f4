// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/pair_table.hpp"

namespace purview {

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    const std::uint32_t index = index_of(entity);
    const auto [entry, is_new] = by_observer_[observer].find_or_make(index);
    if (!is_new) return *entry;
    ++size_;
    entry->entity = entity;
    entry->observer = observer;
    if (list_of_.size() <= index) list_of_.resize(index + 1 + index / 8, no_list);
    std::uint32_t& list = list_of_[index];
    if (list == no_list) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(by_entity_.size()));
            by_entity_.emplace_back();
        }
        list = free_lists_.back();
        free_lists_.pop_back();
    }
    List& its = by_entity_[list];
    entry->in_entity = static_cast<std::uint32_t>(its.size());
    its.push_back(observer);
    return *entry;
}

void PairTable::settle(const PairEntry& entry) {
    if (!entry.is_empty()) return;
    const EntityId entity = entry.entity;
    const std::uint32_t at = entry.in_entity, list = list_of_[index_of(entity)];
    by_observer_[entry.observer].erase(entry);
    --size_;
    // The last of the list takes the place of the one that goes.
    List& its = by_entity_[list];
    const std::uint32_t last = its.back();
    its.pop_back();
    if (at < its.size()) {
        its[at] = last;
        by_observer_[last].find(index_of(entity))->in_entity = at;
    }
    if (!its.empty()) return;
    list_of_[index_of(entity)] = no_list;
    free_lists_.push_back(list);
}

}  // namespace purview
