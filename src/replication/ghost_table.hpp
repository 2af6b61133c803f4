// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one client has, as far as the server knows: its ghosts, by local id (slot). Each part owns
// its data. This class implements the steps that change several parts: enter and leave, the changes
// of a tick, the content of a packet, and its delivery status.
//
//   slots      the entity of each slot, and its state between enter and acknowledged leave
//   marks      what has to be sent besides changed fields; a slot with a mark is "special"
//   audience   which components are allowed
//   sends      what waits to be sent, since when, and baselines
//   rates      priority weights and send intervals
//   staged     remainders of what does not fit into one packet
//   retained   ghosts that stay on the client after their entity left
//   packets    content of the packets in flight
//   motions    predictor states of dead-reckoned fields
//   reports    the ghosts that the client had after each packet, for operators
//   groups     ghosts of groups that are not complete yet
//
// Callers read the parts directly. Must not depend on grids, visible block sets or encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "core/mutate.hpp"
#include "purview/types.hpp"
#include "replication/ghost_audience.hpp"
#include "replication/ghost_marks.hpp"
#include "replication/ghost_slots.hpp"
#include "replication/held_reports.hpp"
#include "replication/incomplete_groups.hpp"
#include "replication/packet_records.hpp"
#include "replication/retained_ghosts.hpp"
#include "replication/send_rates.hpp"
#include "replication/send_state.hpp"
#include "replication/slot_motions.hpp"
#include "replication/staged_sends.hpp"

namespace purview {

class GhostTable {
  public:
    const GhostSlots& slots() const noexcept { return slots_; }
    const GhostMarks& marks() const noexcept { return marks_; }
    const GhostAudience& audience() const noexcept { return audience_; }
    const SendState& sends() const noexcept { return sends_; }
    const SendRates& rates() const noexcept { return rates_; }
    SendRates& rates() noexcept { return rates_; }
    const StagedSends& staged() const noexcept { return staged_; }
    const RetainedGhosts& retained() const noexcept { return retained_; }
    const PacketRecords& packets() const noexcept { return records_; }
    const SlotMotions& motions() const noexcept { return motions_; }
    HeldReports& reports() noexcept { return reports_; }
    IncompleteGroups& groups() noexcept { return groups_; }

    // -- relevance ------------------------------------------------------------------------------
    /// Returns a slot for the entity: its retained slot or the lowest free one. Enters of one tick
    /// must be in the order of spawn numbers. `reason` is sent with every packet that has the enter
    /// or resumes the ghost.
    LocalId enter(EntityId entity, KindId kind, bool owned, Tick now,
                  Reason reason = Reason::entered);
    /// Ends the relevance of the entity. Returns whether the ghost is retained.
    bool leave(LocalId slot, Reason reason, RetentionPeriod period = {});
    /// Stores the state that the observer had last, for a ghost that has just left and is retained.
    void set_copy(LocalId slot, RetainedCopy copy) {
        PURVIEW_ASSERT(!slots_.is_live(slot));
        retained_.set_copy(slot, std::move(copy));
    }
    /// Ends expired retentions. If there is no room for `many` more, also ends the oldest of the
    /// others. Calls visit(slot) for each ended retention; a leave is then sent.
    template <class Visit>
    void drop_retained(Tick now, std::size_t many, Visit&& visit) {
        retained_.end_expired(now, many, [&](LocalId slot) {
            slots_.retention_ended(slot, now);
            visit(slot);
        });
    }
    /// Returns whether the entity has left and the client has not acknowledged this: the leave or,
    /// for a retained ghost, the retention.
    bool is_leaving(LocalId slot) const noexcept {
        const bool has_left = slots_.is_used(slot) && !slots_.is_live(slot);
        return has_left && !(retained_.is_retained(slot) && sends_.is_away(slot));
    }
    /// Number of slots with a leave that is not acknowledged. Retained slots do not count, also
    /// where is_leaving() returns true for them.
    std::uint32_t leaving_count() const noexcept {
        PURVIEW_ASSERT(slots_.live_count() + retained_.count() <= slots_.used_count());
        return slots_.used_count() - slots_.live_count() - retained_.count();
    }

