// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_state.hpp"

#include <algorithm>

namespace purview {

void SendState::begin_tick(Tick now) noexcept {
    if (tick_ == now) return;
    for (std::size_t w = 0; has_changed_ && w < flags_.size(); ++w) {
        if (flags_[w].changed_this_tick != 0) (void)store_waits(w);
    }
    has_changed_ = false;
    tick_ = now;
}

void SendState::end_tick() noexcept {
    if (!has_changed_) return;
    has_changed_ = false;
    for (std::size_t w = 0; !has_changed_ && w < flags_.size(); ++w)
        has_changed_ = flags_[w].changed_this_tick != 0;
}

/// As long as a slot has no stored times, each of its changes was sent in the tick of the change,
/// and nothing of it was lost. A ghost that the observer has is therefore complete up to the last
/// known delivery status, and any other ghost up to its enter.
void SendState::store_times(std::size_t word, std::uint64_t slots) noexcept {
    if (slots == 0) return;  // skips the search of packets in flight
    const SlotWords& life = slots_.of(word);
    PURVIEW_ASSERT((slots & (flags_[word].has_older_baseline | ~life.used)) == 0);
    auto& times = times_[word];
    const Tick known = resolved_tick();
    for_each_bit(slots, 0, [&](std::size_t i) {
        const auto slot = static_cast<LocalId>(word * bits_per_word + i);
        times[i].baseline = baseline_of_held(slot, known);
        times[i].unacked_since = 0;
        times[i].pending_since = 0;
    });
    // A client controls how often this happens, so the search stops as early as possible.
    std::uint64_t found = 0;
    records_.for_each_back([&](const PacketRecord& record) {
        ++packets_looked_at_;
        const std::uint64_t updated = records_.updated(record, word) & slots & ~found;
        for_each_bit(updated, 0,
                     [&](std::size_t i) { times[i].sent = std::max(times[i].sent, record.tick); });
        return (found |= updated) != slots;
    });
    std::uint64_t others = found;
    records_.for_each([&](const PacketRecord& record) {
        ++packets_looked_at_;
        const std::uint64_t updated = records_.updated(record, word) & others;
        for_each_bit(updated, 0, [&](std::size_t i) { times[i].unacked_since = record.tick; });
        return (others &= ~updated) != 0;
    });
    for_each_bit(slots & ~life.held, 0, [&](std::size_t i) {  // the enter is in flight or pending
        times[i].baseline = slots_.entered_tick(static_cast<LocalId>(word * bits_per_word + i));
        times[i].sent = std::max(times[i].sent, times[i].baseline);
    });
    flags_[word].has_older_baseline |= slots;
    words_with_older_ |= slot_bit(static_cast<LocalId>(word));
}

std::span<const Tick, bits_per_word> SendState::store_waits(std::size_t word) noexcept {
    SendWords& of = flags_[word];
    PURVIEW_ASSERT((of.changed_this_tick & ~of.pending) == 0);
    store_times(word, of.changed_this_tick & ~of.has_older_baseline);
    for_each_bit(of.changed_this_tick, 0, [&](std::size_t i) {
        SlotTimes& its = times_[word][i];
        waiting_since_[word][i] = its.pending_since = tick_;
        if (its.unacked_since == 0) its.unacked_since = tick_;
    });
    of.changed_this_tick = 0;
    return waiting_since_[word];
}

void SendState::want(LocalId slot, Tick now) noexcept {
    PURVIEW_ASSERT(slots_.is_live(slot));
    if (is_changed_this_tick(slot) && now == tick_) return;  // already pending
    SlotTimes& its = store(slot);
    if (!is_pending(slot)) waiting_since_.at(slot) = its.pending_since = now;
    if (its.unacked_since == 0) its.unacked_since = now;
    flags_.set(&SendWords::pending, slot);
}

void SendState::want_again(LocalId slot, Tick packet_tick) noexcept {
    PURVIEW_ASSERT(slots_.is_live(slot));
    const SlotTimes& its = store_unacked(slot, packet_tick);
    if (its.sent == packet_tick) unblock(slot);
    waiting_since_.at(slot) = its.unacked_since;
    if (!is_pending(slot)) times_.at(slot).pending_since = tick_;
    flags_.set(&SendWords::pending, slot);
}

void SendState::delivered(LocalId slot, Tick packet_tick) noexcept {
    PURVIEW_ASSERT(has_older_baseline(slot));
    SlotTimes& its = times_.at(slot);
    its.baseline = std::max(its.baseline, packet_tick);
    const bool is_last = its.sent == packet_tick;
    if (is_last) unblock(slot);
    its.unacked_since = !is_last ? packet_tick + 1 : is_pending(slot) ? waiting_since(slot) : 0;
    const bool waits = is_pending(slot) && !is_changed_this_tick(slot);
    const bool is_in_time = is_last || its.pending_since <= packet_tick;
    if (slots_.is_live(slot) && !waits && is_in_time)
        flags_.reset(&SendWords::has_older_baseline, slot);
}

std::uint64_t SendState::newly_relevant(std::size_t word) const noexcept {
    const SlotWords& life = slots_.of(word);
    const std::uint64_t changed = flags_[word].changed_this_tick;
    std::uint64_t found = life.needs_enter & changed;
    for_each_bit(life.needs_enter & ~changed, 0,
                 [&](std::size_t i) {  // their waiting times are stored
                     found |= std::uint64_t{waiting_since_[word][i] == tick_} << i;
                 });
    if (marks_.newest_resumed_tick() != tick_) return found;
    for_each_bit(life.live & marks_.special()[word] & ~life.needs_enter, 0, [&](std::size_t i) {
        const auto slot = static_cast<LocalId>(word * bits_per_word + i);
        found |= std::uint64_t{marks_.last_resumed_tick(slot) == tick_} << i;
    });
    return found;
}

bool SendState::is_sound() const noexcept {
    for (std::size_t w = 0; w < flags_.size(); ++w) {
        const SendWords& of = flags_[w];
        if ((of.pending & ~slots_.of(w).live) != 0) return false;
        if ((of.changed_this_tick & ~of.pending) != 0) return false;
        if (of.has_older_baseline != 0 && !may_have_older(w)) return false;
    }
    return true;
}

}  // namespace purview
