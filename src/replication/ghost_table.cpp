// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_table.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace purview {

namespace {

/// From here on room to spare costs more than a list that has to grow.
constexpr std::size_t many_lanes = 512;

}  // namespace

LocalId GhostTable::take_lane() {
    for (; first_free_ < blocks_.size(); ++first_free_) {
        const std::uint64_t used = blocks_[first_free_].of.used;
        if (used == ~std::uint64_t{0}) continue;
        const auto lane = static_cast<LocalId>(first_free_ * bits_per_word) +
                          static_cast<LocalId>(std::countr_one(used));
        set(&LaneWords::used, lane);
        ++used_count_;
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
    ++used_count_;
    return lane;
}

void GhostTable::free_lane(LocalId lane) noexcept {
    PURVIEW_ASSERT(!is_live(lane));
    PURVIEW_ASSERT(test(&LaneWords::used, lane) && special_[lane].leaves_in_flight == 0);
    PURVIEW_ASSERT(used_count_ > live_count_ + retained_count_);
    motions_.end(lane);
    --used_count_;
    first_free_ = std::min<std::size_t>(first_free_, lane / bits_per_word);
    // Whoever has it next begins with nothing, whatever masks there are.
    using Masks = std::array<std::uint64_t, sizeof(LaneWords) / sizeof(std::uint64_t)>;
    LaneWords& of = blocks_[lane / bits_per_word].of;
    auto masks = std::bit_cast<Masks>(of);
    for (std::uint64_t& mask : masks) mask &= ~(std::uint64_t{1} << (lane % bits_per_word));
    of = std::bit_cast<LaneWords>(masks);
    const LocalId older = end_succession(lane);
    LocalId* newest = lane_of_.find(entity_index(lane));
    if (newest != nullptr && *newest == lane) {
        *newest = older;
        if (older == no_local_id) lane_of_.erase(entity_index(lane));
    }
    special_[lane].entity = EntityId::none;
    if (!copies_.empty()) copies_.erase(lane);
}

// -- slots of one entity --------------------------------------------------------------------------

void GhostTable::supersede(LocalId older, LocalId newer) {
    PURVIEW_ASSERT(!is_live(older) && entity(older) == entity(newer));
    ++superseded_count_;
    Succession& links = succession_[older];
    PURVIEW_ASSERT(links.newer == no_local_id);  // it was the newest
    links.newer = newer;
    succession_[newer].older = older;
}

/// Takes the slot out of the succession of its entity. Returns the slot before it, or no_local_id.
LocalId GhostTable::end_succession(LocalId lane) noexcept {
    const Succession* found = succession_.size() == 0 ? nullptr : succession_.find(lane);
    if (found == nullptr) return no_local_id;
    const Succession its = *found;
    PURVIEW_ASSERT(superseded_count_ > 0);
    --superseded_count_;  // one slot less, and with two left, one link less
    succession_.erase(lane);
    const auto relink = [&](LocalId neighbor, LocalId Succession::*side, LocalId to) {
        if (neighbor == no_local_id) return;
        Succession* links = succession_.find(neighbor);
        PURVIEW_ASSERT(links != nullptr && links->*side == lane);
        links->*side = to;
        if (links->older == no_local_id && links->newer == no_local_id) succession_.erase(neighbor);
    };
    relink(its.older, &Succession::newer, its.newer);
    relink(its.newer, &Succession::older, its.older);
    PURVIEW_ASSERT((superseded_count_ == 0) == (succession_.size() == 0));
    return its.older;
}

// -- what the observer has ------------------------------------------------------------------------

void GhostTable::begin_tick(Tick now) noexcept {
    if (tick_ == now) return;
    give_up_sections();
    for (std::size_t w = 0; has_fresh_ && w < blocks_.size(); ++w) {
        if (blocks_[w].of.fresh != 0) write_waits(w);
    }
    has_fresh_ = false;
    tick_ = now;
}

void GhostTable::end_tick() noexcept {
    if (!has_fresh_) return;
    has_fresh_ = std::any_of(blocks_.begin(), blocks_.end(),
                             [](const LaneBlock& block) { return block.of.fresh != 0; });
}

/// From now on it is written down what the observer has of these lanes, which are not behind. While
/// that was not so, whatever there was to tell was sent in its tick, and what was lost is sent
/// again: of what he holds he has all up to the last known fate, of the rest what its enter says.
void GhostTable::fall_behind(std::size_t word, std::uint64_t lanes) noexcept {
    if (lanes == 0) return;  // of all that is under way nothing is asked
    LaneBlock& block = blocks_[word];
    PURVIEW_ASSERT((lanes & (block.of.behind | ~block.of.used)) == 0);
    const Tick known = resolved_tick();
    for_each_bit(lanes, 0, [&](std::size_t i) {
        const auto lane = static_cast<LocalId>(word * bits_per_word + i);
        block.times[i].baseline = baseline_of_held(lane, known);
        block.times[i].unheard_since = 0;
        block.times[i].pending_since = 0;
    });
    // A client decides how often this happens: no further into what is under way than it takes.
    std::uint64_t found = 0;
    records_.for_each_back([&](const PacketRecord& record) {
        ++packets_looked_at_;
        const std::uint64_t told = records_.updated(record, word) & lanes & ~found;
        for_each_bit(told, 0, [&](std::size_t i) {
            block.times[i].sent = std::max(block.times[i].sent, record.tick);
        });
        return (found |= told) != lanes;
    });
    std::uint64_t rest = found;
    records_.for_each([&](const PacketRecord& record) {
        ++packets_looked_at_;
        const std::uint64_t told = records_.updated(record, word) & rest;
        for_each_bit(told, 0, [&](std::size_t i) { block.times[i].unheard_since = record.tick; });
        return (rest &= ~told) != 0;
    });
    for_each_bit(lanes & ~block.of.held, 0,
                 [&](std::size_t i) {  // its enter is under way, or waits
                     LaneTimes& times = block.times[i];
                     times.baseline = special_[word * bits_per_word + i].entered;
                     times.sent = std::max(times.sent, times.baseline);
                 });
    block.of.behind |= lanes;
    note_exception(word);
}

/// Since when the fresh ones wait.
void GhostTable::write_waits(std::size_t word) noexcept {
    LaneBlock& block = blocks_[word];
    PURVIEW_ASSERT((block.of.fresh & ~block.of.pending) == 0);
    fall_behind(word, block.of.fresh & ~block.of.behind);
    for_each_bit(block.of.fresh, 0, [&](std::size_t i) {
        LaneTimes& times = block.times[i];
        block.waiting_since[i] = times.pending_since = tick_;
        if (times.unheard_since == 0) times.unheard_since = tick_;
    });
    block.of.fresh = 0;
}

/// From now on the lane waits to be sent.
void GhostTable::want(LocalId lane, Tick now) noexcept {
    PURVIEW_ASSERT(is_live(lane));
    if (is_fresh(lane) && now == tick_) return;  // it does
    LaneTimes& times = written(lane);
    if (!is_pending(lane)) waiting_of(lane) = times.pending_since = now;
    if (times.unheard_since == 0) times.unheard_since = now;
    set(&LaneWords::pending, lane);
}

/// What it was sent is lost: it waits as long as if it had never been sent.
void GhostTable::want_again(LocalId lane, const PacketRecord& record) noexcept {
    PURVIEW_ASSERT(is_live(lane));
    const LaneTimes& times = unheard(lane, record.tick);
    if (times.sent == record.tick) reset(&LaneWords::awaited, lane);
    waiting_of(lane) = times.unheard_since;
    if (!is_pending(lane)) times_of(lane).pending_since = tick_;
    set(&LaneWords::pending, lane);
}

/// He has the state as of this packet; what changed later is under way, or waits. Of one that is
/// behind; until all of that was sent in the tick of its change, or is of this one.
void GhostTable::heard(LocalId lane, const PacketRecord& record) noexcept {
    PURVIEW_ASSERT(test(&LaneWords::behind, lane));
    LaneTimes& times = times_of(lane);
    times.baseline = std::max(times.baseline, record.tick);
    const bool is_last = times.sent == record.tick;
    if (is_last) reset(&LaneWords::awaited, lane);
    times.unheard_since = !is_last ? record.tick + 1 : is_pending(lane) ? waiting_since(lane) : 0;
    const bool waits = is_pending(lane) && !is_fresh(lane);
    const bool is_in_time = is_last || times.pending_since <= record.tick;
    if (is_live(lane) && !waits && is_in_time) reset(&LaneWords::behind, lane);
}

/// Of a packet that arrived, the oldest: once nothing special lasts, it is not looked at any more.
/// While others of its tick are under way the baseline is of the tick before: when what he gained
/// in this tick was written must not show in what is told since then.
void GhostTable::cover(LocalId lane, Tick delivered) noexcept {
    if (!is_special(lane)) return;
    const LaneSpecial& its = special_[lane];
    if (!copies_.empty() && is_live(lane) && its.resumed <= delivered) copies_.erase(lane);
    // Also where more is owed: of that, something is not told yet.
    const bool lasts = its.told != nothing_special.told && !test(&LaneWords::public_only, lane);
    const bool is_whole = PURVIEW_GUARD_OR(gained_before, records_.oldest_ends_tick(), true);
    if (!lasts && its.is_covered_by(delivered, is_whole ? delivered : delivered - 1))
        reset(&LaneWords::special, lane);
}

// -- who comes and goes ---------------------------------------------------------------------------

LocalId GhostTable::enter(EntityId entity, KindId kind, bool owned, Tick now, Reason reason) {
    PURVIEW_ASSERT(find(entity) == no_local_id);
    turnover_.note(index_of(entity));
    if (const LocalId kept = find_retained(entity); kept != no_local_id) {
        // It goes on with what the observer has; parent, owner and references are told anew.
        PURVIEW_ASSERT(is_held(kept) && test(&LaneWords::behind, kept));
        end_retained(kept);
        reset(&LaneWords::needs_leave, kept);
        LaneSpecial& its = special_now(kept);
        its.resumed = its.meta = its.reference = now;
        its.owned = owned;
        its.enter_reason = reason;
        its.owed = false;
        reset(&LaneWords::paced, kept);
        times_of(kept).unheard_since = 0;  // it is behind
        reset(&LaneWords::awaited, kept);
        if (has_weights_) set_weight(kept, 1);
        set(&LaneWords::live, kept);
        want(kept, now);
        ++live_count_;
        lane_of_[index_of(entity)] = kept;
        PURVIEW_ASSERT(find(entity) == kept);
        return kept;
    }
    const LocalId lane = take_lane();
    LaneBlock& block = blocks_[lane / bits_per_word];
    block.index[lane % bits_per_word] = index_of(entity);
    block.kind[lane % bits_per_word] = kind;
    if (has_weights_) set_weight(lane, 1);
    special_[lane] = nothing_special;  // copied: one that is made by parts is waited for
    special_[lane].entity = entity;
    const auto [newest, is_first] = lane_of_.find_or_make(index_of(entity));
    const LocalId before = is_first ? no_local_id : *newest;
    *newest = lane;
    if (before != no_local_id && this->entity(before) == entity) supersede(before, lane);
    special_[lane].owned = owned;
    special_[lane].enter_reason = reason;
    begin_tick(now);
    for (const Mask mask :
         {&LaneWords::live, &LaneWords::needs_enter, &LaneWords::pending, &LaneWords::fresh})
        set(mask, lane);
    has_fresh_ = true;
    ++live_count_;
    PURVIEW_ASSERT(find(entity) == lane);
    return lane;
}

LocalId GhostTable::find_retained(EntityId entity) const noexcept {
    const LocalId* lane = retained_of_.find(index_of(entity));
    return lane != nullptr && this->entity(*lane) == entity ? *lane : no_local_id;
}

void GhostTable::end_retained(LocalId lane) noexcept {
    PURVIEW_ASSERT(!is_live(lane) && is_kept(lane) && retained_count_ > 0);
    special_[lane].keeping = {};
    --retained_count_;
    const LocalId* newest = retained_of_.find(entity_index(lane));
    if (newest != nullptr && *newest == lane) retained_of_.erase(entity_index(lane));
}

bool GhostTable::leave(LocalId lane, Reason reason, Keeping keeping) {
    PURVIEW_ASSERT(lane != no_local_id);
    if (lane == no_local_id) return false;
    PURVIEW_ASSERT(is_live(lane) && !is_kept(lane));
    turnover_.note(entity_index(lane));
    reset(&LaneWords::live, lane);
    end_wait(lane, tick_);
    reset(&LaneWords::needs_enter, lane);
    motions_.stop(lane);
    --live_count_;
    special_[lane].leave_reason = reason;
    special_[lane].left = tick_;
    if (!PURVIEW_GUARD_OR(local_id, test(&LaneWords::ever_sent, lane), false)) {
        free_lane(lane);  // the observer never heard of it, and never will
        return false;
    }
    set(&LaneWords::needs_leave, lane);
    // Only what the observer has for certain can be gone on with.
    const bool is_kept = keeping.policy != Retention::despawn &&
                         PURVIEW_GUARD(copy_is_held, is_held(lane)) &&
                         PURVIEW_GUARD(copies_kept, retained_count_ < retained_max);
    if (!is_kept) return false;
    (void)written(lane);  // what others are told from now on, he is not
    special_[lane].keeping = keeping;
    retained_of_[entity_index(lane)] = lane;
    ++retained_count_;
    retained_until_ = std::min(retained_until_, keeping.until);
    return true;
}

// -- what is told ---------------------------------------------------------------------------------

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
    PURVIEW_ASSERT(is_live(lane));
    PURVIEW_ASSERT(motions_.is_extrapolated(lane) == test(&LaneWords::extrapolated, lane));
    if (motions_.is_extrapolated(lane)) return;  // its copy was kept
    set(&LaneWords::extrapolated, lane);
    motions_.begin(lane, fields);
}