    // -- what has to be sent --------------------------------------------------------------------
    /// Sets whether the observer owns the entity. Sent with the next update.
    void set_owned(EntityId entity, bool owned, Tick now);
    /// Sets the components that the observer is sent, a bit each (KindLayout). Gained components
    /// are sent in full. `public_components`: the components of its kind that most observers are
    /// sent.
    void set_allowed(LocalId slot, std::uint32_t allowed, std::uint32_t public_components,
                     Tick now);
    /// Call after the enter. Sets the properties of the ghost's kind: whether it has components
    /// with an audience, and the number of its dead-reckoned fields.
    void set_layout(LocalId slot, bool is_restricted, unsigned extrapolated_fields);
    /// Resends the references with the next update: the target of one of them entered or left.
    void touch_references(LocalId slot, Tick now);
    /// Resends the link of the ghost: its owner and allowed components.
    void touch_link(LocalId slot, Tick now);
    /// For a queued RPC: sends everything in this tick that the client may not have yet. Ignores
    /// slots that are not live.
    void request(LocalId slot, Tick now);
    /// Marks the ghost of the entity as pending: some of its changes must be sent outside shared
    /// payloads.
    void send_individually(EntityId entity, Tick now);
    /// Call if not everything fits. The remainder waits until the part that is sent now has
    /// arrived, and then starts with component `next`.
    void set_remainder(LocalId slot, std::size_t next);
    void clear_remainder(LocalId slot) noexcept {
        if (marks_.is_special(slot)) staged_.clear_remainder(slot);
    }
    /// Marks the slot as not pending: there is nothing to send.
    void settle(LocalId slot) noexcept { sends_.settle(slot); }
    /// Test builds: never sends the enter of the slot or, if its entity left, the leave
    /// (PURVIEW_BREAKABLE).
    void inject_silence(LocalId slot) noexcept {
        slots_.is_live(slot) ? sends_.block(slot) : slots_.inject_silent_leave(slot);
    }

    // -- ticks ----------------------------------------------------------------------------------
    /// Starts a tick. Changes of the last tick that were not sent are recorded as waiting since
    /// that tick.
    void begin_tick(Tick now) noexcept;
    /// Ends sending in this tick.
    void end_tick() noexcept { sends_.end_tick(); }
    /// Marks live slots as pending if their entity changed. For some slots the condition differs:
    /// - public components only: one of these changed.
    /// - other slots with restricted components and a mark: only if is_replicated(slot), which
    ///   tests whether an allowed component changed. A hidden change must not resend data in
    ///   flight.
    /// - dead-reckoned fields: if needs_update(slot), which tests whether the prediction is wrong
    ///   or another allowed field changed. While the prediction moves, the entity itself need not
    ///   have changed.
    ///
    /// `covered`: slots with their changes of this tick in shared payloads. It may be shorter than
    /// the table, also empty; slots past its end are not covered.
    template <class IsReplicated, class NeedsUpdate>
    void gather(const Bitset& changed, const Bitset& changed_in_public, Tick now,
                std::span<const std::uint64_t> covered, IsReplicated&& is_replicated,
                NeedsUpdate&& needs_update);
    /// Returns the pending slots of a word that are not blocked, not special and have no send
    /// policy.
    std::uint64_t due_at_once(std::size_t word) const noexcept {
        const SlotBlock& of = blocks_[word];
        return of.send.pending & ~(of.send.blocked | of.marks.special | of.rates.has_policy);
    }
    /// Returns whether an update of the slot is a plain delta: all fields, or all public fields,
    /// that changed since the baseline.
    bool is_plain_delta(LocalId slot) const noexcept {
        const SlotBlock& of = blocks_[slot_word(slot)];
        return (of.life.held & ~(of.marks.special | of.life.extrapolated) & slot_bit(slot)) != 0;
    }
    /// Computes the priorities of 64 slots and returns which of them have at least `least`
    /// (SendRates).
    std::uint64_t priorities(std::size_t word, Tick now, std::uint64_t idle, float least,
                             std::span<float, bits_per_word> out) noexcept {
        return rates_.priorities(word, now, sends_.store_waits(word), idle, least, out);
    }
    /// For assertions: checks all slots. From gather() to the end of the tick, pending slots are
    /// relevant, and no relevant slot is leaving.
    bool is_sound() const noexcept {
        return slots_.is_sound() && sends_.is_sound() && retained_.is_sound();
    }

    // -- packets --------------------------------------------------------------------------------
    /// Starts the record of a packet for everything that is recorded from now on. It is stored
    /// until the delivery status of the packet is known.
    PacketRecord& begin_packet(std::uint32_t sequence, Tick tick);
    /// `motions`: predictor states of all dead-reckoned fields, if they are sent.
    void sent(PacketRecord& record, LocalId slot, SentAs as, std::span<const Motion> motions = {});
    /// The same for updates of 64 slots, without predictor states.
    void sent_updates(PacketRecord& record, std::size_t word, std::uint64_t slots);
    /// Records that a reference to this id was sent before its enter.
    void reference_sent(LocalId slot) noexcept { slots_.reference_sent(slot); }
    /// Records that the packet has the shared payloads that were planned in gather().
    void sent_sections(PacketRecord& record);
    /// Drops the planned shared payloads; their changes become pending. begin_tick() does this if
    /// no packet had them.
    void give_up_sections() noexcept;
    /// Call before resolve(). Sends the changes from the shared payloads of a lost packet
    /// individually, for slots where changed_in(slot) returns true: they have not changed since
    /// that packet.
    template <class ChangedIn>
    void lost_sections(const PacketRecord& record, ChangedIn&& changed_in);
    /// Optional call before resolve(): these packets, in order of sequence, will be reported as
    /// lost. Faster if one datagram reports many.
    void expect_lost(std::span<const std::uint32_t> sequences);
    /// Reports the delivery status of a packet. Packets must be in order of sequence, each once.
    /// Sequence numbers without a record are ignored.
    void resolve(std::uint32_t sequence, bool was_delivered);

