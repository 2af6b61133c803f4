// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The parent forest, and the groups in it. Everything about a group is stored and brought up to
// date by the change itself, which visits those whom it concerns and nobody else.
#include <algorithm>
#include <utility>

#include "world/world_data.hpp"

namespace purview {

bool WorldData::is_in_subtree(EntityId entity, EntityId top) noexcept {
    while (entity != EntityId::none && entity != top) {
        entity = entities_[index_of(entity)].parent;
        ++work_.steps_up;
    }
    return entity == top;
}

std::uint16_t WorldData::height_of(std::uint32_t index) {
    std::uint16_t height = 0;
    ++work_.visited;
    for (const EntityId child : children_[index]) {
        if (!is_linked(index_of(child))) continue;
        height = std::max(height, static_cast<std::uint16_t>(height_of(index_of(child)) + 1));
    }
    PURVIEW_ASSERT(height < entities_[index].members);  // a chain at the most
    return height;
}

/// Of the group below it, if it stands at this depth.
bool WorldData::is_too_deep(std::uint32_t index, unsigned depth) {
    // So many members cannot be deeper than a chain of them.
    if (depth + entities_[index].members - 1 <= def_.group_depth_max) return false;
    return depth + height_of(index) > def_.group_depth_max;
}

/// Whether the group may have so many members more, with those below `index` among them.
Status WorldData::check_group(std::uint32_t index, unsigned members, EntityId parent) {
    const Entity& above = entities_[index_of(parent)];
    PURVIEW_ASSERT(is_alive(parent) && is_alive(above.root));
    if (is_too_deep(index, above.depth + 1U)) return Status::too_deep;
    const unsigned now = entities_[index_of(above.root)].members;
    return now + members > def_.group_members_max ? Status::too_large : Status::ok;
}

/// What it was before the tick is what its event says.
void WorldData::note_relation(std::uint32_t index) {
    Entity& entity = entities_[index];
    PURVIEW_ASSERT(pool_.is_live(index));
    PURVIEW_ASSERT(entity.relation == no_relation ||
                   (entity.relation < relations_.size() &&
                    relations_[entity.relation].entity == at_index(index)));
    if (entity.relation != no_relation) return;
    entity.relation = static_cast<std::uint32_t>(relations_.size());
    relations_.push_back({at_index(index), entity.root, entity.parent});
}

void WorldData::end_relations() {
    relation_events_.clear();
    for (const Relation& was : relations_) {
        GroupEvent event{was.entity, was.root, EntityId::none, was.parent, EntityId::none};
        if (is_alive(was.entity)) {
            Entity& now = entities_[index_of(was.entity)];
            PURVIEW_ASSERT(now.relation < relations_.size() && &relations_[now.relation] == &was);
            now.relation = no_relation;
            event.new_root = now.root;
            event.new_parent = now.parent;
        } else if (was.root == was.entity && was.parent == EntityId::none) {
            continue;
        }
        if (event.old_root != event.new_root || event.old_parent != event.new_parent)
            relation_events_.push_back(event);
    }
    relations_.clear();
}

/// What holds now counts, not how it came about. Whoever is in a group was told to be in it after
/// its parent was, so that the last word on each has parents first. Whoever has the parent that it
/// had is told of only where that one is: then its root is another, or it moves along.
void WorldData::track_positions_in_groups(std::span<const WorldOp> fresh) {
    const auto leaves = static_cast<std::ptrdiff_t>(net_ops_.size());
    joins_.clear();
    for (std::size_t i = fresh.size(); i-- > 0;) {
        if (fresh[i].type != WorldOp::Type::root) continue;
        const EntityId entity = fresh[i].entity;
        Entity& its = entities_[index_of(entity)];
        if (std::exchange(its.is_edited, true)) continue;
        const EntityId parent = group_parent_at(index_of(entity));
        its.is_replicated = its.tracked_parent != parent;
        if (parent != EntityId::none) {
            joins_.push_back({WorldOp::Type::root, entity, its.root, parent});
        } else if (its.is_replicated) {
            net_ops_.push_back({WorldOp::Type::root, entity, entity, EntityId::none,
                                ObserverId::none, !is_alive(its.tracked_parent)});
        }
        its.tracked_parent = parent;
    }
    std::reverse(net_ops_.begin() + leaves, net_ops_.end());
    for (; !joins_.empty(); joins_.pop_back()) {
        const WorldOp& op = joins_.back();
        Entity& its = entities_[index_of(op.entity)];
        const Entity& parent = entities_[index_of(op.parent)];
        PURVIEW_ASSERT(is_alive(op.entity) && is_alive(op.parent));  // a corpse has no parent
        its.is_replicated = its.is_replicated || (parent.is_edited && parent.is_replicated);
        if (its.is_replicated) net_ops_.push_back(op);
    }
    for (const WorldOp& op : fresh) {
        if (op.type == WorldOp::Type::root) entities_[index_of(op.entity)].is_edited = false;
    }
}

void WorldData::add_members(EntityId from, int delta) noexcept {
    for (;;) {
        Entity& entity = entities_[index_of(from)];
        PURVIEW_ASSERT(entity.members + delta >= 1);
        PURVIEW_ASSERT(entity.members + delta <= def_.group_members_max);
        entity.members = static_cast<std::uint16_t>(entity.members + delta);
        if (!is_linked(index_of(from))) return;
        from = entity.parent;
        ++work_.steps_up;
    }
}

void WorldData::unlink(EntityId child) {
    Entity& entity = entities_[index_of(child)];
    PURVIEW_ASSERT(is_alive(child) && is_alive(entity.parent));
    auto& siblings = children_[index_of(entity.parent)];
    const auto found = std::find(siblings.begin(), siblings.end(), child);
    PURVIEW_ASSERT(found != siblings.end());
    siblings.erase(found);
    if (is_linked(index_of(child))) add_members(entity.parent, -int{entity.members});
    entity.parent = EntityId::none;
}

/// It and those below it are in the group of `root` from now on.
void WorldData::regroup(std::uint32_t index, EntityId root, std::uint16_t depth) {
    PURVIEW_ASSERT((depth == 0) == (root == at_index(index)));
    PURVIEW_ASSERT(depth == 0 || (entities_[index_of(entities_[index].parent)].root == root &&
                                  entities_[index_of(entities_[index].parent)].depth + 1 == depth));
    PURVIEW_ASSERT(depth <= def_.group_depth_max);
    ++work_.visited;
    if (entities_[index].root != root) note_relation(index);
    entities_[index].depth = depth;
    entities_[index].root = root;
    ops_.push_back({WorldOp::Type::root, at_index(index), root, group_parent_at(index)});
    settle_owner(index);
    for (const EntityId child : children_[index]) {
        if (is_linked(index_of(child))) {
            regroup(index_of(child), root, static_cast<std::uint16_t>(depth + 1));
        } else if (entities_[index_of(child)].root != child) {
            regroup(index_of(child), child, 0);
        }
    }
}

Status WorldData::attach(EntityId child, EntityId parent, OwnerPolicy policy) {
    if (!is_alive(child) || !is_alive(parent)) return Status::stale_id;
    const std::uint32_t index = index_of(child);
    Entity& moved = entities_[index];
    if (moved.parent == parent) return Status::ok;
    if (is_in_subtree(parent, child)) return Status::would_cycle;
    const bool links = takes_part(index) && takes_part(index_of(parent));
    const EntityId root = links ? entities_[index_of(parent)].root : child;
    if (links) {
        const unsigned more = moved.root == root ? 0U : moved.members;
        if (const Status status = check_group(index, more, parent); status != Status::ok)
            return status;
    }
    related_.set(index);
    related_.set(index_of(parent));
    note_relation(index);
    bring_along(index);
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
                links ? static_cast<std::uint16_t>(entities_[index_of(parent)].depth + 1) : 0);
    PURVIEW_ASSERT(moved.root == root);
    keep_position(index);
    return Status::ok;
}

