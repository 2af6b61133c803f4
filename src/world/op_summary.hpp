// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Summary of the structural edits of a tick: one operation for an entity that changed groups
// several times, and none for an entity that ends in the group in which it began.
//
// Invariants: an entity is tracked from the first summary after its spawn on; parents come before
// their children.
//
// Must not depend on component values or on what readers do with a summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/types.hpp"
#include "world/entity_table.hpp"
#include "world/groups.hpp"
#include "world/op_log.hpp"

namespace purview {

class OpSummary {
  public:
    OpSummary(const EntityTable& entities, const GroupForest& groups, const OpLog& log)
        : entities_(entities), groups_(groups), log_(log) {}

    /// Adds a new entity, which is not tracked yet.
    void add(std::uint32_t index);
    /// Whether a summary has contained its spawn.
    bool is_tracked(std::uint32_t index) const noexcept { return records_[index].is_tracked; }
    bool has_untracked() const noexcept { return tracked_ops_ < log_.ops().size(); }
    /// Summarizes the edits since the last call and marks them as tracked. The order is: spawns;
    /// entities that left a group; entities that joined one, changed parent in it, or descend from
    /// such an entity, parents first; owners and despawns. In this order, entities can join groups
    /// that were spawned in the same tick. Valid until the next call.
    std::span<const WorldOp> track();
    /// Call when the log is cleared.
    void clear() noexcept { tracked_ops_ = 0; }

  private:
    struct Record {
        EntityId parent = EntityId::none;  ///< group parent as of the last summary
        bool is_tracked = false;
        bool is_edited = false;    ///< scratch of track_groups, like the next one
        bool is_included = false;  ///< in the summary
    };
    void track_groups(std::span<const WorldOp> fresh);

    const EntityTable& entities_;
    const GroupForest& groups_;
    const OpLog& log_;
    std::vector<Record> records_;  ///< by entity index
    std::vector<WorldOp> summary_;
    std::vector<WorldOp> joins_;  ///< scratch
    std::size_t tracked_ops_ = 0;
};

}  // namespace purview
