// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_audience.hpp"

namespace purview {

bool GhostAudience::set_allowed(LocalId slot, std::uint32_t allowed,
                                std::uint32_t public_components, Tick now) noexcept {
    if (this->allowed(slot) == allowed) return false;
    Components& its = its_[slot];
    PURVIEW_ASSERT(marks_.is_special(slot) || !is_individual(slot));
    PURVIEW_ASSERT(its.gained_tick <= now);
    its.gained = (gained(slot) | (allowed & ~its.allowed)) & allowed;
    its.gained_tick = now;
    its.allowed = allowed;
    flags_.assign(&AudienceWords::public_only, slot,
                  allowed == public_components && allowed != all_components);
    return true;
}

void GhostAudience::grow(std::size_t words, std::size_t room) {
    its_.reserve(room * bits_per_word);
    its_.resize(words * bits_per_word);
}

}  // namespace purview
