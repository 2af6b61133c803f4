// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The allowed components of each ghost of one observer: those that it is sent, a bit each
// (KindLayout). Gained components became allowed, but the observer may not have them yet: they are
// sent in full. If no component of a kind is restricted, all are allowed.
// Reads marks and send state, writes only its own data.
// Invariant: a slot with neither all components nor exactly the public ones is special
// (GhostMarks).
// Must not depend on the decision which components are allowed (server/audience_filter).
#pragma once

#include <cstddef>
#include <cstdint>

#include "purview/types.hpp"
#include "replication/ghost_marks.hpp"
#include "replication/send_state.hpp"
#include "replication/slot_words.hpp"

namespace purview {

class GhostAudience {
  public:
    static constexpr std::uint32_t all_components = ~std::uint32_t{0};

    GhostAudience(SlotBlocks& blocks, const GhostMarks& marks, const SendState& sends) noexcept
        : marks_(marks), sends_(sends), flags_(blocks) {}
    GhostAudience(const GhostAudience&) = delete;  // blocks belong to one table
    GhostAudience& operator=(const GhostAudience&) = delete;

    std::uint32_t allowed(LocalId slot) const noexcept {
        const bool may_differ = marks_.is_special(slot) || is_public_only(slot);
        return may_differ ? its_[slot].allowed : all_components;
    }
    /// Returns the components that the observer gained and is not known to have received.
    std::uint32_t gained(LocalId slot) const noexcept {
        if (!marks_.is_special(slot)) return 0;
        return its_[slot].gained_tick > sends_.baseline(slot) ? its_[slot].gained : 0;
    }
    /// Returns the components that the observer gained in this tick.
    std::uint32_t gained_in(LocalId slot, Tick tick) const noexcept {
        if (!marks_.is_special(slot)) return 0;
        return its_[slot].gained_tick == tick ? its_[slot].gained : 0;
    }
    bool is_public_only(LocalId slot) const noexcept {
        return flags_.test(&AudienceWords::public_only, slot);
    }
    /// Returns whether the slot has neither all components nor exactly the public ones. Such a slot
    /// stays special.
    bool is_individual(LocalId slot) const noexcept {
        return its_[slot].allowed != all_components && !is_public_only(slot);
    }
    bool is_covered_by(LocalId slot, Tick baseline) const noexcept {
        return its_[slot].gained_tick <= baseline;
    }
    const AudienceWords& of(std::size_t word) const noexcept { return flags_[word]; }
    SlotMask<&SlotBlock::audience> restricted() const noexcept {
        return flags_.mask(&AudienceWords::restricted);
    }
    SlotMask<&SlotBlock::audience> public_only() const noexcept {
        return flags_.mask(&AudienceWords::public_only);
    }

    /// Starts a new ghost in the slot, with all components allowed.
    void begin(LocalId slot) noexcept { its_[slot] = {}; }
    void set_restricted(LocalId slot) noexcept { flags_.set(&AudienceWords::restricted, slot); }
    /// `public_components`: the components of its kind that most observers are sent. Returns
    /// whether anything changed; then the caller must mark the slot.
    [[nodiscard]] bool set_allowed(LocalId slot, std::uint32_t allowed,
                                   std::uint32_t public_components, Tick now) noexcept;
    void release(LocalId slot) noexcept { flags_.reset_all(slot); }

    void grow(std::size_t words, std::size_t room);
    std::size_t memory_bytes() const noexcept { return its_.size() * sizeof(Components); }

  private:
    struct Components {
        std::uint32_t allowed = all_components;
        std::uint32_t gained = 0;
        Tick gained_tick = 0;
    };

    const GhostMarks& marks_;
    const SendState& sends_;
    SlotFlags<&SlotBlock::audience> flags_;
    LineVector<Components> its_;  ///< by slot
};

}  // namespace purview
