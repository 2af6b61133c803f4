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
    for (Words* words : {&used_, &live_, &held_, &pending_, &needs_enter_, &needs_leave_,
                         &ever_sent_, &restricted_, &lingering_, &away_}) {
        words->push_back(0);
    }
    const std::size_t lanes = used_.size() * bits_per_word;
    entity_.resize(lanes, EntityId::none);
    index_.resize(lanes, 0);
    kind_.resize(lanes);
    owned_.resize(lanes, 0);
    leave_reason_.resize(lanes, Reason::left);
    keeping_.resize(lanes);
    baseline_.resize(lanes, 0);
    meta_tick_.resize(lanes, 0);
    reference_tick_.resize(lanes, 0);
    resumed_tick_.resize(lanes, 0);
    gained_tick_.resize(lanes, 0);
    pace_.resize(lanes);
    sent_tick_.resize(lanes, 0);
    told_.resize(lanes, 0);
    gained_.resize(lanes, 0);
    waiting_since_.resize(lanes, 0);
    last_sequence_.resize(lanes, 0);
    const auto lane = static_cast<LocalId>(lanes - bits_per_word);
    set(used_, lane);
    return lane;
}

void GhostTable::free_lane(LocalId lane) noexcept {
    PURVIEW_ASSERT(!test(live_, lane));
    for (Words* words : {&used_, &held_, &pending_, &needs_enter_, &needs_leave_, &ever_sent_,
                         &restricted_, &lingering_, &away_}) {
        reset(*words, lane);
    }
    entity_[lane] = EntityId::none;
}

/// From now on the lane waits to be sent.
void GhostTable::want(LocalId lane, Tick now) noexcept {
    if (!test(pending_, lane)) waiting_since_[lane] = now;
    set(pending_, lane);
}

