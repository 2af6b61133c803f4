// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The send state of each ghost slot of one observer: whether it is pending (has data to send),
// since when, and the state that the observer certainly has (its baseline). Almost all slots are
// sent in the tick of their change and lose no packet. Nothing is stored for them: their baseline
// is that of the whole observer (resolved_tick). A slot that waits longer, or lost a packet, has an
// older baseline. Its times are stored until an update with everything arrives. Reads slots, marks
// and packet records, writes only its own data. Invariants: pending slots are live; slots that
// changed this tick are pending (is_sound()). Must not depend on the content of a ghost, weights or
// encoding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/mutate.hpp"
#include "purview/types.hpp"
#include "replication/ghost_marks.hpp"
#include "replication/ghost_slots.hpp"
#include "replication/packet_records.hpp"
#include "replication/slot_words.hpp"

namespace purview {

class SendState {
  public:
    SendState(SlotBlocks& blocks, const GhostSlots& slots, const GhostMarks& marks,
              const PacketRecords& records) noexcept
        : slots_(slots),
          marks_(marks),
          records_(records),
          flags_(blocks),
          waiting_since_(blocks),
          times_(blocks) {}
    SendState(const SendState&) = delete;  // blocks belong to one table
    SendState& operator=(const SendState&) = delete;

    // -- what waits -----------------------------------------------------------------------------
    /// The tick that was started last.
    Tick tick() const noexcept { return tick_; }
    bool is_pending(LocalId slot) const noexcept { return flags_.test(&SendWords::pending, slot); }
    /// Returns whether a part of a staged update is in flight. Nothing more is sent before the
    /// delivery status of that part is known.
    bool is_blocked(LocalId slot) const noexcept { return flags_.test(&SendWords::blocked, slot); }
    const SendWords& of(std::size_t word) const noexcept { return flags_[word]; }
    SlotMask<&SlotBlock::send> pending() const noexcept { return flags_.mask(&SendWords::pending); }
    SlotMask<&SlotBlock::send> older_baselines() const noexcept {
        return flags_.mask(&SendWords::has_older_baseline);
    }
    /// For a pending slot, the tick of the oldest change that was never sent or was lost each time.
    /// The priority grows from then on.
    Tick waiting_since(LocalId slot) const noexcept {
        return is_changed_this_tick(slot) ? tick_ : waiting_since_.at(slot);
    }
    /// For a pending slot, the tick since which its data is not in flight: the tick of its change,
    /// or the tick in which its packet was reported lost.
    Tick pending_since(LocalId slot) const noexcept {
        return is_changed_this_tick(slot) ? tick_ : times(slot).pending_since;
    }
    /// Tick of the last packet with the ghost, if it is stored (SlotTimes); otherwise an older
    /// tick.
    Tick sent_tick(LocalId slot) const noexcept { return times(slot).sent; }
    /// Longest wait so far of a slot that was sent or left, in ticks. A change that is sent in its
    /// own tick or in the next has waited 0 ticks. For current waits see backlog_of.
    Tick longest_wait_ticks() const noexcept { return longest_wait_; }
    /// Returns whether the entity of the slot became relevant in this tick. Then the client must
    /// not be able to detect earlier state.
    bool is_newly_relevant(LocalId slot, Tick now) const noexcept {
        return slots_.needs_enter(slot) ? waiting_since(slot) == now
                                        : marks_.resumed_tick(slot) == now;
    }
    /// The same for 64 slots, in the current tick.
    std::uint64_t newly_relevant(std::size_t word) const noexcept;
    /// Returns whether the enter of the slot was sent. For a resumed ghost, returns whether the
    /// resume was sent, too.
    bool was_sent(LocalId slot) const noexcept {
        return slots_.entered_tick(slot) != 0 && sent_tick(slot) >= marks_.resumed_tick(slot);
    }

