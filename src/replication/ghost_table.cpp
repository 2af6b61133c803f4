// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_table.hpp"

#include <algorithm>
#include <bit>

namespace purview {

namespace {

/// From here on room to spare costs more than a list that has to grow.
constexpr std::size_t many_lanes = 512;

}  // namespace

LocalId GhostTable::take_lane() {
    for (std::size_t w = 0; w < blocks_.size(); ++w) {
        if (blocks_[w].of.used == ~std::uint64_t{0}) continue;
        const auto lane = static_cast<LocalId>(w * bits_per_word) +
                          static_cast<LocalId>(std::countr_one(blocks_[w].of.used));
        set(&LaneWords::used, lane);
        return lane;
    }
    // One block more; room is made for many, because what an observer sees fluctuates.
    const std::size_t lanes = lane_end() + bits_per_word;
    if (blocks_.size() == blocks_.capacity()) {
        const std::size_t room = lanes * (lanes < many_lanes ? 4 : 2);
        blocks_.reserve(room / bits_per_word);
        pace_.reserve(room);
        special_.reserve(room);
        lane_of_.reserve(room);
    }
    blocks_.emplace_back();
    pace_.resize(lanes);
    special_.resize(lanes);
    const auto lane = static_cast<LocalId>(lanes - bits_per_word);
    set(&LaneWords::used, lane);
    return lane;
}

void GhostTable::free_lane(LocalId lane) noexcept {
    PURVIEW_ASSERT(!is_live(lane));
    motions_.end(lane);
    for (const Mask mask :
         {&LaneWords::used, &LaneWords::held, &LaneWords::pending, &LaneWords::needs_enter,
          &LaneWords::needs_leave, &LaneWords::ever_sent, &LaneWords::restricted,
          &LaneWords::public_only, &LaneWords::awaited, &LaneWords::away, &LaneWords::shared,
          &LaneWords::fresh, &LaneWords::special, &LaneWords::paced, &LaneWords::extrapolated}) {
        reset(mask, lane);
    }
    special_[lane].entity = EntityId::none;
}

/// Shared sections have told of a lane, and from now on it is told on its own: since when? While it
/// did not wait, whatever it had to tell was in packets; those up to settled_ have arrived, or what
/// they had would wait. Unless one that told of it alone is younger: that one will say.
void GhostTable::anchor(LocalId lane) noexcept {
    if (!test(&LaneWords::shared, lane)) return;
    reset(&LaneWords::shared, lane);
    LaneTimes& times = times_of(lane);
    const bool is_certain = is_held(lane) && !is_away(lane) && times.sent <= settled_ &&
                            special(lane).resumed <= settled_;
    if (PURVIEW_GUARD(section_baseline, is_certain))
        times.baseline = std::max(times.baseline, settled_);
}

void GhostTable::sent_sections(PacketRecord& record,
                               std::span<const std::uint64_t> covered) noexcept {
    record.has_sections = true;
    for (std::size_t w = 0; w < covered.size(); ++w)
        blocks_[w].of.shared |= covered[w] & blocks_[w].of.live;
}

/// From now on the lane waits to be sent.
void GhostTable::want(LocalId lane, Tick now) noexcept {
    if (!is_pending(lane)) anchor(lane);
    LaneTimes& times = times_of(lane);
    Tick& waiting = waiting_of(lane);
    if (!is_pending(lane)) waiting = times.pending_since = now;
    if (times.unheard_since == 0) times.unheard_since = now;
    set(&LaneWords::pending, lane);
}

/// What it was sent is lost: it waits as long as if it had never been sent.
void GhostTable::want_again(LocalId lane, const PacketRecord& record) noexcept {
    LaneTimes& times = times_of(lane);
    if (times.sent == record.tick) reset(&LaneWords::awaited, lane);
    if (!is_pending(lane)) anchor(lane);
    Tick& waiting = waiting_of(lane);
    if (times.unheard_since == 0) times.unheard_since = record.tick;
    waiting = times.unheard_since;
    if (!is_pending(lane)) times.pending_since = tick_;
    set(&LaneWords::pending, lane);
}

/// He has the state as of this packet; what changed later is under way, or waits.
void GhostTable::heard(LocalId lane, const PacketRecord& record) noexcept {
    LaneTimes& times = times_of(lane);
    if (times.sent != record.tick) {
        times.unheard_since = record.tick + 1;
        return;
    }
    reset(&LaneWords::awaited, lane);
    times.unheard_since = is_pending(lane) ? waiting_since(lane) : 0;
}

/// The baseline is younger: once nothing special lasts, it is not looked at any more.
void GhostTable::cover(LocalId lane) noexcept {
    if (!is_special(lane)) return;
    const LaneSpecial& its = special_[lane];
    // Also where more is owed: of that, something is not told yet.
    const bool lasts = its.told != nothing_special.told && !test(&LaneWords::public_only, lane);
    if (!lasts && its.is_covered_by(baseline(lane))) reset(&LaneWords::special, lane);
}

LocalId GhostTable::enter(EntityId entity, KindId kind, bool owned, Tick now) {
    PURVIEW_ASSERT(find(entity) == no_local_id);
    ++revision_;
    if (const LocalId kept = find_lingering(entity); kept != no_local_id) {
        // It goes on with what the observer has; parent, owner and references are told anew.
        end_lingering(kept);
        if (!test(&LaneWords::needs_leave, kept))
            set(&LaneWords::away, kept);  // it was told, or is being told
        reset(&LaneWords::needs_leave, kept);
        LaneSpecial& its = special_now(kept);
        its.resumed = its.meta = its.reference = now;
        its.owned = owned;
        its.owed = false;
        reset(&LaneWords::paced, kept);
        times_of(kept).unheard_since = 0;
        reset(&LaneWords::awaited, kept);
        if (has_weights_) set_weight(kept, 1);
        set(&LaneWords::live, kept);
        want(kept, now);
        ++live_count_;
        lane_of_[index_of(entity)] = kept;
        return kept;
    }
    const LocalId lane = take_lane();
    LaneBlock& block = blocks_[lane / bits_per_word];
    block.index[lane % bits_per_word] = index_of(entity);
    block.kind[lane % bits_per_word] = kind;
    if (has_weights_) set_weight(lane, 1);
    times_of(lane) = {};
    special_[lane] = nothing_special;  // copied: one that is made by parts is waited for
    special_[lane].entity = entity;
    special_[lane].owned = owned;
    set(&LaneWords::live, lane);
    set(&LaneWords::needs_enter, lane);
    want(lane, now);
    ++live_count_;
    lane_of_[index_of(entity)] = lane;
    return lane;
}

LocalId GhostTable::find_lingering(EntityId entity) const noexcept {
    const LocalId* lane = lingering_of_.find(index_of(entity));
    return lane != nullptr && this->entity(*lane) == entity ? *lane : no_local_id;
}

std::uint32_t GhostTable::leaving_count() const noexcept {
    std::uint32_t left = 0;
    for (const LaneBlock& block : blocks_)
        left += static_cast<std::uint32_t>(std::popcount(block.of.used & ~block.of.live));
    return left - lingering_count_;
}

void GhostTable::end_lingering(LocalId lane) noexcept {
    special_[lane].keeping = {};
    --lingering_count_;
    const LocalId* newest = lingering_of_.find(entity_index(lane));
    if (newest != nullptr && *newest == lane) lingering_of_.erase(entity_index(lane));
}

bool GhostTable::leave(LocalId lane, Reason reason, Keeping keeping) {
    PURVIEW_ASSERT(lane != no_local_id);
    if (lane == no_local_id) return false;
    ++revision_;
    if (!is_pending(lane)) anchor(lane);
    lane_of_.erase(entity_index(lane));
    reset(&LaneWords::live, lane);
    end_wait(lane, tick_ + 1);
    reset(&LaneWords::needs_enter, lane);
    motions_.stop(lane);
    --live_count_;
    special_[lane].leave_reason = reason;
    if (!PURVIEW_GUARD_OR(local_id, test(&LaneWords::ever_sent, lane), false)) {
        free_lane(lane);  // the observer never heard of it, and never will
        return false;
    }
    set(&LaneWords::needs_leave, lane);
    // Only what the observer has for certain can be gone on with.
    const bool is_kept = keeping.policy != LeavePolicy::despawn &&
                         PURVIEW_GUARD(copy_is_held, is_held(lane)) &&
                         PURVIEW_GUARD(copies_kept, lingering_count_ < lingering_max);
    if (!is_kept) return false;
    special_[lane].keeping = keeping;
    lingering_of_[entity_index(lane)] = lane;
    ++lingering_count_;
    lingering_until_ = std::min(lingering_until_, keeping.until);
    return true;
}

void GhostTable::set_owned(EntityId entity, bool owned, Tick now) {
    const LocalId lane = find(entity);
    if (lane == no_local_id || this->owned(lane) == owned) return;
    LaneSpecial& its = special_now(lane);
    its.owned = owned;
    its.meta = now;
    if (!owned) its.disowned = now;
    want(lane, now);
}

void GhostTable::set_told(LocalId lane, std::uint32_t told, std::uint32_t public_parts, Tick now) {
    if (this->told(lane) == told) return;
    const std::uint32_t gained_before = gained(lane);
    LaneSpecial& its = special_now(lane);
    its.gained = (gained_before | (told & ~its.told)) & told;
    its.gained_tick = now;
    its.told = told;
    its.meta = now;
    const bool public_only = told == public_parts && told != nothing_special.told;
    public_only ? set(&LaneWords::public_only, lane) : reset(&LaneWords::public_only, lane);
    want(lane, now);
}

void GhostTable::set_extrapolated(LocalId lane, unsigned fields) {
    if (motions_.is_extrapolated(lane)) return;  // its copy was kept
    set(&LaneWords::extrapolated, lane);
    motions_.begin(lane, fields);
}

void GhostTable::touch_references(EntityId entity, Tick now) {
    const LocalId lane = find(entity);
    if (lane == no_local_id) return;
    special_now(lane).reference = now;
    want(lane, now);
}

PacketRecord& GhostTable::begin_record(std::uint32_t sequence, Tick tick) {
    records_.push({sequence, tick, 0, static_cast<std::uint32_t>(blocks_.size()), false,
                   sent_items_.end(), live_words_.end()});
    for (const LaneBlock& block : blocks_) live_words_.push(block.of.live);
    return records_[records_.end() - 1];
}

void GhostTable::delivered(const PacketRecord& record) {
    for_each_sent(record, [&](SentItem item) { prefetch_line(&times_of(item.lane)); });
    for_each_sent(record, [&](SentItem item) {
        const LocalId lane = item.lane;
        if (item.has_motions) {
            const bool counts = item.as == SentAs::enter || is_held(lane);
            motions_.delivered(lane, record.tick, counts);
        }
        switch (item.as) {
            case SentAs::enter:
                set(&LaneWords::held, lane);
                cover(lane);
                heard(lane, record);
                break;
            case SentAs::update:
                // An update whose enter was lost has been ignored by the observer.
                if (!PURVIEW_GUARD(baseline_of_held, is_held(lane))) {
                    if (sent_tick(lane) == record.tick) reset(&LaneWords::awaited, lane);
                    break;
                }
                if (record.tick >= special(lane).resumed) reset(&LaneWords::away, lane);
                times_of(lane).baseline = std::max(times_of(lane).baseline, record.tick);
                cover(lane);
                heard(lane, record);
                break;
            case SentAs::leave:
                free_lane(lane);
                break;
            case SentAs::keep:
                set(&LaneWords::away, lane);
                break;
        }
    });
    held_report_ = {record.sequence, record.tick, 0, 0, 0};
    for (std::size_t w = 0; w < blocks_.size(); ++w) {
        const std::uint64_t relevant =
            w < record.live_words ? live_words_[record.first_live + w] : 0;
        const std::uint64_t shown = blocks_[w].of.held & ~blocks_[w].of.away;
        held_report_.relevant += static_cast<std::uint32_t>(std::popcount(relevant));
        held_report_.backlog += static_cast<std::uint32_t>(std::popcount(relevant & ~shown));
        held_report_.unacknowledged_leaves +=
            static_cast<std::uint32_t>(std::popcount(shown & ~relevant));
    }
}

void GhostTable::lost(const PacketRecord& record) {
    for_each_sent(record, [&](SentItem item) {
        const LocalId lane = item.lane;
        if (item.has_motions) motions_.lost(lane, sent_tick(lane) == record.tick);
        // Sent again since, with everything that this packet had?
        if (sent_tick(lane) != record.tick && item.as != SentAs::enter) return;
        switch (item.as) {
            case SentAs::enter:
                if (!PURVIEW_GUARD(relevance_of_lost, is_live(lane))) break;
                set(&LaneWords::needs_enter, lane);
                want_again(lane, record);
                break;
            case SentAs::update:
                if (PURVIEW_GUARD(relevance_of_updates, is_live(lane))) want_again(lane, record);
                break;
            case SentAs::leave:
                set(&LaneWords::needs_leave, lane);
                break;
            case SentAs::keep:
                if (is_kept(lane)) set(&LaneWords::needs_leave, lane);
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
    const std::size_t bytes = blocks_.size() * sizeof(LaneBlock) +
                              lane_end() * (sizeof(Pace) + sizeof(LaneSpecial)) +
                              lane_of_.memory_bytes();
    return bytes + records_.memory_bytes() + sent_items_.memory_bytes() +
           live_words_.memory_bytes() + motions_.memory_bytes();
}

}  // namespace purview
