// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_marks.hpp"

namespace purview {

void GhostMarks::mark_resumed(LocalId slot, bool is_owned, Tick now) noexcept {
    PURVIEW_ASSERT(now >= newest_resumed_);
    set_special(slot);
    SlotMarks& its = its_[slot];
    its.resumed = its.link = its.reference = now;
    its.is_owned = is_owned;
    newest_resumed_ = now;
}

void GhostMarks::set_owned(LocalId slot, bool is_owned, Tick now) noexcept {
    PURVIEW_ASSERT(its_[slot].is_owned != is_owned);
    mark_link(slot, now);
    its_[slot].is_owned = is_owned;
    if (!is_owned) its_[slot].disowned = now;
}

}  // namespace purview