void GhostTable::touch_references(LocalId lane, Tick now) {
    special_now(lane).reference = now;
    want(lane, now);
}

// -- packets --------------------------------------------------------------------------------------

PacketRecord& GhostTable::begin_record(std::uint32_t sequence, Tick tick) {
    PacketRecord& record = records_.begin(sequence, tick, blocks_.size());
    if (keeps_reports_)
        records_.keep_live(record, [&](std::size_t word) { return blocks_[word].of.live; });
    return record;
}

void GhostTable::sent(PacketRecord& record, LocalId lane, SentAs as,
                      std::span<const Motion> motions) {
    const std::size_t word = lane / bits_per_word;
    const std::uint64_t bit = std::uint64_t{1} << (lane % bits_per_word);
    PURVIEW_ASSERT(is_live(lane) == (as == SentAs::enter || as == SentAs::update));
    PURVIEW_ASSERT(as != SentAs::enter || needs_enter(lane));
    PURVIEW_ASSERT(as != SentAs::keep || is_kept(lane));
    if (as == SentAs::update && motions.empty()) return sent_updates(record, word, bit);
    records_.add(record, {lane, as, !motions.empty()});
    if (!motions.empty()) motions_.sent(lane, record.tick, motions);
    LaneWords& of = blocks_[word].of;
    LaneTimes& times = times_of(lane);
    const bool is_plain =
        as == SentAs::enter && motions.empty() && ((of.behind | of.special | of.paced) & bit) == 0;
    if (!is_plain) {
        // Its tick identifies the packet; a leave counts its packets instead.
        PURVIEW_ASSERT(times.sent != record.tick || as == SentAs::leave);
        times.sent = record.tick;
    }
    if ((of.pending & bit) != 0) end_wait(of, bit, times, record.tick);
    if (as == SentAs::enter) {
        of.needs_enter &= ~bit;
        of.ever_sent |= bit;
        special_[lane].entered = record.tick;
        if ((of.behind & bit) != 0) times.baseline = record.tick;
    } else if (as != SentAs::update) {
        of.needs_leave &= ~bit;
        if (as == SentAs::leave) ++special_[lane].leaves_in_flight;
        return;
    }
    await_if_owed(lane, record.tick);
}