    // -- what the observer has ------------------------------------------------------------------
    /// Returns the newest tick up to which the delivery status of all sent packets is known.
    Tick resolved_tick() const noexcept {
        const Tick unknown = records_.empty() ? tick_ : records_.oldest().tick;
        return unknown == 0 ? 0 : unknown - 1;
    }
    /// Returns the baseline: if the observer has the ghost, it has at least the state of this tick.
    Tick baseline(LocalId slot) const noexcept { return baseline(slot, resolved_tick()); }
    /// The same, for loops: `resolved` is resolved_tick().
    Tick baseline(LocalId slot, Tick resolved) const noexcept {
        if (flags_.test(&SendWords::has_older_baseline, slot)) return times(slot).baseline;
        return slots_.is_held(slot) ? baseline_of_held(slot, resolved) : slots_.entered_tick(slot);
    }
    /// Returns whether the observer may have a retained ghost that it is not known to have resumed.
    bool is_away(LocalId slot) const noexcept {
        return slots_.is_away(slot) || marks_.resumed_tick(slot) > baseline(slot);
    }
    bool has_older_baseline(LocalId slot) const noexcept {
        return flags_.test(&SendWords::has_older_baseline, slot);
    }
    /// Returns false if no slot of the word has an older baseline; otherwise some may have.
    bool may_have_older(std::size_t word) const noexcept {
        return (words_with_older_ >> (word % bits_per_word) & 1U) != 0;
    }
    /// Number of packet records searched so far for slots that got an older baseline.
    std::uint64_t packets_looked_at() const noexcept { return packets_looked_at_; }

    // -- ticks ----------------------------------------------------------------------------------
    /// Starts a tick. Whatever was not sent in the last tick has waited since that tick.
    void begin_tick(Tick now) noexcept;
    /// Ends sending in this tick.
    void end_tick() noexcept;
    /// Marks slots of a word as pending: they changed in this tick.
    void add_changed(std::size_t word, std::uint64_t slots) noexcept {
        PURVIEW_ASSERT((slots & ~slots_.of(word).used) == 0);
        flags_[word].pending |= slots;
        flags_[word].changed_this_tick |= slots;
        has_changed_ |= slots != 0;
    }
    /// Prefetches times that will be written.
    void prefetch_times(std::size_t word, std::uint64_t slots) const noexcept {
        for_each_bit(slots, word * bits_per_word,
                     [&](std::size_t slot) { prefetch_line(&times(static_cast<LocalId>(slot))); });
    }
    /// Marks the slot as pending from tick `now` on.
    void want(LocalId slot, Tick now) noexcept;
    /// Marks the slot as pending again: its data of `packet_tick` is lost. It counts as never sent.
    void want_again(LocalId slot, Tick packet_tick) noexcept;
    /// Ends the wait, as of tick `now`.
    void end_wait(LocalId slot, Tick now) noexcept {
        if (is_pending(slot))
            end_wait(flags_[slot_word(slot)], slot_bit(slot), times_.at(slot), now);
    }
    /// Ends the wait: there is nothing to send.
    void settle(LocalId slot) noexcept {
        end_wait(slot, tick_);
        times_.at(slot).unacked_since = 0;
    }
    void block(LocalId slot) noexcept { flags_.set(&SendWords::blocked, slot); }
    void unblock(LocalId slot) noexcept { flags_.reset(&SendWords::blocked, slot); }
    /// Resumes a retained ghost: nothing of it is in flight or pending.
    void begin_resumed(LocalId slot) noexcept {
        PURVIEW_ASSERT(has_older_baseline(slot));
        times_.at(slot).unacked_since = 0;
        unblock(slot);
    }
    /// Stores the slot's times. Call it before an update that other observers receive and this one
    /// does not.
    SlotTimes& store(LocalId slot) noexcept {
        const std::size_t word = slot_word(slot);
        if ((flags_[word].changed_this_tick & slot_bit(slot)) != 0) store_waits(word);
        if ((flags_[word].has_older_baseline & slot_bit(slot)) == 0)
            store_times(word, slot_bit(slot));
        return times_.at(slot);
    }
    /// The same, and records that the observer may not have what changed in tick `since`.
    const SlotTimes& store_unacked(LocalId slot, Tick since) noexcept {
        SlotTimes& its = store(slot);
        if (its.unacked_since == 0 || its.unacked_since > since) its.unacked_since = since;
        return its;
    }
    /// Stores the times of these slots of a word. None of them may have an older baseline.
    void store_times(std::size_t word, std::uint64_t slots) noexcept;
    /// Stores the waiting times of the slots that changed in this tick. Returns the waiting times
    /// of all slots of the word.
    std::span<const Tick, bits_per_word> store_waits(std::size_t word) noexcept;
    void release(LocalId slot) noexcept { flags_.reset_all(slot); }

