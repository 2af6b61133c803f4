// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/bindings.hpp"

#include <algorithm>

namespace purview {

Bindings::Bindings() : lists_(2) {
    known_[{}] = orphaned;
}

bool Bindings::is_member(NodeId node, NodeMembers members, EntityId entity) const noexcept {
    switch (members) {
        case NodeMembers::all:
            return true;
        case NodeMembers::unbound:
            return is_unbound(entity);
        case NodeMembers::bound:
            break;
    }
    const auto nodes = nodes_of(entity);
    return std::binary_search(nodes.begin(), nodes.end(), node);
}

void Bindings::set(EntityId entity, std::span<const NodeId> nodes) {
    sorted_.assign(nodes.begin(), nodes.end());
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    const auto [at, is_new] =
        known_.try_emplace(sorted_, static_cast<std::uint32_t>(lists_.size()));
    if (is_new) lists_.push_back(sorted_);
    set_number(entity, at->second);
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
    if (numbers_[index] != unbound) --counts_[numbers_[index]];
    if (number != unbound) ++counts_[number];
    numbers_[index] = number;
}

}  // namespace purview
