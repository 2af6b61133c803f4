// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/pair_table.hpp"

#include <algorithm>

namespace purview {

PairEntry& PairTable::edit(std::uint32_t observer, EntityId entity) {
    if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
    const std::uint32_t index = index_of(entity);
    const auto [entry, is_new] = by_observer_[observer].find_or_make(index);
    if (!is_new) return *entry;
    ++size_;
    entry->entity = entity;
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
    if (its.size() >= looked_through)
        far_[pair_key(observer, entity)] = static_cast<std::uint32_t>(its.size());
    its.push_back(observer);
    return *entry;
}

/// Where the observer stands in the list, which is not kept any more.
std::size_t PairTable::take_position(const List& list, std::uint32_t observer,
                                     EntityId entity) noexcept {
    const std::size_t first = std::min(list.size(), looked_through);
    const auto begin = list.begin(), end = begin + static_cast<std::ptrdiff_t>(first);
    if (const auto found = std::find(begin, end, observer); found != end)
        return static_cast<std::size_t>(found - begin);
    const std::size_t at = *far_.find(pair_key(observer, entity));
    far_.erase(pair_key(observer, entity));
    return at;
}

void PairTable::settle(std::uint32_t observer, const PairEntry& entry) {
    if (!entry.is_empty()) return;
    const EntityId entity = entry.entity;
    by_observer_[observer].erase(entry);
    --size_;
    std::uint32_t& list = list_of_[index_of(entity)];
    List& its = by_entity_[list];
    const std::size_t at = take_position(its, observer, entity);
    // The last of the list takes the place of the one that goes.
    const std::uint32_t last = its.back();
    its.pop_back();
    if (at < its.size()) {
        its[at] = last;
        if (at >= looked_through) {
            far_[pair_key(last, entity)] = static_cast<std::uint32_t>(at);
        } else if (its.size() >= looked_through) {
            far_.erase(pair_key(last, entity));
        }
    }
    if (!its.empty()) return;
    free_lists_.push_back(list);
    list = no_list;
}

}  // namespace purview
