// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Positions and orientations of entities, including parent-relative ones.
//
// After the edits, `settle` restores positions that are not finite, and moves and rotates members
// with relative positions with their parents. The frame of an entity is its orientation, to which
// its children are relative. It is computed from the values that clients receive, so that both
// sides agree.
//
// Invariants: settled positions are finite; a local position is as of the last settle or later.
//
// Must not depend on observers or on how relations change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "world/component_table.hpp"
#include "world/entity_table.hpp"
#include "world/groups.hpp"

namespace purview {

class WorldPositions {
  public:
    WorldPositions(const EntityTable& entities, ComponentTable& components,
                   const GroupForest& groups, RelationWork& work);

    void add(std::uint32_t index, Vec3 position);
    /// bad_position: not finite, the old position is kept. bad_argument: the kind has no position.
    Status move(EntityId entity, Vec3 position);
    Status set_local_position(EntityId entity, Vec3 position);

    /// Whether its position is replicated relative to its parent.
    bool is_relative(std::uint32_t index) const noexcept {
        return entities_.kind_def_at(index).relative_position && groups_.is_linked(index) &&
               entities_.has_position(index) &&
               entities_.has_position(index_of(groups_.parent_at(index)));
    }
    Vec3 local_position_at(std::uint32_t index) const noexcept {
        return is_relative(index) ? locals_[index] : components_.position_at(index);
    }
    /// Returns the orientation in the world, computed from the values that clients receive.
    Rotation orientation_at(std::uint32_t index) const noexcept;
    /// Return what settle will derive from the edits so far. Only settle writes it to components.
    Vec3 position_now(std::uint32_t index) const noexcept;
    Rotation orientation_now(std::uint32_t index) const noexcept;
    /// The entity must be relative (is_relative).
    Vec3 local_position_now(std::uint32_t index) const noexcept;

    /// Call before its parent changes: applies the movement of its parent so far.
    void bring_along(std::uint32_t index);
    /// Call after its parent changed: keeps the world position and derives the relative one. Counts
    /// as written, because the replicated value changes.
    void keep(std::uint32_t index);

    /// `among`: words of entities that may have been written. `lists_members`: waves() will be
    /// read.
    void settle(WordRange among, bool lists_members);
    /// Group members and roots that were written or moved with a parent in the last settle, by
    /// depth.
    std::span<const std::vector<std::uint32_t>> waves() const noexcept { return waves_; }
    /// Entities that a parent moved in the last settle and that were not written themselves. Empty
    /// unless keep_carried is set.
    std::span<const std::uint32_t> carried() const noexcept { return carried_; }
    void keep_carried(bool keep) noexcept { keeps_carried_ = keep; }
    /// Number of edits that were reverted because they were not finite.
    std::uint64_t bad_positions() const noexcept { return bad_positions_; }

    void validate() const;

  private:
    Vec3 from_parent(std::uint32_t index, Vec3 local) const noexcept;
    Vec3 as_seen_from_parent(std::uint32_t index) const noexcept;
    Rotation own_orientation(std::uint32_t index) const noexcept;
    bool is_taken_along(std::uint32_t index) const noexcept;
    void keep_orientation(std::uint32_t index);
    void settle_position(std::uint32_t index);
    void settle_positions(WordRange among);
    void settle_members(WordRange among);

    const Schema& schema_;
    const EntityTable& entities_;
    ComponentTable& components_;
    const GroupForest& groups_;
    RelationWork& work_;
    std::vector<Vec3> settled_positions_;  ///< by entity index
    std::vector<Vec3> locals_;             ///< by entity index; empty without relative positions
    std::uint32_t orientation_components_ = 0;  ///< one bit each; 0 without relative positions
    std::vector<Rotation> frames_;  ///< by entity index, as of the last settle; may be empty
    std::vector<std::vector<std::uint32_t>> waves_;
    std::vector<std::uint32_t> carried_;
    bool keeps_carried_ = false;
    std::uint64_t bad_positions_ = 0;
};

}  // namespace purview
