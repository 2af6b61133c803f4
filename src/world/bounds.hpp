// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates the bounds of groups after positions settle. Only members that moved within their group
// are measured again, not those that move with the root.
//
// Invariants: `shifted_` is empty between calls; each operation is read once.
//
// Must not depend on how positions settle or on what reads the bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "world/component_table.hpp"
#include "world/entity_table.hpp"
#include "world/group_bounds.hpp"
#include "world/groups.hpp"
#include "world/op_log.hpp"
#include "world/positions.hpp"

namespace purview {

class BoundsUpdate {
  public:
    BoundsUpdate(const EntityTable& entities, const ComponentTable& components,
                 const GroupForest& groups, const WorldPositions& positions, const OpLog& log)
        : entities_(entities),
          components_(components),
          groups_(groups),
          positions_(positions),
          log_(log) {}

    /// Sets which kinds have bounds: by_kind[kind] is true if groups with such a root have them.
    void keep(std::vector<bool> by_kind);
    /// Whether any kind has bounds. If not, settle does nothing.
    bool is_needed() const noexcept { return !kinds_.empty(); }
    float radius_of(EntityId root) const noexcept { return bounds_.radius(root); }
    /// Call after positions settled.
    void settle();
    /// Bounds that changed since the last call, as of the last settle.
    std::span<const GroupBounds::Change> take_changes();
    /// Call when the log is cleared.
    void clear() noexcept { known_ops_ = 0; }
    /// Number of members that were measured so far.
    std::uint64_t measured() const noexcept { return measured_; }

  private:
    bool has_bounds(std::uint32_t root) const noexcept {
        return kinds_[index_of(entities_.kind_at(root))];
    }
    void measure(std::uint32_t index);

    const EntityTable& entities_;
    const ComponentTable& components_;
    const GroupForest& groups_;
    const WorldPositions& positions_;
    const OpLog& log_;
    std::vector<bool> kinds_;  ///< by KindId: has bounds; empty: none has
    GroupBounds bounds_;
    std::vector<GroupBounds::Change> changes_;
    std::size_t known_ops_ = 0;  ///< operations of the log that have been read
    Bitset shifted_;             ///< scratch: members that moved within their group
    std::uint64_t measured_ = 0;
};

}  // namespace purview
