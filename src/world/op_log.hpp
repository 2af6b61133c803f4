// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The structural edits of the running tick: spawns, despawns, changes of group and of owner.
//
// Invariants: operations are in the order of the edits; each has the id that its entity had when it
// was logged.
//
// Must not depend on how operations are summarized (world/op_summary.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/types.hpp"

namespace purview {

/// One structural edit.
struct WorldOp {
    enum class Type : std::uint8_t { spawn, despawn, root, owner };
    Type type;
    EntityId entity;
    EntityId root;                               ///< the new root (type root)
    EntityId parent = EntityId::none;            ///< within the group (type root)
    ObserverId owner_before = ObserverId::none;  ///< (type owner)
    bool is_orphan = false;                      ///< its former parent was despawned (type root)
};

class OpLog {
  public:
    void add(const WorldOp& op) { ops_.push_back(op); }
    std::span<const WorldOp> ops() const noexcept { return ops_; }
    /// Operations from number `first` on, counted from the beginning of the tick.
    std::span<const WorldOp> since(std::size_t first) const noexcept {
        return ops().subspan(first);
    }
    void clear() noexcept { ops_.clear(); }

  private:
    std::vector<WorldOp> ops_;
};

}  // namespace purview
