// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ghosts that were sent before the rest of their group. The client does not show them yet. When the
// whole group has arrived, its root is sent again, marked as complete.
// Invariant: no slot is listed twice. A listed slot may meanwhile be free or have another ghost.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "protocol/local_id.hpp"
#include "purview/status.hpp"

namespace purview {

class IncompleteGroups {
  public:
    const std::vector<LocalId>& slots() const noexcept { return slots_; }
    void add(LocalId slot) {
        PURVIEW_ASSERT(slot != no_local_id);
        if (std::find(slots_.begin(), slots_.end(), slot) == slots_.end()) slots_.push_back(slot);
    }
    void assign(std::span<const LocalId> slots) { slots_.assign(slots.begin(), slots.end()); }

  private:
    std::vector<LocalId> slots_;
};

}  // namespace purview