    // -- packets --------------------------------------------------------------------------------
    /// Records an item of a packet. `stores_tick`: the tick is stored to identify the packet.
    void item_sent(LocalId slot, Tick tick, bool stores_tick) noexcept {
        if (stores_tick) times_.at(slot).sent = tick;
        end_wait(slot, tick);
    }
    /// Sets the baseline of a ghost, if it is stored, to the tick of its enter.
    void enter_sent(LocalId slot, Tick tick) noexcept {
        if (has_older_baseline(slot)) times_.at(slot).baseline = tick;
    }
    /// Records updates of slots without stored times.
    void updates_sent(std::size_t word, std::uint64_t slots) noexcept {
        flags_[word].pending &= ~slots;
        flags_[word].changed_this_tick &= ~slots;
    }
    /// Records a delivery: the observer has the state of this packet, and later changes are in
    /// flight or pending. The slot must have an older baseline. It no longer has one if nothing is
    /// pending and every later change was sent in its own tick.
    void delivered(LocalId slot, Tick packet_tick) noexcept;
    /// Call after visiting a word that may have slots with an older baseline. If it has none,
    /// resets may_have_older.
    void update_word(std::size_t word) noexcept {
        if (flags_[word].has_older_baseline != 0) return;
        words_with_older_ &= ~slot_bit(static_cast<LocalId>(word));
    }

    /// For assertions: checks all slots.
    bool is_sound() const noexcept;
    void prefetch_slot(LocalId slot) const noexcept { prefetch_line(&times_.at(slot)); }

  private:
    const SlotTimes& times(LocalId slot) const noexcept { return times_.at(slot); }
    bool is_changed_this_tick(LocalId slot) const noexcept {
        return flags_.test(&SendWords::changed_this_tick, slot);
    }
    /// For a slot without an older baseline. While only some packets of a tick have a known status,
    /// a ghost that entered or was resumed in that tick has the tick itself as baseline, not the
    /// one before.
    Tick baseline_of_held(LocalId slot, Tick resolved) const noexcept {
        if (PURVIEW_GUARD(came_before, resolved + 1 != records_.last_resolved_tick()))
            return resolved;
        return std::max({resolved, slots_.entered_tick(slot), marks_.last_resumed_tick(slot)});
    }
    void end_wait(SendWords& of, std::uint64_t bit, SlotTimes& its, Tick now) noexcept {
        of.pending &= ~bit;
        if ((of.changed_this_tick & bit) != 0) {
            of.changed_this_tick &= ~bit;
            if ((of.has_older_baseline & bit) != 0 && its.unacked_since == 0)
                its.unacked_since = tick_;
        } else {
            if (now > its.pending_since)
                longest_wait_ = std::max(longest_wait_, now - 1 - its.pending_since);
            its.pending_since = now;
        }
    }

    const GhostSlots& slots_;
    const GhostMarks& marks_;
    const PacketRecords& records_;
    SlotFlags<&SlotBlock::send> flags_;
    Tick tick_ = 0;
    bool has_changed_ = false;  ///< a slot may have changed in this tick
    /// Bit w % 64: some slot of word w may have an older baseline.
    std::uint64_t words_with_older_ = 0;
    SlotArrays<&SlotBlock::waiting_since> waiting_since_;
    SlotArrays<&SlotBlock::times> times_;
    Tick longest_wait_ = 0;
    std::uint64_t packets_looked_at_ = 0;
};

}  // namespace purview