/// What did not fit waits until this part has arrived.
void GhostTable::await_if_owed(LocalId lane, Tick now) noexcept {
    if (!is_special(lane) || !special_[lane].owed) return;
    special_[lane].turn = special_[lane].next_turn;
    set(&LaneWords::awaited, lane);
    want(lane, now);
}

void GhostTable::sent_updates(PacketRecord& record, std::size_t word, std::uint64_t lanes) {
    records_.add_updates(record, word, lanes);
    LaneBlock& block = blocks_[word];
    LaneWords& of = block.of;
    PURVIEW_ASSERT((lanes & ~of.live) == 0);
    for_each_bit(lanes & (of.behind | of.special | of.paced), 0, [&](std::size_t i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        LaneTimes& times = block.times[i];
        PURVIEW_ASSERT(times.sent != record.tick);
        times.sent = record.tick;
        if ((of.pending & bit) != 0) end_wait(of, bit, times, record.tick);
        await_if_owed(static_cast<LocalId>(word * bits_per_word + i), record.tick);
        lanes &= ~bit;
    });
    of.pending &= ~lanes;
    of.fresh &= ~lanes;
}

void GhostTable::sent_sections(PacketRecord& record) {
    PURVIEW_ASSERT(sectioned_.size() <= record.words);
    records_.add_sections(
        record, [&](std::size_t word) { return word < sectioned_.size() ? sectioned_[word] : 0; });
    sectioned_.clear();
}

