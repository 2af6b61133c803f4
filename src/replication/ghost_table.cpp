// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_table.hpp"

#include <algorithm>
#include <bit>

namespace purview {

LocalId GhostTable::take_lane() {
    for (std::size_t w = 0; w < used_.size(); ++w) {
        if (used_[w] == ~std::uint64_t{0}) continue;
        const auto lane = static_cast<LocalId>(w * bits_per_word) +
                          static_cast<LocalId>(std::countr_one(used_[w]));
        set(used_, lane);
        return lane;
    }
    // One word more; room is made for many, because what an observer sees fluctuates.
    const std::size_t lanes = (used_.size() + 1) * bits_per_word;
    const std::size_t room = lanes <= entity_.capacity() ? 0 : lanes * 4;
    const auto grow = [&](auto& column, const auto& value) {
        if (room != 0) column.reserve(room);
        column.resize(lanes, value);
    };
    for (Words* words :
         {&used_, &live_, &held_, &pending_, &needs_enter_, &needs_leave_, &ever_sent_,
          &restricted_, &owed_, &awaited_, &lingering_, &away_, &shared_}) {
        if (room != 0) words->reserve(room / bits_per_word);
        words->push_back(0);
    }
    if (room != 0) lane_of_.reserve(room);
    grow(entity_, EntityId::none);
    grow(kind_, KindId{});
    grow(owned_, std::uint8_t{0});
    grow(leave_reason_, Reason::left);
    grow(keeping_, Keeping{});
    grow(pace_, Pace{});
    for (std::vector<std::uint32_t>* column :
         {&index_, &baseline_, &meta_tick_, &reference_tick_, &resumed_tick_, &requested_tick_,
          &gained_tick_, &sent_tick_, &told_, &gained_, &waiting_since_, &pending_since_,
          &unheard_since_, &last_sequence_}) {
        grow(*column, 0U);
    }
    const auto lane = static_cast<LocalId>(lanes - bits_per_word);
    set(used_, lane);
    return lane;
}

void GhostTable::free_lane(LocalId lane) noexcept {
    PURVIEW_ASSERT(!test(live_, lane));
    if (motions_.is_extrapolated(lane)) {
        motions_.end(lane);
        reset(extrapolated_, lane);
    }
    for (Words* words : {&used_, &held_, &pending_, &needs_enter_, &needs_leave_, &ever_sent_,
                         &restricted_, &owed_, &awaited_, &lingering_, &away_, &shared_}) {
        reset(*words, lane);
    }
    entity_[lane] = EntityId::none;
}

/// Shared sections have told of a lane, and from now on it is told on its own: since when? While it
/// did not wait, whatever it had to tell was in packets; those up to settled_ have arrived, or what
/// they had would wait. Unless one that told of it alone is younger: that one will say.
void GhostTable::anchor(LocalId lane) noexcept {
    if (!test(shared_, lane)) return;
    reset(shared_, lane);
    const bool is_certain = test(held_, lane) && !test(away_, lane) &&
                            sent_tick_[lane] <= settled_ && resumed_tick_[lane] <= settled_;
    if (PURVIEW_GUARD(section_baseline, is_certain))
        baseline_[lane] = std::max(baseline_[lane], settled_);
}

void GhostTable::sent_sections(PacketRecord& record,
                               std::span<const std::uint64_t> covered) noexcept {
    record.has_sections = true;
    for (std::size_t w = 0; w < covered.size(); ++w) shared_[w] |= covered[w] & live_[w];
}

/// From now on the lane waits to be sent.
void GhostTable::want(LocalId lane, Tick now) noexcept {
    if (!test(pending_, lane)) anchor(lane);
    if (!test(pending_, lane)) waiting_since_[lane] = pending_since_[lane] = now;
    if (unheard_since_[lane] == 0) unheard_since_[lane] = now;
    set(pending_, lane);
}

/// What it was sent is lost: it waits as long as if it had never been sent.
void GhostTable::want_again(LocalId lane, const PacketRecord& record) noexcept {
    if (last_sequence_[lane] == record.sequence) reset(awaited_, lane);
    if (!test(pending_, lane)) anchor(lane);
    if (unheard_since_[lane] == 0) unheard_since_[lane] = record.tick;
    waiting_since_[lane] = unheard_since_[lane];
    if (!test(pending_, lane)) pending_since_[lane] = tick_;
    set(pending_, lane);
}

/// He has the state as of this packet; what changed later is under way, or waits.
void GhostTable::heard(LocalId lane, const PacketRecord& record) noexcept {
    if (last_sequence_[lane] == record.sequence) reset(awaited_, lane);
    if (last_sequence_[lane] != record.sequence) {
        unheard_since_[lane] = record.tick + 1;
    } else {
        unheard_since_[lane] = test(pending_, lane) ? waiting_since_[lane] : 0;
    }
}

LocalId GhostTable::enter(EntityId entity, KindId kind, bool owned, Tick now) {
    PURVIEW_ASSERT(find(entity) == no_local_id);
    ++revision_;
    if (const LocalId kept = find_lingering(entity); kept != no_local_id) {
        // It goes on with what the observer has; parent, owner and references are told anew.
        end_lingering(kept);
        if (!test(needs_leave_, kept)) set(away_, kept);  // it was told, or is being told
        reset(needs_leave_, kept);
        resumed_tick_[kept] = now;
        owned_[kept] = owned ? 1 : 0;
        meta_tick_[kept] = reference_tick_[kept] = now;
        pace_[kept] = {};
        unheard_since_[kept] = 0;
        reset(owed_, kept);
        reset(awaited_, kept);
        set(live_, kept);
        want(kept, now);
        ++live_count_;
        lane_of_[index_of(entity)] = kept;
        return kept;
    }
    const LocalId lane = take_lane();
    entity_[lane] = entity;
    index_[lane] = index_of(entity);
    keeping_[lane] = {};
    kind_[lane] = kind;
    owned_[lane] = owned ? 1 : 0;
    baseline_[lane] = 0;
    meta_tick_[lane] = 0;
    reference_tick_[lane] = 0;
    resumed_tick_[lane] = 0;
    requested_tick_[lane] = 0;
    gained_tick_[lane] = 0;
    told_[lane] = ~std::uint32_t{0};
    gained_[lane] = 0;
    pace_[lane] = {};
    sent_tick_[lane] = 0;
    unheard_since_[lane] = 0;
    set(live_, lane);
    set(needs_enter_, lane);
    want(lane, now);
    ++live_count_;
    lane_of_[index_of(entity)] = lane;
    return lane;
}

LocalId GhostTable::find_lingering(EntityId entity) const noexcept {
    const LocalId* lane = lingering_of_.find(index_of(entity));
    return lane != nullptr && entity_[*lane] == entity ? *lane : no_local_id;
}

void GhostTable::end_lingering(LocalId lane) noexcept {
    reset(lingering_, lane);
    keeping_[lane] = {};
    --lingering_count_;
    const LocalId* newest = lingering_of_.find(index_of(entity_[lane]));
    if (newest != nullptr && *newest == lane) lingering_of_.erase(index_of(entity_[lane]));
}

bool GhostTable::leave(EntityId entity, Reason reason, Keeping keeping) {
    const LocalId lane = find(entity);
    PURVIEW_ASSERT(lane != no_local_id);
    if (lane == no_local_id) return false;
    ++revision_;
    if (!test(pending_, lane)) anchor(lane);
    lane_of_.erase(index_of(entity));
    reset(live_, lane);
    reset(pending_, lane);
    reset(needs_enter_, lane);
    motions_.stop(lane);
    --live_count_;
    leave_reason_[lane] = reason;
    if (!PURVIEW_GUARD_OR(local_id, test(ever_sent_, lane), false)) {
        free_lane(lane);  // the observer never heard of it, and never will
        return false;
    }
    set(needs_leave_, lane);
    // Only what the observer has for certain can be gone on with.
    const bool is_kept = keeping.policy != LeavePolicy::despawn &&
                         PURVIEW_GUARD(copy_is_held, test(held_, lane)) &&
                         PURVIEW_GUARD(copies_kept, lingering_count_ < lingering_max);
    if (!is_kept) return false;
    set(lingering_, lane);
    keeping_[lane] = keeping;
    lingering_of_[index_of(entity)] = lane;
    ++lingering_count_;
    return true;
}

void GhostTable::set_owned(EntityId entity, bool owned, Tick now) {
    const LocalId lane = find(entity);
    if (lane == no_local_id || (owned_[lane] != 0) == owned) return;
    owned_[lane] = owned ? 1 : 0;
    meta_tick_[lane] = now;
    want(lane, now);
}

void GhostTable::set_told(LocalId lane, std::uint32_t told, Tick now) {
    if (told_[lane] == told) return;
    gained_[lane] = (gained(lane) | (told & ~told_[lane])) & told;
    gained_tick_[lane] = now;
    told_[lane] = told;
    meta_tick_[lane] = now;
    want(lane, now);
}

void GhostTable::set_extrapolated(LocalId lane, unsigned fields) {
    if (motions_.is_extrapolated(lane)) return;  // its copy was kept
    if (extrapolated_.size() < used_.size()) extrapolated_.resize(used_.size(), 0);
    set(extrapolated_, lane);
    motions_.begin(lane, fields);
}

void GhostTable::touch_references(EntityId entity, Tick now) {
    const LocalId lane = find(entity);
    if (lane == no_local_id) return;
    reference_tick_[lane] = now;
    want(lane, now);
}

std::uint64_t GhostTable::lanes_in(const Bitset& entities, std::size_t word) const noexcept {
    const std::uint64_t* bits = entities.words().data();
    const std::uint32_t* index = index_.data() + word * bits_per_word;
    std::uint64_t found = 0;
    for (unsigned i = 0; i < bits_per_word; ++i) {  // all of them: asking first costs more
        found |= (bits[index[i] / bits_per_word] >> (index[i] % bits_per_word) & 1U) << i;
    }
    return found;
}

PacketRecord& GhostTable::begin_record(std::uint32_t sequence, Tick tick) {
    records_.push({sequence, tick, 0, static_cast<std::uint32_t>(live_.size()), false,
                   sent_items_.end(), live_words_.end()});
    for (const std::uint64_t word : live_) live_words_.push(word);
    return records_[records_.end() - 1];
}

void GhostTable::sent(PacketRecord& record, LocalId lane, SentAs as,
                      std::span<const Motion> motions) {
    const std::uint32_t has_motions = motions.empty() ? 0 : 1;
    sent_items_.push((lane << 1 | has_motions) << sent_as_bits | static_cast<std::uint32_t>(as));
    if (has_motions != 0) motions_.sent(lane, record.tick, motions);
    ++record.items;
    last_sequence_[lane] = record.sequence;
    sent_tick_[lane] = record.tick;
    reset(pending_, lane);
    if (as == SentAs::enter) {
        reset(needs_enter_, lane);
        set(ever_sent_, lane);
        baseline_[lane] = record.tick;
    } else if (as != SentAs::update) {
        reset(needs_leave_, lane);
        return;
    }
    if (!test(owed_, lane)) return;
    set(awaited_, lane);
    want(lane, record.tick);
}

void GhostTable::delivered(const PacketRecord& record) {
    for_each_sent(record, [&](SentItem item) {
        const LocalId lane = item.lane;
        if (item.has_motions) {
            const bool counts = item.as == SentAs::enter || test(held_, lane);
            motions_.delivered(lane, record.tick, counts);
        }
        switch (item.as) {
            case SentAs::enter:
                set(held_, lane);
                heard(lane, record);
                break;
            case SentAs::update:
                // An update whose enter was lost has been ignored by the observer.
                if (!PURVIEW_GUARD(baseline_of_held, test(held_, lane))) break;
                if (record.tick >= resumed_tick_[lane]) reset(away_, lane);
                baseline_[lane] = std::max(baseline_[lane], record.tick);
                heard(lane, record);
                break;
            case SentAs::leave:
                free_lane(lane);
                break;
            case SentAs::keep:
                set(away_, lane);
                break;
        }
    });
    held_report_ = {record.sequence, record.tick, 0, 0, 0};
    for (std::size_t w = 0; w < held_.size(); ++w) {
        const std::uint64_t relevant =
            w < record.live_words ? live_words_[record.first_live + w] : 0;
        const std::uint64_t shown = held_[w] & ~away_[w];
        held_report_.relevant += static_cast<std::uint32_t>(std::popcount(relevant));
        held_report_.backlog += static_cast<std::uint32_t>(std::popcount(relevant & ~shown));
        held_report_.unacknowledged_leaves +=
            static_cast<std::uint32_t>(std::popcount(shown & ~relevant));
    }
}

void GhostTable::lost(const PacketRecord& record) {
    for_each_sent(record, [&](SentItem item) {
        const LocalId lane = item.lane;
        if (item.has_motions) motions_.lost(lane, last_sequence_[lane] == record.sequence);
        // Sent again since, with everything that this packet had?
        if (last_sequence_[lane] != record.sequence && item.as != SentAs::enter) return;
        switch (item.as) {
            case SentAs::enter:
                if (!PURVIEW_GUARD(relevance_of_lost, test(live_, lane))) break;
                set(needs_enter_, lane);
                want_again(lane, record);
                break;
            case SentAs::update:
                if (PURVIEW_GUARD(relevance_of_updates, test(live_, lane)))
                    want_again(lane, record);
                break;
            case SentAs::leave:
                set(needs_leave_, lane);
                break;
            case SentAs::keep:
                if (test(lingering_, lane)) set(needs_leave_, lane);
                break;
        }
    });
}

void GhostTable::resolve(std::uint32_t sequence, bool was_delivered) {
    if (records_.empty()) return;
    const PacketRecord record = records_[records_.begin()];
    if (record.sequence != sequence) return;
    settled_ = record.tick - 1;  // others of its tick may follow
    was_delivered ? delivered(record) : lost(record);
    sent_items_.drop_before(record.first_item + record.items);
    live_words_.drop_before(record.first_live + record.live_words);
    records_.drop_before(records_.begin() + 1);
    if (!records_.empty()) return;
    records_.clear();
    sent_items_.clear();
    live_words_.clear();
}

std::size_t GhostTable::memory_bytes() const noexcept {
    const std::size_t bytes =
        entity_.size() * (sizeof(EntityId) + sizeof(KindId) + 2 + 8 * sizeof(Tick)) +
        used_.size() * 8 * sizeof(std::uint64_t) + lane_of_.memory_bytes();
    return bytes + records_.memory_bytes() + sent_items_.memory_bytes() +
           live_words_.memory_bytes() + motions_.memory_bytes();
}

}  // namespace purview