LocalId GhostTable::enter(EntityId entity, KindId kind, bool owned, Tick now) {
    PURVIEW_ASSERT(find(entity) == no_local_id);
    if (const LocalId kept = find_lingering(entity); kept != no_local_id) {
        // It goes on with what the observer has; parent, owner and references are told anew.
        end_lingering(kept);
        if (!test(needs_leave_, kept)) set(away_, kept);  // it was told, or is being told
        reset(needs_leave_, kept);
        resumed_tick_[kept] = now;
        owned_[kept] = owned ? 1 : 0;
        meta_tick_[kept] = reference_tick_[kept] = now;
        pace_[kept] = {};
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
    gained_tick_[lane] = 0;
    told_[lane] = ~std::uint32_t{0};
    gained_[lane] = 0;
    pace_[lane] = {};
    sent_tick_[lane] = 0;
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

void GhostTable::drop_lingering(Tick now) {
    if (lingering_count_ == 0) return;
    for (std::size_t w = 0; w < lingering_.size(); ++w) {
        for_each_bit(lingering_[w], w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            if (keeping_[lane].until > now) return;
            end_lingering(lane);
            leave_reason_[lane] = Reason::left;
            set(needs_leave_, lane);
        });
    }
}

void GhostTable::leave(EntityId entity, Reason reason, Keeping keeping) {
    const LocalId lane = find(entity);
    PURVIEW_ASSERT(lane != no_local_id);
    if (lane == no_local_id) return;
    lane_of_.erase(index_of(entity));
    reset(live_, lane);
    reset(pending_, lane);
    reset(needs_enter_, lane);
    --live_count_;
    leave_reason_[lane] = reason;
    if (test(ever_sent_, lane)) {
        set(needs_leave_, lane);
        // Only what the observer has for certain can be gone on with.
        const bool is_kept = keeping.policy != LeavePolicy::despawn && test(held_, lane) &&
                             lingering_count_ < lingering_max;
        if (!is_kept) return;
        set(lingering_, lane);
        keeping_[lane] = keeping;
        lingering_of_[index_of(entity)] = lane;
        ++lingering_count_;
    } else {
        free_lane(lane);  // the observer never heard of it, and never will
    }
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
    if (records_end_ - records_begin_ == records_.size()) {
        // The ring is full: straighten it, then let it grow. The link bounds packets under way.
        std::rotate(records_.begin(),
                    records_.begin() + static_cast<std::ptrdiff_t>(
                                           records_.empty() ? 0 : records_begin_ % records_.size()),
                    records_.end());
        records_end_ -= records_begin_;
        records_begin_ = 0;
        records_.resize(std::max<std::size_t>(8, records_.size() * 2));
    }
    PacketRecord& record = records_[records_end_++ % records_.size()];
    record.sequence = sequence;
    record.tick = tick;
    record.items.clear();
    record.live.assign(live_.begin(), live_.end());
    return record;
}

void GhostTable::sent(PacketRecord& record, LocalId lane, SentAs as) {
    record.items.push_back({lane, as});
    last_sequence_[lane] = record.sequence;
    sent_tick_[lane] = record.tick;
    reset(pending_, lane);
    if (as == SentAs::enter) {
        reset(needs_enter_, lane);
        set(ever_sent_, lane);
        baseline_[lane] = record.tick;
    } else if (as != SentAs::update) {
        reset(needs_leave_, lane);
    }
}

void GhostTable::delivered(const PacketRecord& record) {
    for (const SentItem item : record.items) {
        switch (item.as) {
            case SentAs::enter:
                set(held_, item.lane);
                break;
            case SentAs::update:
                // An update whose enter was lost has been ignored by the observer.
                if (test(held_, item.lane)) {
                    if (record.tick >= resumed_tick_[item.lane]) reset(away_, item.lane);
                    baseline_[item.lane] = std::max(baseline_[item.lane], record.tick);
                }
                break;
            case SentAs::leave:
                free_lane(item.lane);
                break;
            case SentAs::keep:
                set(away_, item.lane);
                break;
        }
    }
    held_report_ = {record.sequence, record.tick, 0, 0, 0};
    for (std::size_t w = 0; w < held_.size(); ++w) {
        const std::uint64_t relevant = w < record.live.size() ? record.live[w] : 0;
        const std::uint64_t shown = held_[w] & ~away_[w];
        held_report_.relevant += static_cast<std::uint32_t>(std::popcount(relevant));
        held_report_.backlog += static_cast<std::uint32_t>(std::popcount(relevant & ~shown));
        held_report_.unacknowledged_leaves +=
            static_cast<std::uint32_t>(std::popcount(shown & ~relevant));
    }
}

void GhostTable::lost(const PacketRecord& record, Tick now) {
    for (const SentItem item : record.items) {
        if (last_sequence_[item.lane] != record.sequence && item.as != SentAs::enter) {
            continue;  // sent again since, with everything that this packet had
        }
        switch (item.as) {
            case SentAs::enter:
                if (test(live_, item.lane)) {
                    set(needs_enter_, item.lane);
                    want(item.lane, now);
                }
                break;
            case SentAs::update:
                if (test(live_, item.lane)) want(item.lane, now);
                break;
            case SentAs::leave:
                set(needs_leave_, item.lane);
                break;
            case SentAs::keep:
                if (test(lingering_, item.lane)) set(needs_leave_, item.lane);
                break;
        }
    }
}

void GhostTable::resolve(std::uint32_t sequence, bool was_delivered, Tick now) {
    if (records_begin_ == records_end_) return;
    PacketRecord& record = records_[records_begin_ % records_.size()];
    if (record.sequence != sequence) return;
    was_delivered ? delivered(record) : lost(record, now);
    ++records_begin_;
}

std::size_t GhostTable::memory_bytes() const noexcept {
    std::size_t bytes =
        entity_.size() * (sizeof(EntityId) + sizeof(KindId) + 2 + 8 * sizeof(Tick)) +
        used_.size() * 8 * sizeof(std::uint64_t) + lane_of_.memory_bytes();
    for (const PacketRecord& record : records_) {
        bytes += sizeof record + record.items.capacity() * sizeof(SentItem) +
                 record.live.capacity() * sizeof(std::uint64_t);
    }
    return bytes;
}

}  // namespace purview