void GhostTable::give_up_sections() noexcept {
    for (std::size_t w = 0; w < sectioned_.size(); ++w) {
        LaneWords& of = blocks_[w].of;
        const std::uint64_t lanes = sectioned_[w] & of.live & ~of.pending;
        of.pending |= lanes;
        of.fresh |= lanes;
        has_fresh_ |= lanes != 0;
    }
    sectioned_.clear();
}

void GhostTable::delivered(const PacketRecord& record) {
    records_.for_each_item(record, [&](SentItem item) { delivered_item(record, item); });
    const bool is_exact = blocks_.size() <= bits_per_word;
    for (std::size_t w = 0; w < record.words; ++w) {
        const std::uint64_t bit = std::uint64_t{1} << (w % bits_per_word);
        if ((exceptions_ & bit) == 0) continue;
        const LaneWords& of = blocks_[w].of;
        for_each_bit(
            records_.updated(record, w) & (of.behind | of.special), w * bits_per_word,
            [&](std::size_t lane) { delivered_update(record, static_cast<LocalId>(lane)); });
        if (is_exact && (of.behind | of.special) == 0) exceptions_ &= ~bit;
    }
    if (record.has_live) report(record);
}

void GhostTable::delivered_item(const PacketRecord& record, SentItem item) {
    const LocalId lane = item.lane;
    PURVIEW_ASSERT(test(&LaneWords::used, lane));  // until the last fate of its slot
    if (item.has_motions) {
        const bool counts = item.as == SentAs::enter || is_held(lane);
        motions_.delivered(lane, record.tick, counts);
    }
    switch (item.as) {
        case SentAs::enter:
            PURVIEW_ASSERT(special_[lane].entered >= record.tick);
            set(&LaneWords::held, lane);
            cover(lane, record.tick);
            if (test(&LaneWords::behind, lane)) heard(lane, record);
            break;
        case SentAs::update:
            delivered_update(record, lane);
            break;
        case SentAs::leave:
            leave_delivered(lane);
            break;
        case SentAs::keep:
            set(&LaneWords::away, lane);
            break;
    }
}