    // -- memory ---------------------------------------------------------------------------------
    void prefetch_slot(LocalId slot) const noexcept {
        slots_.prefetch_slot(slot);
        sends_.prefetch_slot(slot);
    }
    /// Prefetches what gather() reads.
    void prefetch_gather() const noexcept;
    std::size_t memory_bytes() const noexcept;

  private:
    LocalId resume(LocalId slot, bool owned, Tick now, Reason reason);
    void grow();
    void release(LocalId slot) noexcept;
    void cover(LocalId slot, Tick delivered) noexcept;
    void block_if_remainder(LocalId slot, Tick now) noexcept;
    void delivered(const PacketRecord& record);
    void delivered_item(const PacketRecord& record, SentItem item);
    void delivered_update(const PacketRecord& record, LocalId slot) noexcept;
    void lost(const PacketRecord& record);
    void lost_item(const PacketRecord& record, SentItem item);
    void list_lost(const PacketRecord& record);

    SlotBlocks blocks_;                     ///< each part has its own fields in them
    std::vector<std::uint64_t> sectioned_;  ///< slots in the shared payloads of this tick
    PacketRecords records_;
    GhostMarks marks_{blocks_};
    SendState sends_{blocks_, slots_, marks_, records_};
    GhostSlots slots_{blocks_};
    GhostAudience audience_{blocks_, marks_, sends_};
    SendRates rates_{blocks_};
    StagedSends staged_;
    RetainedGhosts retained_;
    SlotMotions motions_;
    HeldReports reports_;
    IncompleteGroups groups_;
    std::vector<std::uint64_t> lost_;  ///< scratch of expect_lost: slots; otherwise 0
};

template <class ChangedIn>
void GhostTable::lost_sections(const PacketRecord& record, ChangedIn&& changed_in) {
    for (std::size_t w = 0; w < record.words; ++w) {
        const std::uint64_t slots = records_.sectioned(record, w) & slots_.of(w).live;
        for_each_bit(slots, w * bits_per_word, [&](std::size_t s) {
            const auto slot = static_cast<LocalId>(s);
            if (!changed_in(slot)) return;
            // Individual updates since then repeated all of it, but may be lost, too.
            const SlotTimes& times = sends_.store_unacked(slot, record.tick);
            if (!sends_.is_pending(slot) && times.sent < record.tick)
                sends_.want_again(slot, record.tick);
        });
    }
}

template <class IsReplicated, class NeedsUpdate>
void GhostTable::gather(const Bitset& changed, const Bitset& changed_in_public, Tick now,
                        std::span<const std::uint64_t> covered, IsReplicated&& is_replicated,
                        NeedsUpdate&& needs_update) {
    PURVIEW_ASSERT(covered.size() <= slots_.words());
    begin_tick(now);
    sectioned_.clear();
    if (!covered.empty()) sectioned_.resize(slots_.words());
    for (std::size_t w = 0; w < blocks_.size(); ++w) {
        const SlotWords& life = blocks_[w].life;
        const SendWords& send = blocks_[w].send;
        const std::uint64_t candidates =
            PURVIEW_GUARD_OR(relevance, life.live, life.used) & ~send.pending;
        if (candidates == 0) continue;
        std::uint64_t wanted = candidates & slots_.slots_in(changed, w);
        if (w < covered.size()) {
            sectioned_[w] = wanted & covered[w];
            wanted &= ~covered[w];
        }
        if (life.extrapolated != 0) {
            for_each_bit(candidates & life.extrapolated, w * bits_per_word, [&](std::size_t s) {
                const std::uint64_t bit = std::uint64_t{1} << (s % bits_per_word);
                const auto slot = static_cast<LocalId>(s);
                if ((wanted & bit) == 0 && !motions_.is_moving(slot)) return;
                wanted = needs_update(slot) ? wanted | bit : wanted & ~bit;
            });
        }
        const AudienceWords& audience = blocks_[w].audience;
        const std::uint64_t public_only = wanted & audience.public_only & ~life.extrapolated;
        if (public_only != 0) {
            wanted &=
                ~public_only | PURVIEW_GUARD_OR(audience_of_changes,
                                                slots_.slots_in(changed_in_public, w), wanted);
        }
        for_each_bit(wanted & audience.restricted & blocks_[w].marks.special &
                         ~(audience.public_only | life.extrapolated),
                     w * bits_per_word, [&](std::size_t s) {
                         const auto slot = static_cast<LocalId>(s);
                         if (!PURVIEW_GUARD(audience_of_others, is_replicated(slot)))
                             wanted &= ~slot_bit(slot);
                     });
        sends_.add_changed(w, wanted);
        sends_.prefetch_times(w, wanted & send.has_older_baseline);
    }
}

}  // namespace purview
