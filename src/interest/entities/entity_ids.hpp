// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Assigns ids for a caller that has none of its own: low indices, reused with the next generation.
//
// Invariants: next() returns an id that is not alive and was not returned before. Before the first
// call of next(), only the largest index is stored. A caller may mix ids of its own with these.
// Must not depend on what an entity is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class EntityIds {
  public:
    /// O(1).
    EntityId next() {
        assigns_ = true;
        while (!free_.empty()) {
            const EntityId old = free_.back();
            free_.pop_back();
            const std::uint32_t index = index_of(old);
            PURVIEW_ASSERT(index < last_.size() && index < end_);
            // The caller may have used the index for an id of its own.
            if (generation_of(old) != ~std::uint32_t{0} && last_[index] == old)
                return make_entity_id(index, generation_of(old) + 1);
        }
        return make_entity_id(end_, 1);
    }
    void spawned(EntityId id) {
        const std::uint32_t index = index_of(id);
        end_ = std::max(end_, index + 1);
        if (!assigns_) return;
        if (last_.size() < end_) last_.resize(end_, EntityId::none);
        last_[index] = id;
    }
    void despawned(EntityId id) {
        PURVIEW_ASSERT(index_of(id) < end_);  // it was spawned
        if (!assigns_) return;
        if (last_.size() <= index_of(id))
            last_.resize(index_of(id) + std::size_t{1}, EntityId::none);
        last_[index_of(id)] = id;
        free_.push_back(id);
    }

  private:
    std::vector<EntityId> free_;
    std::vector<EntityId> last_;  ///< by index: its last id, since the first next()
    std::uint32_t end_ = 0;       ///< above all indices that were used
    bool assigns_ = false;
};

}  // namespace purview
