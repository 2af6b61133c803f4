// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ghost slots of one entity that are in use at once, from the oldest to the newest. An entity that
// returns before its leave is acknowledged gets a second slot. Nothing is stored for entities with
// one slot. Invariant: the links of a slot and of its neighbors refer to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/flat_map.hpp"
#include "protocol/local_id.hpp"

namespace purview {

class SlotSuccession {
  public:
    bool is_empty() const noexcept { return links_.size() == 0; }
    /// Number of slots with a newer slot of the same entity. O(1).
    std::uint32_t superseded_count() const noexcept { return superseded_count_; }
    /// Returns the slot that the entity had before this one, or no_local_id.
    LocalId older_of(LocalId slot) const noexcept {
        if (is_empty()) return no_local_id;
        const Links* links = links_.find(slot);
        return links != nullptr ? links->older : no_local_id;
    }
    /// Links two slots. `older` must be the newest slot of its entity.
    void supersede(LocalId older, LocalId newer);
    /// Removes the slot from its succession. Returns the slot before it, or no_local_id.
    LocalId remove(LocalId slot) noexcept;
    std::size_t memory_bytes() const noexcept { return links_.memory_bytes(); }

  private:
    struct Links {
        LocalId older = no_local_id;
        LocalId newer = no_local_id;
    };

    FlatMap<LocalId, Links> links_;
    std::uint32_t superseded_count_ = 0;
};

}  // namespace purview
