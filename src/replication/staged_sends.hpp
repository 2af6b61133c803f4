// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Staged replication of one observer: ghosts that do not fit into one packet as a whole. The
// remainder waits until the part that was sent has arrived, and then starts at a cursor, so that
// every component is sent eventually. Allocates nothing if everything fits.
// Must not depend on components and their sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "protocol/local_id.hpp"
#include "purview/status.hpp"

namespace purview {

class StagedSends {
  public:
    /// Returns whether the ghost has a remainder: not all of it fits into the next packet.
    bool has_remainder(LocalId slot) const noexcept {
        return slot < its_.size() && its_[slot].has_remainder;
    }
    /// Returns the component that is sent first if not all components fit.
    std::size_t cursor(LocalId slot) const noexcept {
        return slot < its_.size() ? its_[slot].cursor : 0;
    }
    /// Once the planned part has been sent, the remainder starts with component `next`.
    void set_remainder(LocalId slot, std::size_t next) {
        PURVIEW_ASSERT(next <= std::numeric_limits<std::uint8_t>::max());
        if (slot >= its_.size()) its_.resize(std::size_t{slot} + 1);
        its_[slot].has_remainder = true;
        its_[slot].next_cursor = static_cast<std::uint8_t>(next);
    }
    void clear_remainder(LocalId slot) noexcept {
        if (slot < its_.size()) its_[slot].has_remainder = false;
    }
    /// Moves the cursor. Call when a part was sent.
    void advance(LocalId slot) noexcept {
        PURVIEW_ASSERT(has_remainder(slot));
        its_[slot].cursor = its_[slot].next_cursor;
    }
    /// Starts a new ghost in the slot.
    void begin(LocalId slot) noexcept {
        if (slot < its_.size()) its_[slot] = {};
    }
    std::size_t memory_bytes() const noexcept { return its_.size() * sizeof(Stage); }

  private:
    struct Stage {
        bool has_remainder = false;
        std::uint8_t cursor = 0;
        std::uint8_t next_cursor = 0;
    };

    std::vector<Stage> its_;  ///< by slot
};

}  // namespace purview
