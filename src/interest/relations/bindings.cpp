// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relations/bindings.hpp"

#include <algorithm>
#include <utility>

#include "purview/status.hpp"

namespace purview {

Bindings::Bindings() : lists_(2), classes_of_list_(2) {
    known_[{}] = orphaned;
}

bool Bindings::is_member(NodeId node, Members members, EntityId entity) const noexcept {
    switch (members) {
        case Members::all:
            return true;
        case Members::unbound:
            return is_unbound(entity);
        case Members::bound:
            break;
    }
    const auto nodes = nodes_of(entity);
    return std::binary_search(nodes.begin(), nodes.end(), node);
}

void Bindings::set(EntityId entity, std::span<const NodeId> nodes) {
    sorted_.assign(nodes.begin(), nodes.end());
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    const auto known = known_.find(sorted_);
    if (known != known_.end()) return set_number(entity, known->second);
    if (free_lists_.empty()) {
        free_lists_.push_back(static_cast<std::uint32_t>(lists_.size()));
        lists_.emplace_back();
        classes_of_list_.emplace_back();
    }
    const std::uint32_t list = free_lists_.back();
    free_lists_.pop_back();
    PURVIEW_ASSERT(lists_[list].empty() && classes_of_list_[list].empty());
    lists_[list] = sorted_;
    known_[sorted_] = list;
    find_classes(list);
    set_number(entity, list);
}

bool Bindings::has_bound(NodeId node) const noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] > 0 && std::binary_search(lists_[i].begin(), lists_[i].end(), node))
            return true;
    }
    return false;
}

void Bindings::set_unbound(EntityId entity) {
    if (number_of(entity) != unbound) set_number(entity, unbound);
}

void Bindings::set_number(EntityId entity, std::uint32_t number) {
    const std::uint32_t index = index_of(entity);
    if (numbers_.size() <= index) numbers_.resize(index + 1 + index / 8, unbound);
    counts_.resize(lists_.size(), 0);
    if (number != unbound) ++counts_[number];
    const std::uint32_t before = std::exchange(numbers_[index], number);
    PURVIEW_ASSERT(before == unbound || counts_[before] > 0);
    if (before == unbound || --counts_[before] > 0 || before == orphaned) return;
    const std::size_t erased = known_.erase(lists_[before]);
    PURVIEW_ASSERT(erased == 1);
    lists_[before].clear();
    classes_of_list_[before].clear();
    free_lists_.push_back(before);
}

void Bindings::validate() const {
    // Every list is in `known_` or free, except that of unbound entities.
    PURVIEW_ASSERT(lists_.size() == 1 + known_.size() + free_lists_.size());
    PURVIEW_ASSERT(lists_.size() == classes_of_list_.size());
    std::vector<std::uint32_t> counts(lists_.size(), 0);
    for (const std::uint32_t number : numbers_) {
        PURVIEW_ASSERT(number < lists_.size());
        ++counts[number];
    }
    for (const auto& [nodes, list] : known_) {
        PURVIEW_ASSERT(lists_[list] == nodes && (list == orphaned || counts[list] > 0));
        PURVIEW_ASSERT(counts[list] == (list < counts_.size() ? counts_[list] : 0));
    }
    for (const std::uint32_t list : free_lists_)
        PURVIEW_ASSERT(lists_[list].empty() && counts[list] == 0);
}

// -- classes --------------------------------------------------------------------------------------

void Bindings::find_classes(std::uint32_t list) {
    auto& classes = classes_of_list_[list];
    classes.clear();
    for (const NodeId node : lists_[list]) {
        const std::size_t n = index_of(node);
        if (n < class_of_node_.size() && class_of_node_[n] != no_class)
            classes.push_back(class_of_node_[n]);
    }
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
}

void Bindings::set_classes(std::span<const std::uint32_t> class_of_node) {
    class_of_node_.assign(class_of_node.begin(), class_of_node.end());
    for (std::uint32_t list = 0; list < lists_.size(); ++list) find_classes(list);
}

}  // namespace purview
