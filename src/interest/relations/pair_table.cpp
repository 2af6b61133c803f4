// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relations/pair_table.hpp"

#include <algorithm>

#include "purview/status.hpp"

namespace purview {

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    const std::uint32_t index = index_of(entity);
    const auto [entry, is_new] = by_observer_[observer].find_or_make(index);
    if (!is_new) return *entry;
    ++size_;
    entry->entity = index;
    if (list_of_.size() <= index) list_of_.resize(index + 1 + index / 8, no_list);
    std::uint32_t& list = list_of_[index];
    if (list == no_list) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(by_entity_.size()));
            by_entity_.emplace_back();
        }
        list = free_lists_.back();
        free_lists_.pop_back();
        PURVIEW_ASSERT(by_entity_[list].observers.empty() && by_entity_[list].denials == 0);
        by_entity_[list].entity = entity;
    }
    PURVIEW_ASSERT(by_entity_[list].entity == entity);  // a despawn drops its pairs
    LineVector<std::uint32_t>& its = by_entity_[list].observers;
    entry->at = static_cast<std::uint32_t>(its.size());
    its.push_back(observer);
    return *entry;
}

void PairTable::set(PairEntry& entry, PairMark mark, bool value) noexcept {
    if (mark == PairMark::allow) {
        entry.allow = value;
    } else if ((entry.deny != 0) != value) {
        PURVIEW_ASSERT(list_of_[entry.entity] != no_list);
        PURVIEW_ASSERT(value || by_entity_[list_of_[entry.entity]].denials > 0);
        entry.deny = value;
        by_entity_[list_of_[entry.entity]].denials += value ? 1 : static_cast<std::uint32_t>(-1);
    }
}

void PairTable::drop(std::uint32_t observer, EntityId entity) {
    PairEntry& entry = edit(observer, entity);
    set(entry, PairMark::deny, false);
    entry.owned = entry.owned_blind = entry.member_allows = 0;
    entry.nodes = entry.allow = entry.held = 0;
    settle(observer, entry);
}

void PairTable::settle(std::uint32_t observer, const PairEntry& entry) {
    if (!entry.is_empty()) return;
    const std::uint32_t entity = entry.entity;
    std::uint32_t& list = list_of_[entity];
    PURVIEW_ASSERT(list != no_list && by_observer_[observer].find(entity) == &entry);
    LineVector<std::uint32_t>& its = by_entity_[list].observers;
    // Among the first entries of the list, `at` may be out of date.
    std::size_t at = entry.at;
    if (at >= its.size() || its[at] != observer)
        at = static_cast<std::size_t>(std::find(its.begin(), its.end(), observer) - its.begin());
    PURVIEW_ASSERT(at < std::min(its.size(), searched_entries) || at == entry.at);
    by_observer_[observer].erase(entry);
    --size_;
    // The last entry of the list fills the gap.
    const std::uint32_t last = its.back();
    its[at] = last;
    its.pop_back();
    if (at >= searched_entries && at < its.size())
        by_observer_[last].find(entity)->at = static_cast<std::uint32_t>(at);
    if (!its.empty()) return;
    PURVIEW_ASSERT(by_entity_[list].denials == 0);
    free_lists_.push_back(list);
    list = no_list;
}

void PairTable::validate() const {
    std::size_t pairs = 0, lists = 0;
    for (const auto& table : by_observer_) pairs += table.size();
    PURVIEW_ASSERT(pairs == size_);
    for (std::uint32_t index = 0; index < list_of_.size(); ++index) {
        if (list_of_[index] == no_list) continue;
        ++lists;
        const List& list = by_entity_[list_of_[index]];
        PURVIEW_ASSERT(index_of(list.entity) == index && !list.observers.empty());
        std::uint32_t denials = 0;
        for (std::size_t at = 0; at < list.observers.size(); ++at) {
            const PairEntry* entry = by_observer_[list.observers[at]].find(index);
            PURVIEW_ASSERT(entry != nullptr && !entry->is_empty());
            PURVIEW_ASSERT(at < searched_entries || entry->at == at);
            denials += entry->deny;
            --pairs;
        }
        PURVIEW_ASSERT(denials == list.denials);
    }
    PURVIEW_ASSERT(pairs == 0 && lists + free_lists_.size() == by_entity_.size());
}

}  // namespace purview
