// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What may have to be sent for a ghost besides changed fields: its link (owner and allowed
// components, sent together with the parent; not the network link), references to targets that
// entered or left, the resume of a retained ghost, and everything that a queued RPC needs. Each
// mark is a tick. Its data is sent until the baseline covers that tick. Almost all slots have no
// mark. The flag "special" (is_special) is set for the others, and only these are checked one by
// one.
// Invariant: the ticks of a slot that is not special are covered by its baseline.
// Must not depend on when a baseline changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "purview/types.hpp"
#include "replication/slot_words.hpp"

namespace purview {

class GhostMarks {
  public:
    explicit GhostMarks(SlotBlocks& blocks) noexcept : flags_(blocks), its_(blocks) {}
    GhostMarks(const GhostMarks&) = delete;  // blocks belong to one table
    GhostMarks& operator=(const GhostMarks&) = delete;

    /// Returns whether an update may need more, or fewer, than the changed fields.
    bool is_special(LocalId slot) const noexcept { return flags_.test(&MarkWords::special, slot); }
    SlotMask<&SlotBlock::marks> special() const noexcept {
        return flags_.mask(&MarkWords::special);
    }
    /// Tick of the last change of owner or allowed components; 0: covered by the baseline.
    Tick link_tick(LocalId slot) const noexcept { return is_special(slot) ? its_[slot].link : 0; }
    /// Tick of the last change of a reference for this observer; 0: covered by the baseline.
    Tick reference_tick(LocalId slot) const noexcept {
        return is_special(slot) ? its_[slot].reference : 0;
    }
    /// Tick in which a retained ghost was resumed; 0: not resumed, or covered by the baseline.
    Tick resumed_tick(LocalId slot) const noexcept {
        return is_special(slot) ? its_[slot].resumed : 0;
    }
    /// The same, even if the baseline covers it.
    Tick last_resumed_tick(LocalId slot) const noexcept { return its_[slot].resumed; }
    /// The newest tick in which any slot was resumed.
    Tick newest_resumed_tick() const noexcept { return newest_resumed_; }
    /// Returns whether an RPC requires all data of the ghost in this tick.
    bool is_requested(LocalId slot, Tick now) const noexcept {
        return is_special(slot) && its_[slot].requested == now;
    }
    bool is_owned(LocalId slot) const noexcept { return its_[slot].is_owned; }
    /// Tick in which the observer lost ownership; 0: never.
    Tick disowned_tick(LocalId slot) const noexcept { return its_[slot].disowned; }
    /// Returns whether no mark of the slot is newer than the baseline.
    bool is_covered_by(LocalId slot, Tick baseline) const noexcept {
        const SlotMarks& its = its_[slot];
        return std::max({its.link, its.reference, its.resumed, its.requested}) <= baseline;
    }
    /// Returns false if no slot of the word is special; otherwise some may be.
    bool may_have_special(std::size_t word) const noexcept {
        return (words_with_special_ >> (word % bits_per_word) & 1U) != 0;
    }

    /// Starts a new ghost in the slot.
    void begin(LocalId slot, bool is_owned) noexcept {
        PURVIEW_ASSERT(!is_special(slot));
        its_[slot] = {.is_owned = is_owned};
    }
    /// Makes the slot special. Call when it gets a mark.
    void set_special(LocalId slot) noexcept {
        flags_.set(&MarkWords::special, slot);
        words_with_special_ |= slot_bit(static_cast<LocalId>(slot_word(slot)));
    }
    /// Makes the slot ordinary again. Call when the baseline covers all its marks.
    void reset_special(LocalId slot) noexcept {
        PURVIEW_ASSERT(is_special(slot));
        flags_.reset(&MarkWords::special, slot);
    }
    void mark_link(LocalId slot, Tick now) noexcept {
        set_special(slot);
        its_[slot].link = now;
    }
    void mark_reference(LocalId slot, Tick now) noexcept {
        set_special(slot);
        its_[slot].reference = now;
    }
    void mark_requested(LocalId slot, Tick now) noexcept {
        set_special(slot);
        its_[slot].requested = now;
    }
    /// Marks a resumed ghost: its parent, owner and references are sent again.
    void mark_resumed(LocalId slot, bool is_owned, Tick now) noexcept;
    void set_owned(LocalId slot, bool is_owned, Tick now) noexcept;
    void release(LocalId slot) noexcept { flags_.reset_all(slot); }
    /// Call after visiting a word that may have special slots. If it has none, resets
    /// may_have_special.
    void update_word(std::size_t word) noexcept {
        if (flags_[word].special != 0) return;
        words_with_special_ &= ~slot_bit(static_cast<LocalId>(word));
    }

  private:
    SlotFlags<&SlotBlock::marks> flags_;
    /// Bit w % 64: some slot of word w may be special.
    std::uint64_t words_with_special_ = 0;
    Tick newest_resumed_ = 0;
    SlotRecords<&SlotDetails::marks> its_;
};

}  // namespace purview