/// The observer does not have the ghost any more. The slot is free once no other packet with its
/// leave is in flight: otherwise the fate of that packet would be taken for one of the next ghost.
void GhostTable::leave_delivered(LocalId lane) noexcept {
    PURVIEW_ASSERT(!is_live(lane) && special_[lane].leaves_in_flight > 0);
    if (--special_[lane].leaves_in_flight == 0) return free_lane(lane);
    set(&LaneWords::away, lane);
    for (const Mask mask : {&LaneWords::held, &LaneWords::needs_leave, &LaneWords::ever_sent})
        reset(mask, lane);
}

/// Unless another packet has its leave, it is sent again; or, if one has arrived, the slot is free.
void GhostTable::leave_lost(LocalId lane) noexcept {
    PURVIEW_ASSERT(!is_live(lane) && special_[lane].leaves_in_flight > 0);
    if (--special_[lane].leaves_in_flight > 0) return;
    if (!test(&LaneWords::ever_sent, lane)) return free_lane(lane);
    set(&LaneWords::needs_leave, lane);
}

void GhostTable::delivered_update(const PacketRecord& record, LocalId lane) noexcept {
    // An update whose enter was lost has been ignored by the observer.
    if (!PURVIEW_GUARD(baseline_of_held, is_held(lane))) {
        if (sent_tick(lane) == record.tick) reset(&LaneWords::awaited, lane);
        return;
    }
    reset(&LaneWords::away, lane);  // none is sent between the leave and the link
    cover(lane, record.tick);
    if (test(&LaneWords::behind, lane)) heard(lane, record);
}

/// What he held then, of those that were relevant when it was sent.
void GhostTable::report(const PacketRecord& record) noexcept {
    held_report_ = {record.sequence, record.tick, 0, 0, 0};
    for (std::size_t w = 0; w < blocks_.size(); ++w) {
        const std::uint64_t relevant = records_.live(record, w);
        const std::uint64_t shown = blocks_[w].of.held & ~blocks_[w].of.away;
        held_report_.relevant += static_cast<std::uint32_t>(std::popcount(relevant));
        held_report_.backlog += static_cast<std::uint32_t>(std::popcount(relevant & ~shown));
        held_report_.unacknowledged_leaves +=
            static_cast<std::uint32_t>(std::popcount(shown & ~relevant));
    }
}

