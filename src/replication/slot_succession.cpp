// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/slot_succession.hpp"

namespace purview {

void SlotSuccession::supersede(LocalId older, LocalId newer) {
    PURVIEW_ASSERT(older != newer && older_of(newer) == no_local_id);
    ++superseded_count_;
    Links& links = links_[older];
    PURVIEW_ASSERT(links.newer == no_local_id);
    links.newer = newer;
    links_[newer].older = older;
}

LocalId SlotSuccession::remove(LocalId slot) noexcept {
    const Links* found = is_empty() ? nullptr : links_.find(slot);
    if (found == nullptr) return no_local_id;
    const Links its = *found;
    PURVIEW_ASSERT(superseded_count_ > 0);
    --superseded_count_;  // n slots of an entity count as n - 1
    links_.erase(slot);
    const auto relink = [&](LocalId neighbor, LocalId Links::*side, LocalId to) {
        if (neighbor == no_local_id) return;
        Links* links = links_.find(neighbor);
        PURVIEW_ASSERT(links != nullptr && links->*side == slot);
        links->*side = to;
        if (links->older == no_local_id && links->newer == no_local_id) links_.erase(neighbor);
    };
    relink(its.older, &Links::newer, its.newer);
    relink(its.newer, &Links::older, its.older);
    PURVIEW_ASSERT((superseded_count_ == 0) == is_empty());
    return its.older;
}

}  // namespace purview
