// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups as the interest engine stores them. A cull group (`unit`) has one slot: it is the root of
// a group, or an independently culled member. Its members have no slot and are evaluated with it.
// For each member: its cull group, its parent and its overrides. For each cull group: its members,
// and how many of them carry overrides.
//
// Invariants: the members of a cull group have parents before children; every member is in the list
// of its cull group exactly once; a cull group without members has no list; no other entity has the
// index of a member. Must not depend on observers, slots or why anything is relevant.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/entity_map.hpp"
#include "core/flat_map.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "purview/status.hpp"

namespace purview {

/// The overrides of one member of a group.
struct MemberMarks {
    bool force_hidden = false;
    bool shown = false;
    EntityMode mode = EntityMode::nodes;
    /// Returns whether the marks hide the member and all below it.
    bool cuts() const noexcept { return force_hidden || mode == EntityMode::explicit_only; }
    /// Returns whether the marks make the cull group relevant to all.
    bool shows() const noexcept { return shown || mode == EntityMode::global; }
    bool is_empty() const noexcept { return !force_hidden && !shown && mode == EntityMode::nodes; }
};

/// Counts that the members of a cull group add to it.
struct UnitMarks {
    std::uint32_t cuts = 0;   ///< marks and denied pairs that hide a member
    std::uint32_t shows = 0;  ///< members that make the cull group relevant to all
};

class GroupStore {
  public:
    using Keys = std::array<Key, Schema::keys_max>;

    // -- membership
    bool any() const noexcept { return unit_of_.size() > 0; }
    bool is_member(EntityId entity) const noexcept { return unit_of_.contains(entity); }
    /// Returns whether the entity with this index is a member, and so has no slot.
    bool is_member_index(std::uint32_t index) const noexcept {
        return indices_.size() > 0 && indices_.contains(index);
    }
    /// Returns the cull group that the entity is evaluated with: the entity itself if it is not a
    /// member.
    EntityId unit_of(EntityId entity) const noexcept {
        const EntityId* unit = unit_of_.find(entity);
        return unit != nullptr ? *unit : entity;
    }
    /// Returns EntityId::none if the entity is not a member.
    EntityId parent_of(EntityId member) const noexcept {
        const EntityId* parent = parent_of_.find(member);
        return parent != nullptr ? *parent : EntityId::none;
    }
    bool has_members(EntityId unit) const noexcept { return list_of_.contains(unit); }
    /// Returns the members, parents first, without the cull group itself.
    std::span<const EntityId> members_of(EntityId unit) const noexcept {
        const std::uint32_t* list = list_of_.size() == 0 ? nullptr : list_of_.find(unit);
        if (list == nullptr) return {};
        return lists_[*list];
    }
    /// Returns whether the member is `top`, or below it within its cull group.
    bool is_below(EntityId member, EntityId top) const noexcept;

    /// Appends a member to a cull group. The other members keep their order.
    void add(EntityId member, EntityId unit, EntityId parent);
    /// Takes a member out of its cull group. Members below it move to its parent, which is
    /// returned.
    EntityId remove(EntityId member);
    /// Makes `parent` the parent of a member of the same cull group and moves the member after it.
    /// is_descendant(entity): whether the entity is below the member.
    template <class IsDescendant>
    void move_within(EntityId member, EntityId parent, IsDescendant&& is_descendant) {
        PURVIEW_ASSERT(is_member(member) && unit_of(parent) == unit_of(member));
        PURVIEW_ASSERT(!is_below(parent, member));
        auto& members = lists_[*list_of_.find(unit_of(member))];
        std::stable_partition(members.begin(), members.end(),
                              [&](EntityId one) { return one != member && !is_descendant(one); });
        parent_of_[member] = parent;
    }
    /// Drops the member list of a cull group. The caller adds the members to another one.
    void drop_list(EntityId unit);

    // -- overrides of members
    const MemberMarks* marks_of(EntityId member) const noexcept { return marks_.find(member); }
    void set_marks(EntityId member, const MemberMarks& marks);
    bool has_cuts(EntityId unit) const noexcept {
        if (unit_marks_.size() == 0) return false;
        const UnitMarks* marks = unit_marks_.find(unit);
        return marks != nullptr && marks->cuts > 0;
    }
    /// Adds to the counts of a cull group and returns them.
    UnitMarks add_unit_marks(EntityId unit, int cuts, int shows);
    void forget_unit(EntityId unit) { unit_marks_.erase(unit); }

    // -- keys: they apply to observers that have the member as their main entity
    const Keys* keys_of(EntityId member) const noexcept { return keys_.find(member); }
    void set_keys(EntityId member, const Keys& keys) { keys_[member] = keys; }
    void set_key(EntityId member, std::size_t domain, Key key) { keys_[member][domain] = key; }
    /// Drops marks and keys.
    void forget_member(EntityId member) {
        marks_.erase(member);
        keys_.erase(member);
    }

    /// Asserts the invariants. O(members).
    void validate() const;

  private:
    EntityMap<EntityId> unit_of_;    ///< of members
    EntityMap<EntityId> parent_of_;  ///< of members
    FlatMap<std::uint32_t, std::uint8_t> indices_;
    EntityMap<std::uint32_t> list_of_;  ///< by cull group: an index into lists_
    std::vector<std::vector<EntityId>> lists_;
    std::vector<std::uint32_t> free_lists_;
    EntityMap<MemberMarks> marks_;     ///< only members that have any
    EntityMap<UnitMarks> unit_marks_;  ///< only cull groups that have any
    EntityMap<Keys> keys_;             ///< only members that have any
};

}  // namespace purview
