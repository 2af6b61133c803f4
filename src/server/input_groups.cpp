// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/input_groups.hpp"

#include "protocol/group_order.hpp"

namespace purview {

void InputGroups::grow() {
    const std::size_t size = world_->entities.index_end();
    if (group_at_.size() >= size) return;
    group_at_.resize(size + size / 8 + 64, 0);
    member_of_.resize(group_at_.size(), 0);
    position_.resize(group_at_.size(), 0);
}

void InputGroups::invalidate(std::uint32_t index) {
    if (index >= member_of_.size() || member_of_[index] == 0) return;
    groups_[member_of_[index] - 1].is_valid = false;
}

void InputGroups::read_log() {
    const auto ops = world_->log.ops();
    for (; ops_read_ < ops.size(); ++ops_read_) {
        const WorldOp& op = ops[ops_read_];
        const std::uint32_t index = index_of(op.entity);
        switch (op.type) {
            case WorldOp::Type::spawn:
            case WorldOp::Type::owner:
                break;
            case WorldOp::Type::root:
                invalidate(index);  // the group that it leaves
                if (index_of(op.root) < group_at_.size() && group_at_[index_of(op.root)] != 0)
                    groups_[group_at_[index_of(op.root)] - 1].is_valid = false;
                break;
            case WorldOp::Type::despawn:
                invalidate(index);
                if (index < member_of_.size()) member_of_[index] = 0;
                if (index < group_at_.size() && group_at_[index] != 0) {
                    free_.push_back(group_at_[index] - 1);
                    group_at_[index] = 0;
                }
                break;
        }
    }
}

void InputGroups::end_tick() {
    read_log();
    ops_read_ = 0;
}

void InputGroups::set_in_input(EntityId entity, bool on) {
    if (is_in_input(entity) == on) return;
    if (index_of(entity) >= switched_.size())
        switched_.resize(world_->entities.index_end(), EntityId::none);
    const bool starts = world_->entities.kind_def_at(index_of(entity)).starts_in_input;
    switched_[index_of(entity)] = on == starts ? EntityId::none : entity;
}

void InputGroups::rebuild(Group& group, InputCounters& counters) {
    struct Tree {
        const WorldData& world;
        EntityId root;
        std::span<const EntityId> children(EntityId member) const noexcept {
            return world.groups.children_at(index_of(member));
        }
        bool is_inner_root(EntityId member) const noexcept {
            return world.entities.kind_def_at(index_of(member)).is_inner_root;
        }
        bool is_member(EntityId member) const noexcept {
            return world.groups.root_at(index_of(member)) == root;
        }
    };
    group.members.clear();
    append_group(group.root, Tree{*world_, group.root}, order_, group.members);
    const std::uint32_t number = group_at_[index_of(group.root)];
    PURVIEW_ASSERT(number != 0 && &groups_[number - 1] == &group);
    for (std::size_t m = 0; m < group.members.size(); ++m) {
        member_of_[index_of(group.members[m])] = number;
        position_[index_of(group.members[m])] = static_cast<std::uint16_t>(m);
    }
    group.parents.clear();
    for (const EntityId member : group.members) {
        const EntityId parent = world_->groups.parent_at(index_of(member));
        PURVIEW_ASSERT(member == group.root || position(parent) < position(member));
        group.parents.push_back(member == group.root ? GroupMember::none : position(parent));
    }
    group.is_valid = true;
    ++counters.order_rebuilds;
    counters.members_walked += group.members.size();
}

const InputGroups::Group& InputGroups::group_of(EntityId root, InputCounters& counters) {
    read_log();
    grow();
    std::uint32_t& number = group_at_[index_of(root)];
    if (number == 0) {
        if (free_.empty()) {
            groups_.emplace_back();
            number = static_cast<std::uint32_t>(groups_.size());
        } else {
            number = free_.back() + 1;
            free_.pop_back();
        }
        groups_[number - 1].root = root;
        groups_[number - 1].is_valid = false;
    }
    Group& group = groups_[number - 1];
    PURVIEW_ASSERT(group.root == root);
    if (!group.is_valid) rebuild(group, counters);
    return group;
}

}  // namespace purview
