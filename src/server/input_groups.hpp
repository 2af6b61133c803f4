// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Caches the members of each group in input order until one of their relations changes, so an input
// needs no traversal of the group's tree. Changes are read from the world's edit log.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/group_input.hpp"
#include "server/server_counters.hpp"
#include "world/world_data.hpp"

namespace purview {

class InputGroups {
  public:
    struct Group {
        EntityId root = EntityId::none;
        std::vector<EntityId> members;       ///< root first
        std::vector<std::uint16_t> parents;  ///< [members] index in members; GroupMember::none
        bool is_valid = false;
    };

    InputGroups(const WorldData& world, InputOrder order) : world_(&world), order_(order) {}

    /// The group of a live root. Valid until the next call.
    const Group& group_of(EntityId root, InputCounters& counters);
    /// Index of the member in its group. group_of must have been called for that group since its
    /// last change.
    std::uint16_t position(EntityId member) const noexcept {
        PURVIEW_ASSERT(index_of(member) < position_.size());
        return position_[index_of(member)];
    }
    void set_in_input(EntityId entity, bool on);
    bool is_in_input(EntityId entity) const noexcept {
        const bool is_switched =
            index_of(entity) < switched_.size() && switched_[index_of(entity)] == entity;
        return world_->entities.kind_def_at(index_of(entity)).starts_in_input != is_switched;
    }
    /// Call when the world's log has been read and is about to be cleared.
    void end_tick();

  private:
    void read_log();
    void grow();
    void invalidate(std::uint32_t index);
    void rebuild(Group& group, InputCounters& counters);

    const WorldData* world_;
    InputOrder order_;
    std::size_t ops_read_ = 0;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> group_at_;  ///< by index of a root: position in groups_ + 1; 0: none
    std::vector<std::uint32_t> member_of_;  ///< by entity index: position in groups_ + 1; 0: none
    std::vector<std::uint16_t> position_;   ///< by entity index
    /// By entity index: the entity, if its state differs from KindDef::starts_in_input; else none.
    std::vector<EntityId> switched_;
};

}  // namespace purview
