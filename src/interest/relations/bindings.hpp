// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The nodes that each entity is bound to. Equal lists are stored once, because most entities of a
// kind share one. A list without entities is freed. Must not depend on what a node does.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "purview/rules.hpp"
#include "purview/types.hpp"

namespace purview {

class Bindings {
  public:
    Bindings();

    std::span<const NodeId> nodes_of(EntityId entity) const noexcept {
        return lists_[number_of(entity)];
    }
    /// Returns whether the entity is bound to nothing and not orphaned: a member of the default
    /// node.
    bool is_unbound(EntityId entity) const noexcept { return number_of(entity) == unbound; }
    bool is_member(NodeId node, Members members, EntityId entity) const noexcept;
    /// Returns whether some entity is bound to the node.
    bool has_bound(NodeId node) const noexcept;
    /// Binds the entity to exactly these nodes. If there are none, the entity is orphaned.
    void set(EntityId entity, std::span<const NodeId> nodes);
    /// Resets the entity, as if it had never been bound.
    void set_unbound(EntityId entity);
    /// Sets the class of each node, or no_class. Nodes with equal steps form a class, which is
    /// evaluated once.
    void set_classes(std::span<const std::uint32_t> class_of_node);
    /// Returns the classes of the nodes that the entity with this index is bound to, ascending.
    /// Valid until the next edit.
    std::span<const std::uint32_t> classes_at(std::uint32_t index) const noexcept {
        return classes_of_list_[index < numbers_.size() ? numbers_[index] : unbound];
    }
    static constexpr std::uint32_t no_class = 0xffffffffU;
    /// Asserts that lists are counted correctly and found by their content. O(entities).
    void validate() const;

  private:
    static constexpr std::uint32_t unbound = 0, orphaned = 1;
    std::uint32_t number_of(EntityId entity) const noexcept {
        return index_of(entity) < numbers_.size() ? numbers_[index_of(entity)] : unbound;
    }
    void set_number(EntityId entity, std::uint32_t number);
    void find_classes(std::uint32_t list);

    std::vector<std::vector<NodeId>> lists_;  ///< ascending
    std::vector<std::vector<std::uint32_t>> classes_of_list_;
    std::vector<std::uint32_t> class_of_node_;
    std::vector<std::uint32_t> free_lists_;
    std::map<std::vector<NodeId>, std::uint32_t> known_;
    std::vector<std::uint32_t> counts_;   ///< by list: entities that have it
    std::vector<std::uint32_t> numbers_;  ///< by entity index; shorter: unbound
    std::vector<NodeId> sorted_;
};

}  // namespace purview