/// Lanes fall behind together: each time all that is under way is looked through, and a client may
/// say in one datagram that hundreds of packets, each with others, are lost.
void GhostTable::expect_lost(std::span<const std::uint32_t> sequences) {
    if (sequences.empty()) return;
    auto next = sequences.begin();
    records_.for_each([&](const PacketRecord& record) {
        next = std::find_if(next, sequences.end(),
                            [&](std::uint32_t lost) { return lost >= record.sequence; });
        if (next == sequences.end()) return false;
        if (*next == record.sequence) gather_lost(record);
        return true;
    });
    for (std::size_t w = 0; w < lost_lanes_.size(); ++w) {
        const std::uint64_t lanes = std::exchange(lost_lanes_[w], 0);
        const LaneWords& of = blocks_[w].of;
        if ((lanes & of.fresh) != 0) write_waits(w);
        fall_behind(w, lanes & ~of.behind);
    }
}

void GhostTable::gather_lost(const PacketRecord& record) {
    lost_lanes_.resize(blocks_.size());
    records_.for_each_item(record, [&](SentItem item) {
        if (item.as != SentAs::update || !is_live(item.lane)) return;
        lost_lanes_[item.lane / bits_per_word] |= std::uint64_t{1} << (item.lane % bits_per_word);
    });
    for (std::size_t w = 0; w < record.words; ++w) lost_lanes_[w] |= updates_lost(record, w);
}

/// Of the usual updates of a packet those that wait again.
std::uint64_t GhostTable::updates_lost(const PacketRecord& record,
                                       std::size_t word) const noexcept {
    const LaneWords& of = blocks_[word].of;
    return records_.updated(record, word) &
           PURVIEW_GUARD_OR(relevance_of_updates, of.live, of.used);
}

void GhostTable::lost(const PacketRecord& record) {
    expect_lost({&record.sequence, 1});
    records_.for_each_item(record, [&](SentItem item) { lost_item(record, item); });
    for (std::size_t w = 0; w < record.words; ++w) {
        for_each_bit(updates_lost(record, w), w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            // Unless it was sent again since, with everything that this packet had.
            if (sent_tick(lane) == record.tick) want_again(lane, record);
        });
    }
}

void GhostTable::lost_item(const PacketRecord& record, SentItem item) {
    const LocalId lane = item.lane;
    PURVIEW_ASSERT(test(&LaneWords::used, lane));
    if (item.has_motions) motions_.lost(lane, sent_tick(lane) == record.tick);
    // Whatever was sent since had all of it, but may be lost, too.
    if (item.as == SentAs::update && is_live(lane)) (void)unheard(lane, record.tick);
    if (item.as == SentAs::leave) return leave_lost(lane);
    if (item.as != SentAs::enter && sent_tick(lane) != record.tick) return;
    switch (item.as) {
        case SentAs::enter:
            if (!PURVIEW_GUARD(relevance_of_lost, is_live(lane))) break;
            set(&LaneWords::needs_enter, lane);
            want_again(lane, record);
            break;
        case SentAs::update:
            if (PURVIEW_GUARD(relevance_of_items, is_live(lane))) want_again(lane, record);
            break;
        case SentAs::leave:
            break;
        case SentAs::keep:
            if (is_kept(lane)) set(&LaneWords::needs_leave, lane);
            break;
    }
}

void GhostTable::resolve(std::uint32_t sequence, bool was_delivered) {
    if (records_.empty()) return;
    const PacketRecord record = records_.oldest();
    if (record.sequence != sequence) return;
    PURVIEW_ASSERT(fate_known_ <= record.tick);  // fates come in the order of packets
    fate_known_ = record.tick;
    was_delivered ? delivered(record) : lost(record);
    records_.drop_oldest();
}

bool GhostTable::is_sound() const noexcept {
    return std::all_of(blocks_.begin(), blocks_.end(), [](const LaneBlock& block) {
        const LaneWords& of = block.of;
        return ((of.pending | of.needs_enter) & ~of.live) == 0 &&
               (of.live & (~of.used | of.needs_leave)) == 0 && (of.fresh & ~of.pending) == 0;
    });
}

std::size_t GhostTable::memory_bytes() const noexcept {
    std::size_t bytes = blocks_.size() * sizeof(LaneBlock) +
                        lane_end() * (sizeof(Pace) + sizeof(LaneSpecial)) +
                        lane_of_.memory_bytes() + succession_.memory_bytes() +
                        lost_lanes_.size() * sizeof(std::uint64_t);
    for (const auto& [lane, copy] : copies_)
        bytes += sizeof(lane) + sizeof(copy) + copy.words.capacity() * sizeof(std::uint32_t);
    return bytes + records_.memory_bytes() + motions_.memory_bytes();
}

}  // namespace purview
