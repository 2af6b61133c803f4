// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_table.hpp"

#include <algorithm>
#include <utility>

namespace purview {

namespace {

/// Returns the slots with an update in the lost packet that had no item and must be sent again.
std::uint64_t updates_lost(const PacketRecords& records, const GhostSlots& slots,
                           const PacketRecord& record, std::size_t word) noexcept {
    const SlotWords& of = slots.of(word);
    return records.updated(record, word) & PURVIEW_GUARD_OR(relevance_of_updates, of.live, of.used);
}

}  // namespace

// -- relevance ------------------------------------------------------------------------------------

LocalId GhostTable::enter(EntityId entity, KindId kind, bool owned, Tick now, Reason reason) {
    PURVIEW_ASSERT(slots_.find(entity) == no_local_id);
    if (const LocalId retained = retained_.find(entity); retained != no_local_id)
        return resume(retained, owned, now, reason);
    begin_tick(now);
    const std::size_t words = blocks_.size();
    const LocalId slot = slots_.enter(entity, kind, reason);
    if (blocks_.size() != words) grow();
    marks_.begin(slot, owned);
    audience_.begin(slot);
    rates_.begin(slot);
    staged_.begin(slot);
    sends_.add_changed(slot_word(slot), slot_bit(slot));
    return slot;
}

/// Continues the retained ghost that the observer has. Parent, owner and references are sent again.
LocalId GhostTable::resume(LocalId slot, bool owned, Tick now, Reason reason) {
    retained_.end(slot);
    slots_.resume(slot, reason);
    marks_.mark_resumed(slot, owned, now);
    rates_.begin(slot);
    staged_.clear_remainder(slot);
    sends_.begin_resumed(slot);
    sends_.want(slot, now);
    return slot;
}

bool GhostTable::leave(LocalId slot, Reason reason, RetentionPeriod period) {
    PURVIEW_ASSERT(slot != no_local_id);
    if (slot == no_local_id) return false;
    PURVIEW_ASSERT(!retained_.is_retained(slot));
    sends_.end_wait(slot, sends_.tick());
    motions_.stop(slot);
    if (!slots_.leave(slot, reason, sends_.tick())) {
        release(slot);
        return false;
    }
    // A ghost can be resumed only if the observer is known to have it.
    const bool is_retained = period.policy != Retention::despawn &&
                             PURVIEW_GUARD(copy_is_held, slots_.is_held(slot)) &&
                             PURVIEW_GUARD(copies_kept, retained_.has_room());
    if (!is_retained) return false;
    (void)sends_.store(slot);  // the observer does not receive later updates
    retained_.begin(slot, slots_.entity(slot), period, sends_.tick());
    return true;
}

/// Gives all parts as many words as the slots have.
void GhostTable::grow() {
    const std::size_t words = blocks_.size(), room = blocks_.capacity();
    audience_.grow(words, room);
    rates_.grow(words, room);
}

void GhostTable::release(LocalId slot) noexcept {
    PURVIEW_ASSERT(!retained_.is_retained(slot));
    motions_.end(slot);
    marks_.release(slot);
    sends_.release(slot);
    audience_.release(slot);
    rates_.release(slot);
    retained_.drop_copy(slot);
    slots_.release(slot);
    PURVIEW_ASSERT(slots_.used_count() >= slots_.live_count() + retained_.count());
}

// -- what has to be sent --------------------------------------------------------------------------

void GhostTable::set_owned(EntityId entity, bool owned, Tick now) {
    const LocalId slot = slots_.find(entity);
    if (slot == no_local_id || marks_.is_owned(slot) == owned) return;
    marks_.set_owned(slot, owned, now);
    sends_.want(slot, now);
}

void GhostTable::set_allowed(LocalId slot, std::uint32_t allowed, std::uint32_t public_components,
                             Tick now) {
    if (!audience_.set_allowed(slot, allowed, public_components, now)) return;
    marks_.mark_link(slot, now);
    sends_.want(slot, now);
}

void GhostTable::set_layout(LocalId slot, bool is_restricted, unsigned extrapolated_fields) {
    PURVIEW_ASSERT(slots_.is_live(slot));
    PURVIEW_ASSERT(motions_.is_extrapolated(slot) == slots_.is_extrapolated(slot));
    if (is_restricted) audience_.set_restricted(slot);
    if (extrapolated_fields == 0 || motions_.is_extrapolated(slot)) return;  // resumed
    slots_.set_extrapolated(slot);
    motions_.begin(slot, extrapolated_fields);
}

void GhostTable::touch_references(LocalId slot, Tick now) {
    marks_.mark_reference(slot, now);
    sends_.want(slot, now);
}

void GhostTable::touch_link(LocalId slot, Tick now) {
    marks_.mark_link(slot, now);
    sends_.want(slot, now);
}

void GhostTable::request(LocalId slot, Tick now) {
    if (!slots_.is_live(slot)) return;
    marks_.mark_requested(slot, now);
    sends_.want(slot, now);
}

void GhostTable::send_individually(EntityId entity, Tick now) {
    if (const LocalId slot = slots_.find(entity); slot != no_local_id) sends_.want(slot, now);
}

void GhostTable::set_remainder(LocalId slot, std::size_t next) {
    PURVIEW_ASSERT(slots_.is_live(slot));
    marks_.set_special(slot);
    staged_.set_remainder(slot, next);
}

// -- ticks ----------------------------------------------------------------------------------------

void GhostTable::begin_tick(Tick now) noexcept {
    if (sends_.tick() == now) return;
    give_up_sections();
    sends_.begin_tick(now);
}

void GhostTable::give_up_sections() noexcept {
    for (std::size_t w = 0; w < sectioned_.size(); ++w)
        sends_.add_changed(w, sectioned_[w] & slots_.of(w).live & ~sends_.of(w).pending);
    sectioned_.clear();
}

void GhostTable::prefetch_gather() const noexcept {
    for (const SlotBlock& block : blocks_) {
        const auto* const first = reinterpret_cast<const char*>(&block);
        for (std::size_t at = 0; at < offsetof(SlotBlock, waiting_since); at += cache_line_bytes)
            prefetch_line(first + at);
    }
}

// -- packets --------------------------------------------------------------------------------------

PacketRecord& GhostTable::begin_packet(std::uint32_t sequence, Tick tick) {
    PacketRecord& record = records_.begin(sequence, tick, slots_.words());
    if (reports_.are_kept())
        records_.keep_live(record, [&](std::size_t word) { return slots_.of(word).live; });
    return record;
}

void GhostTable::sent(PacketRecord& record, LocalId slot, SentAs as,
                      std::span<const Motion> motions) {
    PURVIEW_ASSERT(slots_.is_live(slot) == (as == SentAs::enter || as == SentAs::update));
    PURVIEW_ASSERT(as != SentAs::enter || slots_.needs_enter(slot));
    PURVIEW_ASSERT(as != SentAs::keep || retained_.is_retained(slot));
    if (as == SentAs::update && motions.empty())
        return sent_updates(record, slot_word(slot), slot_bit(slot));
    records_.add(record, {slot, as, !motions.empty()});
    if (!motions.empty()) motions_.sent(slot, record.tick, motions);
    const bool is_plain = as == SentAs::enter && motions.empty() &&
                          !sends_.has_older_baseline(slot) && !marks_.is_special(slot) &&
                          !rates_.has_policy(slot);
    // The tick identifies the packet. For leaves, the packets are counted instead.
    PURVIEW_ASSERT(is_plain || sends_.sent_tick(slot) != record.tick || as == SentAs::leave);
    sends_.item_sent(slot, record.tick, !is_plain);
    switch (as) {
        case SentAs::enter:
            slots_.enter_sent(slot, record.tick);
            sends_.enter_sent(slot, record.tick);
            break;
        case SentAs::update:
            break;
        case SentAs::leave:
            return slots_.leave_sent(slot);
        case SentAs::keep:
            return slots_.retain_sent(slot);
    }
    block_if_remainder(slot, record.tick);
}

/// If the slot has a remainder, blocks it until this part has arrived.
void GhostTable::block_if_remainder(LocalId slot, Tick now) noexcept {
    if (!marks_.is_special(slot) || !staged_.has_remainder(slot)) return;
    staged_.advance(slot);
    sends_.block(slot);
    sends_.want(slot, now);
}

void GhostTable::sent_updates(PacketRecord& record, std::size_t word, std::uint64_t slots) {
    const SlotBlock& of = blocks_[word];
    PURVIEW_ASSERT((slots & ~of.life.live) == 0);
    records_.add_updates(record, word, slots);
    const std::uint64_t stored =
        slots & (of.send.has_older_baseline | of.marks.special | of.rates.has_policy);
    for_each_bit(stored, word * bits_per_word, [&](std::size_t s) {
        const auto slot = static_cast<LocalId>(s);
        PURVIEW_ASSERT(sends_.sent_tick(slot) != record.tick);
        sends_.item_sent(slot, record.tick, true);
        block_if_remainder(slot, record.tick);
    });
    sends_.updates_sent(word, slots & ~stored);
}

void GhostTable::sent_sections(PacketRecord& record) {
    PURVIEW_ASSERT(sectioned_.size() <= record.words);
    records_.add_sections(
        record, [&](std::size_t word) { return word < sectioned_.size() ? sectioned_[word] : 0; });
    sectioned_.clear();
}

// -- delivery status ------------------------------------------------------------------------------

void GhostTable::resolve(std::uint32_t sequence, bool was_delivered) {
    if (records_.empty()) return;
    const PacketRecord record = records_.oldest();
    if (record.sequence != sequence) return;
    records_.begin_resolution();
    was_delivered ? delivered(record) : lost(record);
    records_.drop_oldest();
}

void GhostTable::delivered(const PacketRecord& record) {
    records_.for_each_item(record, [&](SentItem item) {
        slots_.prefetch_slot(item.slot);
        slots_.prefetch_index(item.slot);
    });
    records_.for_each_item(record, [&](SentItem item) {
        if (item.as == SentAs::leave) slots_.prefetch_release(item.slot);
    });
    records_.for_each_item(record, [&](SentItem item) { delivered_item(record, item); });
    const bool is_exact = slots_.words() <= bits_per_word;  // one bit of a hint is one word
    for (std::size_t w = 0; w < record.words; ++w) {
        // A delivery changes nothing in a word without stored times and special slots.
        if (!sends_.may_have_older(w) && !marks_.may_have_special(w)) continue;
        const std::uint64_t stored = blocks_[w].send.has_older_baseline | blocks_[w].marks.special;
        for_each_bit(
            records_.updated(record, w) & stored, w * bits_per_word,
            [&](std::size_t slot) { delivered_update(record, static_cast<LocalId>(slot)); });
        if (!is_exact) continue;
        sends_.update_word(w);
        marks_.update_word(w);
    }
    if (record.has_live) reports_.update(slots_, records_, record);
}

void GhostTable::delivered_item(const PacketRecord& record, SentItem item) {
    const LocalId slot = item.slot;
    PURVIEW_ASSERT(slots_.is_used(slot));  // until the last delivery status of its ghost
    if (item.has_motions) {
        const bool counts = item.as == SentAs::enter || slots_.is_held(slot);
        motions_.delivered(slot, record.tick, counts);
    }
    switch (item.as) {
        case SentAs::enter:
            PURVIEW_ASSERT(slots_.entered_tick(slot) >= record.tick);
            slots_.enter_delivered(slot);
            cover(slot, record.tick);
            if (sends_.has_older_baseline(slot)) sends_.delivered(slot, record.tick);
            break;
        case SentAs::update:
            delivered_update(record, slot);
            break;
        case SentAs::leave:
            if (slots_.leave_delivered(slot)) release(slot);
            break;
        case SentAs::keep:
            slots_.retain_delivered(slot);
            break;
    }
}

void GhostTable::delivered_update(const PacketRecord& record, LocalId slot) noexcept {
    // The observer ignored an update if its enter was lost.
    if (!PURVIEW_GUARD(baseline_of_held, slots_.is_held(slot))) {
        if (sends_.sent_tick(slot) == record.tick) sends_.unblock(slot);
        return;
    }
    slots_.update_delivered(slot);
    cover(slot, record.tick);
    if (sends_.has_older_baseline(slot)) sends_.delivered(slot, record.tick);
}

/// Updates the marks of a slot after the oldest packet was delivered. The slot is no longer special
/// once all its marks are covered. For gained components, the baseline is the tick before the
/// packet's while other packets of that tick are in flight: later updates must not reveal when a
/// component that the observer gained in this tick was written.
void GhostTable::cover(LocalId slot, Tick delivered) noexcept {
    if (!marks_.is_special(slot)) return;
    if (retained_.has_copies() && slots_.is_live(slot) &&
        marks_.last_resumed_tick(slot) <= delivered)
        retained_.drop_copy(slot);
    // A slot with a remainder is individual and stays special: a part of it has not been sent yet.
    const bool is_whole = PURVIEW_GUARD_OR(gained_before, records_.oldest_ends_tick(), true);
    if (!audience_.is_individual(slot) && marks_.is_covered_by(slot, delivered) &&
        audience_.is_covered_by(slot, is_whole ? delivered : delivered - 1))
        marks_.reset_special(slot);
}

/// Stores an older baseline for the slots of all these packets in one search through the packets in
/// flight. One datagram of a client may report hundreds of packets with different slots as lost.
void GhostTable::expect_lost(std::span<const std::uint32_t> sequences) {
    if (sequences.empty()) return;
    auto next = sequences.begin();
    records_.for_each([&](const PacketRecord& record) {
        next = std::find_if(next, sequences.end(),
                            [&](std::uint32_t lost) { return lost >= record.sequence; });
        if (next == sequences.end()) return false;
        if (*next == record.sequence) list_lost(record);
        return true;
    });
    for (std::size_t w = 0; w < lost_.size(); ++w) {
        const std::uint64_t slots = std::exchange(lost_[w], 0);
        if ((slots & sends_.of(w).changed_this_tick) != 0) (void)sends_.store_waits(w);
        sends_.store_times(w, slots & ~sends_.of(w).has_older_baseline);
    }
}

void GhostTable::list_lost(const PacketRecord& record) {
    lost_.resize(slots_.words());
    records_.for_each_item(record, [&](SentItem item) {
        if (item.as != SentAs::update || !slots_.is_live(item.slot)) return;
        lost_[slot_word(item.slot)] |= slot_bit(item.slot);
    });
    for (std::size_t w = 0; w < record.words; ++w)
        lost_[w] |= updates_lost(records_, slots_, record, w);
}

void GhostTable::lost(const PacketRecord& record) {
    expect_lost({&record.sequence, 1});
    records_.for_each_item(record, [&](SentItem item) { lost_item(record, item); });
    for (std::size_t w = 0; w < record.words; ++w) {
        for_each_bit(updates_lost(records_, slots_, record, w), w * bits_per_word,
                     [&](std::size_t s) {
                         const auto slot = static_cast<LocalId>(s);
                         // Otherwise a later packet repeated everything that this one had.
                         if (sends_.sent_tick(slot) == record.tick)
                             sends_.want_again(slot, record.tick);
                     });
    }
}

void GhostTable::lost_item(const PacketRecord& record, SentItem item) {
    const LocalId slot = item.slot;
    PURVIEW_ASSERT(slots_.is_used(slot));
    const bool is_live = slots_.is_live(slot);
    const bool is_last = sends_.sent_tick(slot) == record.tick;
    if (item.has_motions) motions_.lost(slot, is_last);
    switch (item.as) {
        case SentAs::enter:
            if (!PURVIEW_GUARD(relevance_of_lost, is_live)) break;
            slots_.enter_lost(slot);
            sends_.want_again(slot, record.tick);
            break;
        case SentAs::update:
            // Later packets repeated all of it, but may be lost, too.
            if (is_live) (void)sends_.store_unacked(slot, record.tick);
            if (sends_.sent_tick(slot) == record.tick && PURVIEW_GUARD(relevance_of_items, is_live))
                sends_.want_again(slot, record.tick);
            break;
        case SentAs::leave:
            if (slots_.leave_lost(slot)) release(slot);
            break;
        case SentAs::keep:
            if (is_last && retained_.is_retained(slot)) slots_.retain_lost(slot);
            break;
    }
}

std::size_t GhostTable::memory_bytes() const noexcept {
    return slots_.memory_bytes() + audience_.memory_bytes() + rates_.memory_bytes() +
           staged_.memory_bytes() + retained_.memory_bytes() + records_.memory_bytes() +
           motions_.memory_bytes() + lost_.size() * sizeof(std::uint64_t);
}

}  // namespace purview