Status WorldData::detach(EntityId child) {
    if (!is_alive(child)) return Status::stale_id;
    const std::uint32_t index = index_of(child);
    if (entities_[index].parent == EntityId::none) return Status::not_found;
    note_relation(index);
    bring_along(index);
    unlink(child);
    if (entities_[index].root != child) regroup(index, child, 0);
    PURVIEW_ASSERT(entities_[index].root == child && entities_[index].depth == 0);
    keep_position(index);
    return Status::ok;
}

Status WorldData::set_group_enabled(EntityId entity, bool enabled) {
    if (!is_alive(entity)) return Status::stale_id;
    const std::uint32_t index = index_of(entity);
    Entity& its = entities_[index];
    if (its.enabled == enabled) return Status::ok;
    bring_along(index);
    for (const EntityId child : children_[index]) bring_along(index_of(child));
    const bool was_linked = is_linked(index);
    const std::uint16_t members_before = its.members;
    its.enabled = enabled;
    if (!kind_def_at(index).in_groups) return Status::ok;
    std::size_t members = 1;
    for (const EntityId child : children_[index]) {
        if (is_linked(index_of(child))) members += members_at(index_of(child));
    }
    if (members > def_.group_members_max) {
        its.enabled = !enabled;
        return Status::too_large;
    }
    its.members = static_cast<std::uint16_t>(members);
    const bool links = is_linked(index);
    const Status status = links                   ? check_group(index, its.members, its.parent)
                          : is_too_deep(index, 0) ? Status::too_deep
                                                  : Status::ok;
    if (status != Status::ok) {
        its.enabled = !enabled;
        its.members = members_before;
        return status;
    }
    PURVIEW_ASSERT(!was_linked || !links);
    if (was_linked) add_members(its.parent, -int{members_before});
    if (links) add_members(its.parent, its.members);
    const EntityId root = links ? entities_[index_of(its.parent)].root : entity;
    regroup(index, root,
            links ? static_cast<std::uint16_t>(entities_[index_of(its.parent)].depth + 1) : 0);
    keep_position(index);
    for (const EntityId child : children_[index]) keep_position(index_of(child));
    return Status::ok;
}

// -- owners -------------------------------------------------------------------------------------

void WorldData::settle_owner(std::uint32_t index) {
    Entity& entity = entities_[index];
    const ObserverId owner = entity.inherits && is_linked(index)
                                 ? entities_[index_of(entity.parent)].owner
                                 : entity.own_owner;
    if (owner == entity.owner) return;
    ops_.push_back({WorldOp::Type::owner, at_index(index), at_index(index), EntityId::none,
                    std::exchange(entity.owner, owner)});
}

void WorldData::pass_owner_down(std::uint32_t index) {
    for (const EntityId child : children_[index]) {
        const std::uint32_t below = index_of(child);
        const ObserverId before = entities_[below].owner;
        settle_owner(below);
        if (entities_[below].owner != before) pass_owner_down(below);
    }
}

Status WorldData::set_owner(EntityId entity, ObserverId owner) {
    if (!is_alive(entity)) return Status::stale_id;
    Entity& its = entities_[index_of(entity)];
    its.inherits = false;
    its.own_owner = owner;
    if (its.owner == owner) return Status::ok;
    settle_owner(index_of(entity));
    pass_owner_down(index_of(entity));
    return Status::ok;
}

}  // namespace purview
