// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Cull groups that appear in this tick while some node lets enters wait. Every node evaluates them
// without waiting. Invariant: lanes() are the lanes of units(), from locate() to clear().
#pragma once

#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "spatial/block_table.hpp"
#include "spatial/lanes.hpp"

namespace purview {

class NewUnits {
  public:
    void add(EntityId unit) { units_.push_back(unit); }
    std::span<const EntityId> units() const noexcept { return units_; }
    /// Returns the lanes of these cull groups, by block, after moves are settled; null if there are
    /// none.
    const FlatMap<BlockIndex, Mask>* lanes() const noexcept {
        return lanes_.size() > 0 ? &lanes_ : nullptr;
    }
    void locate(const BlockTable& table) {
        lanes_.clear();
        for (const EntityId unit : units_) {
            const Slot slot = table.slot_of(unit);
            if (slot == no_slot) continue;
            Mask& lanes = lanes_[block_of(slot)];
            lanes = static_cast<Mask>(lanes | lane_bit(lane_of(slot)));
        }
    }
    void clear() {
        units_.clear();
        lanes_.clear();
    }

  private:
    std::vector<EntityId> units_;
    FlatMap<BlockIndex, Mask> lanes_;
};

}  // namespace purview
