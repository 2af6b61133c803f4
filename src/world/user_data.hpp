// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The user data of entities: numbers that the game attaches.
//
// Invariants: nothing is stored before the first number other than 0; the number of a despawned
// entity stays readable until its index is reused, because later events contain it.
//
// Must not depend on what the numbers mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/types.hpp"

namespace purview {

class WorldUserData {
  public:
    /// O(1), but the first call for an entity may grow the table: O(index).
    void set(EntityId entity, std::uint64_t value) {
        if (value == get(entity)) return;
        const std::size_t index = index_of(entity);
        if (index >= entries_.size()) entries_.resize(index + 1);
        entries_[index] = {entity, value};
        edits_.push_back(entity);
    }
    /// Returns 0 if none was set.
    std::uint64_t get(EntityId entity) const noexcept {
        const std::size_t index = index_of(entity);
        return index < entries_.size() && entries_[index].entity == entity ? entries_[index].value
                                                                           : 0;
    }
    /// Entities with numbers that were set since clear_edits; may contain duplicates.
    std::span<const EntityId> edits() const noexcept { return edits_; }
    void clear_edits() noexcept { edits_.clear(); }

  private:
    struct Entry {
        EntityId entity = EntityId::none;
        std::uint64_t value = 0;
    };
    std::vector<Entry> entries_;  ///< by entity index
    std::vector<EntityId> edits_;
};

}  // namespace purview
