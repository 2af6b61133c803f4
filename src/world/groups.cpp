// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/groups.hpp"

#include <algorithm>
#include <utility>

namespace purview {

void GroupForest::add(EntityId entity) {
    const std::uint32_t index = index_of(entity);
    PURVIEW_ASSERT(entities_.is_alive(entity));
    if (nodes_.size() <= index) {
        nodes_.resize(index + std::size_t{1});
        children_.resize(index + std::size_t{1});
    }
    // An earlier entity with this index has no children left.
    PURVIEW_ASSERT(children_[index].empty());
    if (related_.size() <= index)
        related_.resize(std::max<std::size_t>(1024, std::size_t{index} * 2));
    related_.reset(index);
    nodes_[index] = {};
    nodes_[index].root = entity;
    enable(index, true);
}

void GroupForest::remove(EntityId entity) {
    const std::uint32_t index = index_of(entity);
    PURVIEW_ASSERT(entities_.is_alive(entity) && children_[index].empty());
    if (nodes_[index].parent != EntityId::none) {
        note_relation(index);
        unlink(entity);
    }
    PURVIEW_ASSERT(nodes_[index].members == 1 && nodes_[index].parent == EntityId::none);
}

bool GroupForest::is_in_subtree(EntityId entity, EntityId top) noexcept {
    while (entity != EntityId::none && entity != top) {
        entity = nodes_[index_of(entity)].parent;
        ++work_.steps_up;
    }
    return entity == top;
}

std::uint16_t GroupForest::height_of(std::uint32_t index) {
    std::uint16_t height = 0;
    ++work_.visited;
    for (const EntityId child : children_[index]) {
        if (!is_linked(index_of(child))) continue;
        height = std::max(height, static_cast<std::uint16_t>(height_of(index_of(child)) + 1));
    }
    PURVIEW_ASSERT(height < nodes_[index].members);  // at most a chain
    return height;
}

/// Whether the group below the entity would be too deep if the entity were at this depth.
bool GroupForest::is_too_deep(std::uint32_t index, unsigned depth) {
    // Fast path: n members are at most a chain of n - 1 generations.
    if (depth + nodes_[index].members - 1 <= limits_.depth_max) return false;
    return depth + height_of(index) > limits_.depth_max;
}

/// Whether the group of `parent` may grow by `members`: the entity and its descendants.
Status GroupForest::check_group(std::uint32_t index, unsigned members, EntityId parent) {
    const Node& above = nodes_[index_of(parent)];
    PURVIEW_ASSERT(entities_.is_alive(parent) && entities_.is_alive(above.root));
    if (is_too_deep(index, above.depth + 1U)) return Status::too_deep;
    const unsigned now = nodes_[index_of(above.root)].members;
    return now + members > limits_.members_max ? Status::too_large : Status::ok;
}

/// Stores the relation before the tick, for the event.
void GroupForest::note_relation(std::uint32_t index) {
    Node& entity = nodes_[index];
    PURVIEW_ASSERT(entities_.is_live(index));
    PURVIEW_ASSERT(entity.relation == no_relation ||
                   (entity.relation < relations_.size() &&
                    relations_[entity.relation].entity == entities_.at_index(index)));
    if (entity.relation != no_relation) return;
    entity.relation = static_cast<std::uint32_t>(relations_.size());
    relations_.push_back({entities_.at_index(index), entity.root, entity.parent});
}

void GroupForest::end_tick() {
    events_.clear();
    for (const Relation& was : relations_) {
        GroupEvent event{was.entity, was.root, EntityId::none, was.parent, EntityId::none};
        if (entities_.is_alive(was.entity)) {
            Node& now = nodes_[index_of(was.entity)];
            PURVIEW_ASSERT(now.relation < relations_.size() && &relations_[now.relation] == &was);
            now.relation = no_relation;
            event.new_root = now.root;
            event.new_parent = now.parent;
        } else if (was.root == was.entity && was.parent == EntityId::none) {
            continue;
        }
        if (event.old_root != event.new_root || event.old_parent != event.new_parent)
            events_.push_back(event);
    }
    relations_.clear();
}

void GroupForest::add_members(EntityId from, int delta) noexcept {
    for (;;) {
        Node& entity = nodes_[index_of(from)];
        PURVIEW_ASSERT(entity.members + delta >= 1);
        PURVIEW_ASSERT(entity.members + delta <= limits_.members_max);
        entity.members = static_cast<std::uint16_t>(entity.members + delta);
        if (!is_linked(index_of(from))) return;
        from = entity.parent;
        ++work_.steps_up;
    }
}

void GroupForest::unlink(EntityId child) {
    Node& entity = nodes_[index_of(child)];
    PURVIEW_ASSERT(entities_.is_alive(child) && entities_.is_alive(entity.parent));
    auto& siblings = children_[index_of(entity.parent)];
    const auto found = std::find(siblings.begin(), siblings.end(), child);
    PURVIEW_ASSERT(found != siblings.end());
    siblings.erase(found);
    if (is_linked(index_of(child))) add_members(entity.parent, -int{entity.members});
    entity.parent = EntityId::none;
}

/// Moves the entity and its descendants into the group of `root`.
void GroupForest::regroup(std::uint32_t index, EntityId root, std::uint16_t depth) {
    PURVIEW_ASSERT((depth == 0) == (root == entities_.at_index(index)));
    PURVIEW_ASSERT(depth == 0 || (nodes_[index_of(nodes_[index].parent)].root == root &&
                                  nodes_[index_of(nodes_[index].parent)].depth + 1 == depth));
    PURVIEW_ASSERT(depth <= limits_.depth_max);
    ++work_.visited;
    if (nodes_[index].root != root) note_relation(index);
    nodes_[index].depth = depth;
    nodes_[index].root = root;
    log_.add({WorldOp::Type::root, entities_.at_index(index), root, group_parent_at(index)});
    settle_owner(index);
    for (const EntityId child : children_[index]) {
        if (is_linked(index_of(child))) {
            regroup(index_of(child), root, static_cast<std::uint16_t>(depth + 1));
        } else if (nodes_[index_of(child)].root != child) {
            regroup(index_of(child), child, 0);
        }
    }
}

Status GroupForest::check_attach(EntityId child, EntityId parent) {
    if (!entities_.is_alive(child) || !entities_.is_alive(parent)) return Status::stale_id;
    const std::uint32_t index = index_of(child);
    const Node& moved = nodes_[index];
    if (moved.parent == parent) return Status::ok;
    if (is_in_subtree(parent, child)) return Status::would_cycle;
    const Node& above = nodes_[index_of(parent)];
    if (!moved.takes_part || !above.takes_part) return Status::ok;
    return check_group(index, moved.root == above.root ? 0U : moved.members, parent);
}

void GroupForest::attach(EntityId child, EntityId parent, OwnerPolicy policy) {
    const std::uint32_t index = index_of(child);
    Node& moved = nodes_[index];
    PURVIEW_ASSERT(moved.parent != parent && child != parent);
    const bool links = moved.takes_part && nodes_[index_of(parent)].takes_part;
    const EntityId root = links ? nodes_[index_of(parent)].root : child;
    related_.set(index);
    related_.set(index_of(parent));
    note_relation(index);
    const bool was_root = moved.root == child;
    if (moved.parent != EntityId::none) unlink(child);
    moved.parent = parent;
    moved.inherits = policy == OwnerPolicy::inherit ||
                     (policy == OwnerPolicy::automatic && moved.own_owner == ObserverId::none);
    children_[index_of(parent)].push_back(child);
    PURVIEW_ASSERT(links == is_linked(index));
    if (links) add_members(parent, moved.members);
    if (links || !was_root)
        regroup(index, root,
                links ? static_cast<std::uint16_t>(nodes_[index_of(parent)].depth + 1) : 0);
    PURVIEW_ASSERT(moved.root == root);
}

void GroupForest::detach(EntityId child) {
    const std::uint32_t index = index_of(child);
    PURVIEW_ASSERT(nodes_[index].parent != EntityId::none);
    note_relation(index);
    unlink(child);
    if (nodes_[index].root != child) regroup(index, child, 0);
    PURVIEW_ASSERT(nodes_[index].root == child && nodes_[index].depth == 0);
}

void GroupForest::enable(std::uint32_t index, bool enabled) noexcept {
    nodes_[index].is_enabled = enabled;
    nodes_[index].takes_part = enabled && entities_.kind_def_at(index).in_groups;
}

Status GroupForest::set_enabled(std::uint32_t index, bool enabled) {
    Node& its = nodes_[index];
    PURVIEW_ASSERT(entities_.is_live(index));
    if (its.is_enabled == enabled) return Status::ok;
    const bool was_linked = is_linked(index);
    const std::uint16_t members_before = its.members;
    enable(index, enabled);
    if (!entities_.kind_def_at(index).in_groups) return Status::ok;
    std::size_t members = 1;
    for (const EntityId child : children_[index]) {
        if (is_linked(index_of(child))) members += members_at(index_of(child));
    }
    if (members > limits_.members_max) {
        enable(index, !enabled);
        return Status::too_large;
    }
    its.members = static_cast<std::uint16_t>(members);
    const bool links = is_linked(index);
    const Status status = links                   ? check_group(index, its.members, its.parent)
                          : is_too_deep(index, 0) ? Status::too_deep
                                                  : Status::ok;
    if (status != Status::ok) {
        enable(index, !enabled);
        its.members = members_before;
        return status;
    }
    PURVIEW_ASSERT(!was_linked || !links);
    if (was_linked) add_members(its.parent, -int{members_before});
    if (links) add_members(its.parent, its.members);
    const EntityId root = links ? nodes_[index_of(its.parent)].root : entities_.at_index(index);
    regroup(index, root,
            links ? static_cast<std::uint16_t>(nodes_[index_of(its.parent)].depth + 1) : 0);
    return Status::ok;
}

// -- owners -------------------------------------------------------------------------------------

void GroupForest::settle_owner(std::uint32_t index) {
    const Node& node = nodes_[index];
    const ObserverId before = entities_.owner_at(index);
    const ObserverId owner = node.inherits && is_linked(index)
                                 ? entities_.owner_at(index_of(node.parent))
                                 : node.own_owner;
    if (owner == before) return;
    entities_.set_owner(index, owner);
    const EntityId entity = entities_.at_index(index);
    log_.add({WorldOp::Type::owner, entity, entity, EntityId::none, before});
}

void GroupForest::pass_owner_down(std::uint32_t index) {
    for (const EntityId child : children_[index]) {
        const std::uint32_t below = index_of(child);
        const ObserverId before = entities_.owner_at(below);
        settle_owner(below);
        if (entities_.owner_at(below) != before) pass_owner_down(below);
    }
}

Status GroupForest::set_owner(EntityId entity, ObserverId owner) {
    if (!entities_.is_alive(entity)) return Status::stale_id;
    const std::uint32_t index = index_of(entity);
    nodes_[index].inherits = false;
    nodes_[index].own_owner = owner;
    if (entities_.owner_at(index) == owner) return Status::ok;
    settle_owner(index);
    pass_owner_down(index);
    return Status::ok;
}

void GroupForest::validate() const {
    PURVIEW_ASSERT(nodes_.size() == entities_.index_end() && children_.size() == nodes_.size());
    std::size_t below = 0, listed = 0;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        const EntityId entity = entities_.at_index(i);
        if (entity == EntityId::none) continue;
        const Node& node = nodes_[i];
        PURVIEW_ASSERT(node.relation == no_relation);
        PURVIEW_ASSERT(node.takes_part == (node.is_enabled && entities_.kind_def_at(i).in_groups));
        if (is_alone(i)) {
            PURVIEW_ASSERT(node.parent == EntityId::none && children_[i].empty());
            PURVIEW_ASSERT(node.root == entity && node.members == 1 && node.depth == 0);
            continue;
        }
        PURVIEW_ASSERT(node.parent == EntityId::none || entities_.is_alive(node.parent));
        below += node.parent != EntityId::none ? 1 : 0;
        const bool links = is_linked(i);
        PURVIEW_ASSERT(group_parent_at(i) == (links ? node.parent : EntityId::none));
        PURVIEW_ASSERT(node.root == (links ? root_at(index_of(node.parent)) : entity));
        PURVIEW_ASSERT(node.depth == (links ? depth_at(index_of(node.parent)) + 1 : 0));
        std::size_t members = 1;
        for (const EntityId child : children_[i]) {
            PURVIEW_ASSERT(entities_.is_alive(child));
            PURVIEW_ASSERT(parent_at(index_of(child)) == entity);
            if (is_linked(index_of(child))) members += members_at(index_of(child));
        }
        listed += children_[i].size();
        PURVIEW_ASSERT(node.members == members);
        (void)members, (void)links;
    }
    PURVIEW_ASSERT(below == listed);
    (void)below, (void)listed;
}

}  // namespace purview
