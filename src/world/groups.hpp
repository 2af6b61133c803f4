// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The parent forest, its groups, and the owners that members inherit. A group is a root with all
// descendants that are connected through enabled members of participating kinds.
//
// Invariants: no cycle; the root, depth and member count of every entity are stored, so that a tick
// without edits reads them without traversal; depth and member count stay within the limits. An
// edit visits only the members that it affects.
//
// Must not depend on positions or observers' views.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/prefetch.hpp"
#include "purview/world.hpp"
#include "world/entity_table.hpp"
#include "world/op_log.hpp"

namespace purview {

/// Total cost of group edits. A tick without group edits adds nothing.
struct RelationWork {
    std::uint64_t visited = 0;   ///< members
    std::uint64_t steps_up = 0;  ///< from a child to its parent
};

struct GroupLimits {
    std::uint16_t members_max;  ///< including the root
    std::uint16_t depth_max;    ///< generations below the root
};

class GroupForest {
  public:
    GroupForest(EntityTable& entities, OpLog& log, RelationWork& work, GroupLimits limits)
        : entities_(entities), log_(log), work_(work), limits_(limits) {}

    /// Adds a new entity without relations.
    void add(EntityId entity);
    /// Removes an entity without children. Call before it is removed from the entity table.
    void remove(EntityId entity);

    /// Checks the requirements of `attach`. Also returns ok if `parent` is already the parent.
    Status check_attach(EntityId child, EntityId parent);
    void attach(EntityId child, EntityId parent, OwnerPolicy policy);
    /// The entity must have a parent.
    void detach(EntityId child);
    /// The entity must be alive. Changes nothing unless it returns ok.
    Status set_enabled(std::uint32_t index, bool enabled);
    Status set_owner(EntityId entity, ObserverId owner);

    bool is_enabled(std::uint32_t index) const noexcept { return nodes_[index].is_enabled; }
    EntityId parent_at(std::uint32_t index) const noexcept { return nodes_[index].parent; }
    /// Whether the entity has had neither parent nor child since its spawn, like most entities.
    /// Reads one bit.
    bool is_alone(std::uint32_t index) const noexcept { return !related_.test(index); }
    EntityId root_at(std::uint32_t index) const noexcept { return nodes_[index].root; }
    /// Whether the entity is in the group of its parent.
    bool is_linked(std::uint32_t index) const noexcept {
        const EntityId parent = nodes_[index].parent;
        return parent != EntityId::none && nodes_[index].takes_part &&
               nodes_[index_of(parent)].takes_part;
    }
    EntityId group_parent_at(std::uint32_t index) const noexcept {
        return !is_alone(index) && is_linked(index) ? nodes_[index].parent : EntityId::none;
    }
    /// Number of group members from this entity down, including itself.
    std::uint16_t members_at(std::uint32_t index) const noexcept { return nodes_[index].members; }
    /// Depth in its group; 0 for a root.
    std::uint16_t depth_at(std::uint32_t index) const noexcept { return nodes_[index].depth; }
    std::span<const EntityId> children_at(std::uint32_t index) const noexcept {
        return children_[index];
    }
    /// Calls visit(EntityId) for the entity and its descendants in its group, parents first.
    template <class Visit>
    void for_each_in_group(std::uint32_t index, Visit&& visit) const {
        visit(entities_.at_index(index));
        if (nodes_[index].members == 1) return;
        for (const EntityId child : children_[index]) {
            if (is_linked(index_of(child))) for_each_in_group(index_of(child), visit);
        }
    }
    /// Prefetches the node of an index that may be read soon.
    void prefetch(std::uint32_t index) const noexcept { prefetch_line(&nodes_[index]); }

    /// Events of the last completed tick.
    std::span<const GroupEvent> events() const noexcept { return events_; }
    /// Creates the events from the edits of the tick.
    void end_tick();

    /// Checks that parent and child links agree. O(entities).
    void validate() const;

  private:
    static constexpr std::uint32_t no_relation = ~std::uint32_t{0};
    struct Node {
        EntityId parent = EntityId::none;
        EntityId root = EntityId::none;
        ObserverId own_owner = ObserverId::none;  ///< used while it does not inherit
        std::uint32_t relation = no_relation;  ///< index in relations_, if it changed in this tick
        std::uint16_t depth = 0;
        std::uint16_t members = 1;
        bool is_enabled = true;
        bool takes_part = true;  ///< enabled, and of a participating kind
        bool inherits = false;   ///< has its parent's owner while in its group
    };
    static_assert(cache_line_bytes % sizeof(Node) == 0);  // no node spans two lines
    struct Relation {                                     ///< the state before the tick
        EntityId entity;
        EntityId root;
        EntityId parent;
    };

    void enable(std::uint32_t index, bool enabled) noexcept;
    bool is_in_subtree(EntityId entity, EntityId top) noexcept;
    std::uint16_t height_of(std::uint32_t index);
    bool is_too_deep(std::uint32_t index, unsigned depth);
    Status check_group(std::uint32_t index, unsigned members, EntityId parent);
    void regroup(std::uint32_t index, EntityId root, std::uint16_t depth);
    void add_members(EntityId from, int delta) noexcept;
    void unlink(EntityId child);
    void note_relation(std::uint32_t index);
    void settle_owner(std::uint32_t index);
    void pass_owner_down(std::uint32_t index);

    EntityTable& entities_;
    OpLog& log_;
    RelationWork& work_;
    GroupLimits limits_;
    LineVector<Node> nodes_;                       ///< by entity index
    std::vector<std::vector<EntityId>> children_;  ///< by entity index, in attach order
    Bitset related_;                               ///< by entity index: see is_alone
    std::vector<Relation> relations_;
    std::vector<GroupEvent> events_;
};

}  // namespace purview
