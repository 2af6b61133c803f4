// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer holds of the world, as far as the server knows: its ghosts, by local id (lane).
//
//   free --enter--> entering --enter acknowledged--> present --leave--> leaving --leave
//   acknowledged--> free
//                       '--leave, never sent--> free
//                                               leaving --enter--> a second slot of the entity
//   present --leave, its copy is kept--> lingering --enter--> present
//                                                 '--too long--> leaving
//
// Keyed by entity id and blind to slots. Local ids are dense and small, so an observer can tell
// neither how many hidden entities there are nor their ids; an id is free again only when a packet
// that carried the leave is acknowledged, so an id on the wire never speaks of two entities. An
// entity that returns before that has two slots for a while; every packet with the enter of the new
// one repeats the leave of the old one (for_each_superseded).
// Must not know: grids, windows, bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/change_log.hpp"
#include "core/flat_map.hpp"
#include "core/gather_bits.hpp"
#include "core/mutate.hpp"
#include "core/prefetch.hpp"
#include "purview/types.hpp"
#include "replication/kept_copy.hpp"
#include "replication/lane_motions.hpp"
#include "replication/lane_priorities.hpp"
#include "replication/packet_records.hpp"

namespace purview {

/// What becomes of a copy whose entity leaves.
struct Keeping {
    Retention policy = Retention::despawn;
    Tick until = 0;  ///< it is dropped then
};

/// What an observer held after applying the packet of a tick; known when it is acknowledged.
///   held = relevant - backlog + unacknowledged_leaves
struct HeldReport {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::uint32_t relevant = 0;
    std::uint32_t backlog = 0;                ///< relevant, and not held yet
    std::uint32_t unacknowledged_leaves = 0;  ///< held, and not relevant any more
};

/// What holds of 64 lanes, a bit each. In the first half is what making a packet looks at.
struct LaneWords {
    std::uint64_t live = 0;
    std::uint64_t pending = 0;
    std::uint64_t needs_enter = 0;
    std::uint64_t needs_leave = 0;
    std::uint64_t held = 0;
    std::uint64_t awaited = 0;  ///< a part of one that does not fit is under way
    std::uint64_t special = 0;  ///< its LaneSpecial has something that the baseline does not cover
    std::uint64_t paced = 0;    ///< its Pace is not the usual one
    std::uint64_t used = 0;
    std::uint64_t ever_sent = 0;     ///< an enter of its entity has been sent, or its id named
    std::uint64_t restricted = 0;    ///< some parts are for some only
    std::uint64_t extrapolated = 0;  ///< of a kind with extrapolated fields
    std::uint64_t public_only = 0;   ///< of `restricted`: is told the public parts (KindLayout)
    std::uint64_t away = 0;          ///< the observer holds no more than a copy that was kept
    std::uint64_t behind = 0;        ///< what the observer has is as its LaneTimes say
    /// Of pending ones: waits since the tick that was gathered last, which is not written down.
    /// Most are sent in that tick. All others that are pending are behind.
    std::uint64_t fresh = 0;
};

static_assert(sizeof(LaneWords) == 2 * cache_line_bytes);

/// Of lanes that are behind: when what was told, sent and changed. (`sent` also of those with a
/// pace, special ones, and those whose packet has an item of them.)
struct LaneTimes {
    Tick baseline = 0;  ///< the observer has all as of this tick
    Tick sent = 0;      ///< the last packet with it
    /// Of one that waits: since when. Of others: when it last ceased to, fresh ones aside.
    Tick pending_since = 0;
    /// Of the oldest change that the observer may not have, under way or waiting; 0: he has all.
    Tick unheard_since = 0;
};

constexpr std::array<float, bits_per_word> usual_weights() noexcept {
    std::array<float, bits_per_word> weights{};
    weights.fill(1);
    return weights;
}

/// What a tick may look at of 64 lanes, side by side: an observer's ghosts are a few of these in a
/// row.
struct alignas(cache_line_bytes) LaneBlock {
    LaneWords of;
    std::array<std::uint32_t, bits_per_word> index{};  ///< of the entity; always looked through
    std::array<Tick, bits_per_word> waiting_since{};
    std::array<float, bits_per_word> weight = usual_weights();  ///< its share of the budget
    std::array<LaneTimes, bits_per_word> times;
    std::array<KindId, bits_per_word> kind{};
};

/// One of their words, of all lanes.
class LaneMask {
  public:
    using Of = std::uint64_t LaneWords::*;

    LaneMask(std::span<const LaneBlock> blocks, Of of) noexcept : blocks_(blocks), of_(of) {}
    std::size_t size() const noexcept { return blocks_.size(); }
    std::uint64_t operator[](std::size_t word) const noexcept { return blocks_[word].of.*of_; }

  private:
    std::span<const LaneBlock> blocks_;
    Of of_;
};

/// What most ghosts never need between their enter and their leave.
struct alignas(cache_line_bytes) LaneSpecial {
    EntityId entity = EntityId::none;
    Keeping keeping;
    Tick meta = 0;
    Tick reference = 0;
    Tick resumed = 0;
    Tick requested = 0;
    Tick gained_tick = 0;
    Tick disowned = 0;  ///< when the observer ceased to own it; 0: he never did
    Tick entered = 0;   ///< the last packet with its enter; 0: none yet
    Tick left = 0;      ///< when it left, or its copy ceased to be kept
    std::uint32_t told = ~std::uint32_t{0};  ///< whether the lane is special or not
    std::uint32_t gained = 0;
    Reason enter_reason = Reason::entered;  ///< of its last enter; whether it is special or not
    Reason leave_reason = Reason::left;
    bool owned = false;
    bool owed = false;           ///< not all of it fits into a packet
    std::uint8_t turn = 0;       ///< the part that goes first, where not all fits
    std::uint8_t next_turn = 0;  ///< and once what is planned has been sent
    /// Packets in flight that carry its leave (not one that retains the ghost).
    std::uint16_t leaves_in_flight = 0;

    /// It says nothing that is younger. `whole`: the last tick of which he has all.
    bool is_covered_by(Tick baseline, Tick whole) const noexcept {
        return std::max({meta, reference, resumed, requested}) <= baseline && gained_tick <= whole;
    }
};

static_assert(sizeof(LaneSpecial) == cache_line_bytes);

class GhostTable {
  public:
    // -- relevance ------------------------------------------------------------------------------
    /// A new lane for the entity, the lowest that is free. Enters of one tick come in the order of
    /// spawn numbers. `reason` is told with every packet that has the enter, or the link of a copy
    /// that is gone on with.
    LocalId enter(EntityId entity, KindId kind, bool owned, Tick now,
                  Reason reason = Reason::entered);
    /// True: its copy is kept.
    bool leave(EntityId entity, Reason reason, Keeping keeping = {}) {
        return leave(find(entity), reason, keeping);
    }
    bool leave(LocalId lane, Reason reason, Keeping keeping);
    bool is_retained(EntityId entity) const noexcept {
        return find_retained(entity) != no_local_id;
    }
    /// Copies that have been kept long enough leave for good, and, where there would not be room
    /// for so `many` more, those that have been kept for longest: visit(lane).
    template <class Visit>
    void drop_retained(Tick now, std::size_t many, Visit&& visit);
    std::uint32_t retained_count() const noexcept { return retained_count_; }
    /// Copies that are kept for one observer at most.
    static constexpr std::uint32_t retained_max = 1'024;
    /// What he saw last of a lane that has just left, whose copy is kept.
    void set_copy(LocalId lane, KeptCopy copy) {
        PURVIEW_ASSERT(!is_live(lane) && is_kept(lane));
        copies_[lane] = std::move(copy);
    }
    /// That of a lane, until it is known that he goes on with it. Null: it was never kept.
    const KeptCopy* kept_copy(LocalId lane) const noexcept {
        if (copies_.empty()) return nullptr;
        const auto found = copies_.find(lane);
        return found != copies_.end() ? &found->second : nullptr;
    }
    /// Before many are looked up, in two steps: where their lanes are found, then the lanes.
    void prefetch(EntityId entity) const noexcept { lane_of_.prefetch(index_of(entity)); }
    void prefetch_lane(EntityId entity) const noexcept {
        if (const LocalId* lane = lane_of_.find(index_of(entity))) prefetch_lane(*lane);
    }
    void prefetch_lane(LocalId lane) const noexcept {
        prefetch_line(&special_[lane]);
        prefetch_line(&times_of(lane));
    }
    /// What gather looks through.
    void prefetch_lanes() const noexcept {
        for (const LaneBlock& block : blocks_) {
            constexpr std::size_t end = offsetof(LaneBlock, waiting_since);
            for (std::size_t at = 0; at < end; at += cache_line_bytes)
                prefetch_line(reinterpret_cast<const char*>(&block) + at);
        }
    }
    /// The lane of a relevant entity, or no_local_id.
    LocalId find(EntityId entity) const noexcept {
        if (index_of(entity) == 0xffffffffU) return no_local_id;  // the table's own mark
        const LocalId lane = find_at(index_of(entity));
        return lane != no_local_id && PURVIEW_GUARD(ghost_generation, this->entity(lane) == entity)
                   ? lane
                   : no_local_id;
    }
    /// The same, of the entity of now with this index.
    LocalId find_at(std::uint32_t index) const noexcept {
        const LocalId* lane = lane_of_.find(index);
        return lane != nullptr && is_live(*lane) ? *lane : no_local_id;
    }
    /// Calls visit(slot) for every older ghost slot of the same entity whose leave is not known to
    /// have arrived. A packet with the enter of `lane` must carry these leaves too: the end of the
    /// old ghost and the begin of the new one are one statement, so the observer never holds both.
    template <class Visit>
    void for_each_superseded(LocalId lane, Visit&& visit) const {
        if (PURVIEW_GUARD_OR(one_ghost, succession_.size(), 0) == 0) return;
        for (lane = older_of(lane); lane != no_local_id; lane = older_of(lane)) {
            if (test(&LaneWords::ever_sent, lane)) visit(lane);
        }
    }
    /// Slots whose entity has a newer one (see for_each_superseded). O(1).
    std::uint32_t superseded_count() const noexcept { return superseded_count_; }
    /// Whether the observer owns it: told with the next update.
    void set_owned(EntityId entity, bool owned, Tick now);
    /// Parts of the entity that the observer is told, a bit each (KindLayout). What is new is sent
    /// whole. `public_parts`: of its kind, those that most observers are told.
    void set_told(LocalId lane, std::uint32_t told, std::uint32_t public_parts, Tick now);
    void set_restricted(LocalId lane) noexcept { set(&LaneWords::restricted, lane); }
    /// Test builds: it is told never (PURVIEW_BREAKABLE).
    void break_enter(LocalId lane) noexcept { set(&LaneWords::awaited, lane); }
    void break_leave(LocalId lane) noexcept { reset(&LaneWords::needs_leave, lane); }
    /// More is to be told than fits: the rest waits until what is sent now has arrived, and then
    /// begins with the part `next`.
    void owe(LocalId lane, std::size_t next) noexcept {
        PURVIEW_ASSERT(is_live(lane));
        LaneSpecial& its = special_now(lane);
        its.owed = true;
        its.next_turn = static_cast<std::uint8_t>(next);
    }
    void owe_nothing(LocalId lane) noexcept {
        if (is_special(lane)) special_now(lane).owed = false;
    }
    /// The part that is told before all others that wait, where not all fits.
    std::size_t turn(LocalId lane) const noexcept { return special_[lane].turn; }
    /// The fate of a part of it is awaited: nothing more is sent before.
    bool is_awaited(LocalId lane) const noexcept { return test(&LaneWords::awaited, lane); }
    /// Since when it goes on with a copy that was kept; 0: it does not.
    Tick resumed_tick(LocalId lane) const noexcept {
        return is_special(lane) ? special_[lane].resumed : 0;
    }
    /// There may be more to tell of it than its fields, or less.
    bool is_special(LocalId lane) const noexcept { return test(&LaneWords::special, lane); }
    /// A reference of the entity names something that came or went: told with the next update.
    void touch_references(LocalId lane, Tick now);
    /// The observer hears of this id before its enter: it leaves as if it had been sent.
    void named(LocalId lane) noexcept {
        PURVIEW_ASSERT(is_live(lane));
        set(&LaneWords::ever_sent, lane);
    }
    /// The kind has so many extrapolated fields.
    void set_extrapolated(LocalId lane, unsigned fields);
    const LaneMotions& motions() const noexcept { return motions_; }
    /// A new tick: of what was not sent in the last one it is written down since when it waits.
    void begin_tick(Tick now) noexcept;
    /// Nothing more is sent in this one.
    void end_tick() noexcept;
    /// Everything that was sent in this tick or before has a known fate.
    Tick resolved_tick() const noexcept {
        const Tick unknown = records_.empty() ? tick_ : records_.oldest().tick;
        return unknown == 0 ? 0 : unknown - 1;
    }
    /// pending |= live & changed; of those that are told the public parts only those that changed
    /// in them, of other special ones those for which is_replicated(lane): what changed is
    /// something that the observer is told. A change that he is not told must not even send again
    /// what is under way. Of extrapolated lanes those that is_off(lane): the observer does not see
    /// them as they are. `covered`: lanes whose changes of this tick go in shared sections, if
    /// there are any; fewer words than lanes: the rest are not.
    template <class IsTold, class IsOff>
    void gather(const Bitset& changed, const Bitset& changed_in_public, Tick now,
                std::span<const std::uint64_t> covered, IsTold&& is_replicated, IsOff&& is_off);
    /// What must hold from gather on, in this tick: whoever waits is relevant, and nobody is who is
    /// on his way out. Looks through all; for assertions.
    bool is_sound() const noexcept;
    /// Something of it goes to each observer on its own after all.
    void tell(EntityId entity, Tick now) noexcept {
        if (const LocalId lane = find(entity); lane != no_local_id) want(lane, now);
    }
    /// Entity indices of who came or went.
    const ChangeLog& turnover() const noexcept { return turnover_; }

    // -- pace -----------------------------------------------------------------------------------
    /// How often an observer hears of a ghost at most, and what becomes of its copy.
    struct Pace {
        std::uint32_t every_ticks = 1;
        Retention leave = Retention::despawn;  ///< at least

        bool operator==(const Pace&) const noexcept = default;
    };
    static constexpr Pace usual_pace{1, Retention::despawn};
    const Pace& pace(LocalId lane) const noexcept {
        return test(&LaneWords::paced, lane) ? pace_[lane] : usual_pace;
    }
    void set_pace(LocalId lane, const Pace& pace) noexcept {
        if (pace == usual_pace) return reset(&LaneWords::paced, lane);
        pace_[lane] = pace;
        set(&LaneWords::paced, lane);
    }
    /// Its share of the budget: strength x urgency of its kind and of nodes.
    void set_weight(LocalId lane, float weight) noexcept {
        has_weights_ = true;
        blocks_[lane / bits_per_word].weight[lane % bits_per_word] = weight;
    }
    /// How urgent it is that it is sent, by how long it waits. `is_at_rest`: it will not change
    /// again.
    float priority(LocalId lane, Tick now, bool is_at_rest) const noexcept {
        return lane_priority(now, waiting_since(lane),
                             blocks_[lane / bits_per_word].weight[lane % bits_per_word],
                             is_at_rest);
    }
    /// Of 64 lanes, and which of them have at least `least`.
    std::uint64_t priorities(std::size_t word, Tick now, std::uint64_t at_rest, float least,
                             std::span<float, bits_per_word> out) noexcept {
        const LaneBlock& block = blocks_[word];
        write_waits(word);
        return lane_priorities(now, block.waiting_since, block.weight, at_rest, least, out);
    }
    /// Tick of the last packet with the ghost, as far as that is written down (LaneTimes); of one
    /// that is neither behind nor special and had no pace, some older tick.
    Tick sent_tick(LocalId lane) const noexcept { return times_of(lane).sent; }
    /// What the observer is not known to have of a relevant lane goes into this tick's plan.
    void request(LocalId lane, Tick now) noexcept {
        if (!is_live(lane)) return;
        special_now(lane).requested = now;
        want(lane, now);
    }
    bool is_requested(LocalId lane, Tick now) const noexcept {
        return special(lane).requested == now;
    }

    // -- columns by lane ------------------------------------------------------------------------
    std::uint32_t lane_end() const noexcept {
        return static_cast<std::uint32_t>(blocks_.size() * bits_per_word);
    }
    std::uint32_t live_count() const noexcept { return live_count_; }
    /// Under way, for whom fell behind; ever.
    std::uint64_t packets_looked_at() const noexcept { return packets_looked_at_; }
    /// Left, not kept, and the observer has not said that he knows.
    std::uint32_t leaving_count() const noexcept {
        PURVIEW_ASSERT(live_count_ + retained_count_ <= used_count_);
        return used_count_ - live_count_ - retained_count_;
    }
    EntityId entity(LocalId lane) const noexcept { return special_[lane].entity; }
    std::uint32_t entity_index(LocalId lane) const noexcept {
        return blocks_[lane / bits_per_word].index[lane % bits_per_word];
    }
    KindId kind(LocalId lane) const noexcept {
        return blocks_[lane / bits_per_word].kind[lane % bits_per_word];
    }
    bool owned(LocalId lane) const noexcept { return special_[lane].owned; }
    /// When the observer ceased to own it; 0: he never did.
    Tick disowned_tick(LocalId lane) const noexcept { return special_[lane].disowned; }
    /// Why it is known since its last enter.
    Reason enter_reason(LocalId lane) const noexcept { return special_[lane].enter_reason; }
    Reason leave_reason(LocalId lane) const noexcept { return special_[lane].leave_reason; }
    /// The observer has not said that he knows that it left; of a copy that is kept, that it is no
    /// ghost any more.
    bool is_leaving(LocalId lane) const noexcept {
        const bool has_left = test(&LaneWords::used, lane) && !is_live(lane);
        return has_left && !(is_kept(lane) && is_away(lane));
    }
    /// Of one that is leaving: when it left, or the last packet with its leave.
    Tick leaving_since(LocalId lane) const noexcept {
        return std::max(special_[lane].left, sent_tick(lane));
    }
    /// Not despawn: the copy is kept, or will be when the leave arrives.
    Retention retention(LocalId lane) const noexcept { return special_[lane].keeping.policy; }
    bool is_kept(LocalId lane) const noexcept { return retention(lane) != Retention::despawn; }
    /// What the observer has at least, if it holds the ghost: state as of this tick.
    Tick baseline(LocalId lane) const noexcept { return baseline(lane, resolved_tick()); }
    /// Where many are asked for.
    Tick baseline(LocalId lane, Tick resolved) const noexcept {
        if (test(&LaneWords::behind, lane)) return times_of(lane).baseline;
        return is_held(lane) ? baseline_of_held(lane, resolved) : special_[lane].entered;
    }
    /// Of the last change of owner or of what is told; 0: the baseline covers it.
    Tick meta_tick(LocalId lane) const noexcept { return special(lane).meta; }
    /// Of the last change of what a reference means to him; 0: the baseline covers it.
    Tick reference_tick(LocalId lane) const noexcept { return special(lane).reference; }
    std::uint32_t told(LocalId lane) const noexcept {
        return is_special(lane) || test(&LaneWords::public_only, lane) ? special_[lane].told
                                                                       : nothing_special.told;
    }
    /// Parts that the observer was not told before, or may not know yet that he is.
    std::uint32_t gained(LocalId lane) const noexcept {
        const LaneSpecial& its = special(lane);
        return its.gained_tick > baseline(lane) ? its.gained : 0;
    }
    /// The same, if he is told some from this tick on; else none.
    std::uint32_t gained_in(LocalId lane, Tick tick) const noexcept {
        const LaneSpecial& its = special(lane);
        return its.gained_tick == tick ? its.gained : 0;
    }
    LaneMask restricted() const noexcept { return {blocks_, &LaneWords::restricted}; }
    LaneMask public_only() const noexcept { return {blocks_, &LaneWords::public_only}; }
    /// Lanes of which more has to be asked than what changed since their baseline.
    LaneMask special() const noexcept { return {blocks_, &LaneWords::special}; }
    /// Of a pending lane: of the change that it waits to tell, however often that was lost: what it
    /// is urgent by.
    Tick waiting_since(LocalId lane) const noexcept {
        return is_fresh(lane) ? tick_
                              : blocks_[lane / bits_per_word].waiting_since[lane % bits_per_word];
    }
    /// The longest that anything waited after the tick in which it could have been sent, until it
    /// was sent, or gone; what waits now is in backlog_of.
    Tick longest_wait_ticks() const noexcept { return longest_wait_; }
    /// Since when nothing is under way with it: the change, or that its packet was known to be
    /// lost.
    Tick pending_since(LocalId lane) const noexcept {
        return is_fresh(lane) ? tick_ : times_of(lane).pending_since;
    }
    /// Acknowledged: the observer has it.
    bool is_held(LocalId lane) const noexcept { return test(&LaneWords::held, lane); }
    /// Its copy was kept, as he may have heard, and it is not known yet that he goes on with it.
    bool is_away(LocalId lane) const noexcept {
        return test(&LaneWords::away, lane) || resumed_tick(lane) > baseline(lane);
    }
    bool is_live(LocalId lane) const noexcept { return test(&LaneWords::live, lane); }
    /// It is relevant since this tick: what it was like before is none of the observer's business.
    bool has_come(LocalId lane, Tick now) const noexcept {
        return needs_enter(lane) ? waiting_since(lane) == now : resumed_tick(lane) == now;
    }
    /// The same of 64 lanes, in the tick that has begun last.
    std::uint64_t come(std::size_t word) const noexcept {
        const LaneWords& of = blocks_[word].of;
        std::uint64_t found = of.needs_enter & of.fresh;
        for_each_bit(of.needs_enter & ~of.fresh, 0,
                     [&](std::size_t i) {  // waits are written by now
                         found |= std::uint64_t{blocks_[word].waiting_since[i] == tick_} << i;
                     });
        if (copies_.empty()) return found;
        for_each_bit(of.live & of.special & ~of.needs_enter, 0, [&](std::size_t i) {
            const bool has = special_[word * bits_per_word + i].resumed == tick_;
            found |= std::uint64_t{has} << i;
        });
        return found;
    }
    /// A packet had its enter, since the id is this entity's, and, where it goes on with a copy
    /// that was kept, another had that.
    bool was_sent(LocalId lane) const noexcept {
        return special_[lane].entered != 0 && sent_tick(lane) >= resumed_tick(lane);
    }
    bool is_pending(LocalId lane) const noexcept { return test(&LaneWords::pending, lane); }
    /// Lanes of a word whose entities are in the set; free lanes answer anything.
    std::uint64_t lanes_in(const Bitset& entities, std::size_t word) const noexcept {
        return gather_bits(entities.words(), blocks_[word].index);
    }
    /// Lanes that wait, and about which nothing has to be asked first.
    std::uint64_t due_at_once(std::size_t word) const noexcept {
        const LaneWords& of = blocks_[word].of;
        return of.pending & ~(of.awaited | of.special | of.paced);
    }
    bool needs_enter(LocalId lane) const noexcept { return test(&LaneWords::needs_enter, lane); }
    /// It is told what changed since its baseline, of all parts or of the public ones, and nothing
    /// else.
    bool is_usual(LocalId lane) const noexcept {
        const LaneWords& of = blocks_[lane / bits_per_word].of;
        return ((of.held & ~(of.special | of.extrapolated)) >> (lane % bits_per_word) & 1U) != 0;
    }
    bool is_public_only(LocalId lane) const noexcept { return test(&LaneWords::public_only, lane); }
    /// Lanes by mask, 64 to a word.
    LaneMask pending() const noexcept { return {blocks_, &LaneWords::pending}; }
    LaneMask needs_enter() const noexcept { return {blocks_, &LaneWords::needs_enter}; }
    LaneMask needs_leave() const noexcept { return {blocks_, &LaneWords::needs_leave}; }
    LaneMask behind() const noexcept { return {blocks_, &LaneWords::behind}; }
    LaneMask live() const noexcept { return {blocks_, &LaneWords::live}; }
    LaneMask held() const noexcept { return {blocks_, &LaneWords::held}; }

    // -- groups ---------------------------------------------------------------------------------
    /// The observer holds it back: it was sent before all of its group could be.
    void hold_back(LocalId lane) {
        PURVIEW_ASSERT(is_live(lane));
        if (std::find(held_back_.begin(), held_back_.end(), lane) == held_back_.end())
            held_back_.push_back(lane);
    }
    const std::vector<LocalId>& held_back() const noexcept { return held_back_; }
    void set_held_back(std::span<const LocalId> lanes) {
        held_back_.assign(lanes.begin(), lanes.end());
    }
    /// Its link is told anew.
    void tell_link(LocalId lane, Tick now) noexcept {
        special_now(lane).meta = now;
        want(lane, now);
    }

    // -- sending --------------------------------------------------------------------------------
    /// Nothing to tell after all: it is not pending any more.
    void settle(LocalId lane) noexcept {
        end_wait(lane, tick_);
        times_of(lane).unheard_since = 0;
    }
    /// Where the next record goes.
    void prefetch_record() const noexcept { records_.prefetch_end(blocks_.size()); }
    /// The packet goes out with what is sent from now on; kept until its fate is known.
    PacketRecord& begin_record(std::uint32_t sequence, Tick tick);
    /// The record begun last.
    const PacketRecord& last_record() const noexcept { return records_.newest(); }
    /// `motions`: of all extrapolated fields, where there are any and they are told.
    void sent(PacketRecord& record, LocalId lane, SentAs as, std::span<const Motion> motions = {});
    /// The same of updates of 64 lanes, without motions.
    void sent_updates(PacketRecord& record, std::size_t word, std::uint64_t lanes);
    /// visit(SentItem): enters, leaves and whatever has motions in the order of the packet, then
    /// updates by lane.
    template <class Visit>
    void for_each_sent(const PacketRecord& record, Visit&& visit) const {
        records_.for_each_item(record, visit);
        for (std::size_t w = 0; w < record.words; ++w) {
            for_each_bit(records_.updated(record, w), w * bits_per_word, [&](std::size_t lane) {
                visit(SentItem{static_cast<LocalId>(lane), SentAs::update, false});
            });
        }
    }
    /// The packet carries the sections that were planned when the tick was gathered.
    void sent_sections(PacketRecord& record);
    /// They are not sent: whatever they would have told waits. So it does from the next tick on, if
    /// they were not.
    void give_up_sections() noexcept;
    /// The packet of this number, if it is the oldest under way, and had sections; or null.
    const PacketRecord* oldest_with_sections(std::uint32_t sequence) const noexcept {
        if (records_.empty()) return nullptr;
        const PacketRecord& record = records_.oldest();
        return record.sequence == sequence && record.has_sections ? &record : nullptr;
    }
    /// Before resolve: what the sections of a lost packet told, where changed_in(lane) says that it
    /// is the last that there is to tell, goes to the observer on its own.
    template <class ChangedIn>
    void lost_sections(const PacketRecord& record, ChangedIn&& changed_in);
    /// From now on held_report says what he held, for packets that begin from now on.
    void keep_reports(bool keep) noexcept { keeps_reports_ = keep; }
    /// Before resolve: these packets, in order of sequence, will turn out to be lost. It is not
    /// needed, but faster where one datagram says so of many.
    void expect_lost(std::span<const std::uint32_t> sequences);
    /// The fate of a packet; in order of sequence, each once. Numbers without a record are ignored.
    void resolve(std::uint32_t sequence, bool delivered);
    const HeldReport& held_report() const noexcept { return held_report_; }
    std::size_t records_under_way() const noexcept { return records_.size(); }
    std::size_t memory_bytes() const noexcept;

  private:
    using Mask = LaneMask::Of;
    bool test(Mask mask, LocalId lane) const noexcept {
        return ((blocks_[lane / bits_per_word].of.*mask >> (lane % bits_per_word)) & 1U) != 0;
    }
    void set(Mask mask, LocalId lane) noexcept {
        blocks_[lane / bits_per_word].of.*mask |= std::uint64_t{1} << (lane % bits_per_word);
    }
    void reset(Mask mask, LocalId lane) noexcept {
        blocks_[lane / bits_per_word].of.*mask &= ~(std::uint64_t{1} << (lane % bits_per_word));
    }
    LaneTimes& times_of(LocalId lane) noexcept {
        return blocks_[lane / bits_per_word].times[lane % bits_per_word];
    }
    const LaneTimes& times_of(LocalId lane) const noexcept {
        return blocks_[lane / bits_per_word].times[lane % bits_per_word];
    }
    bool is_fresh(LocalId lane) const noexcept { return test(&LaneWords::fresh, lane); }
    void note_exception(std::size_t word) noexcept {
        exceptions_ |= std::uint64_t{1} << (word % bits_per_word);
    }
    void fall_behind(std::size_t word, std::uint64_t lanes) noexcept;
    void gather_lost(const PacketRecord& record);
    std::uint64_t updates_lost(const PacketRecord& record, std::size_t word) const noexcept;
    void write_waits(std::size_t word) noexcept;
    /// The lane, which is behind and not fresh any more.
    LaneTimes& written(LocalId lane) noexcept {
        const std::size_t word = lane / bits_per_word;
        const std::uint64_t bit = std::uint64_t{1} << (lane % bits_per_word);
        if ((blocks_[word].of.fresh & bit) != 0) write_waits(word);
        if ((blocks_[word].of.behind & bit) == 0) fall_behind(word, bit);
        return times_of(lane);
    }
    /// The same, and he may not have what changed in this tick.
    LaneTimes& unheard(LocalId lane, Tick since) noexcept {
        LaneTimes& times = written(lane);
        if (times.unheard_since == 0 || times.unheard_since > since) times.unheard_since = since;
        return times;
    }
    Tick& waiting_of(LocalId lane) noexcept {
        return blocks_[lane / bits_per_word].waiting_since[lane % bits_per_word];
    }
    static constexpr LaneSpecial nothing_special{};
    /// Of what lies behind the baseline it may know nothing: there is nothing to tell of it.
    const LaneSpecial& special(LocalId lane) const noexcept {
        return is_special(lane) ? special_[lane] : nothing_special;
    }
    /// Something of it is of now.
    LaneSpecial& special_now(LocalId lane) noexcept {
        set(&LaneWords::special, lane);
        note_exception(lane / bits_per_word);
        return special_[lane];
    }
    /// It does not wait any more, as of this tick.
    void end_wait(LocalId lane, Tick now) noexcept {
        if (!is_pending(lane)) return;
        end_wait(blocks_[lane / bits_per_word].of, std::uint64_t{1} << (lane % bits_per_word),
                 times_of(lane), now);
    }
    void end_wait(LaneWords& of, std::uint64_t bit, LaneTimes& its, Tick now) noexcept {
        of.pending &= ~bit;
        if ((of.fresh & bit) != 0) {
            of.fresh &= ~bit;
            if ((of.behind & bit) != 0 && its.unheard_since == 0) its.unheard_since = tick_;
        } else {
            if (now > its.pending_since)
                longest_wait_ = std::max(longest_wait_, now - 1 - its.pending_since);
            its.pending_since = now;
        }
    }
    /// Of one that is not behind. Where a part of a tick's packets has arrived, others of it have
    /// not, or may not have: he has whoever came in it as of then, and not of before.
    Tick baseline_of_held(LocalId lane, Tick resolved) const noexcept {
        if (PURVIEW_GUARD(came_before, resolved + 1 != fate_known_)) return resolved;
        return std::max({resolved, special_[lane].entered, special_[lane].resumed});
    }
    LocalId take_lane();
    /// Ghost slots of one entity that are in use at once, from the oldest to the newest.
    struct Succession {
        LocalId older = no_local_id;
        LocalId newer = no_local_id;
    };
    LocalId older_of(LocalId lane) const noexcept {
        const Succession* its = succession_.find(lane);
        return its != nullptr ? its->older : no_local_id;
    }
    void supersede(LocalId older, LocalId newer);
    LocalId end_succession(LocalId lane) noexcept;
    void leave_delivered(LocalId lane) noexcept;
    void leave_lost(LocalId lane) noexcept;
    LocalId find_retained(EntityId entity) const noexcept;
    void end_retained(LocalId lane) noexcept;
    void free_lane(LocalId lane) noexcept;
    void want(LocalId lane, Tick now) noexcept;
    void want_again(LocalId lane, const PacketRecord& record) noexcept;
    void heard(LocalId lane, const PacketRecord& record) noexcept;
    void cover(LocalId lane, Tick delivered) noexcept;
    void await_if_owed(LocalId lane, Tick now) noexcept;
    void delivered(const PacketRecord& record);
    void delivered_item(const PacketRecord& record, SentItem item);
    void delivered_update(const PacketRecord& record, LocalId lane) noexcept;
    void lost(const PacketRecord& record);
    void lost_item(const PacketRecord& record, SentItem item);
    void report(const PacketRecord& record) noexcept;

    LineVector<LaneBlock> blocks_;
    std::vector<Pace> pace_;
    LineVector<LaneSpecial> special_;
    std::uint32_t used_count_ = 0;
    std::size_t first_free_ = 0;  ///< all blocks before it are full
    std::uint32_t live_count_ = 0;
    Tick tick_ = 0;           ///< the one that has begun last
    Tick fate_known_ = 0;     ///< of the packet whose fate was known last
    bool has_fresh_ = false;  ///< some lane may be fresh
    Tick longest_wait_ = 0;
    bool has_weights_ = false;  ///< some may not be 1
    /// By entity index: the newest slot, which may be a leaving one of an older generation.
    FlatMap<std::uint32_t, LocalId> lane_of_;
    /// By slot, only of entities that have more than one: they returned before their leave was
    /// acknowledged.
    FlatMap<LocalId, Succession> succession_;
    std::uint32_t superseded_count_ = 0;
    FlatMap<std::uint32_t, LocalId> retained_of_;
    std::unordered_map<LocalId, KeptCopy> copies_;
    std::uint32_t retained_count_ = 0;
    Tick retained_until_ = ~Tick{0};                ///< no copy ends before
    std::vector<std::pair<Tick, LocalId>> oldest_;  ///< scratch of drop_retained: since when, which
    PacketRecords records_;
    std::uint64_t packets_looked_at_ = 0;
    std::vector<std::uint64_t> sectioned_;   ///< lanes of which this tick's sections tell
    std::vector<std::uint64_t> lost_lanes_;  ///< all 0 but within expect_lost
    /// Bit w % 64: some lane of word w may be behind or special. What arrived of all others does
    /// not have to be looked at.
    std::uint64_t exceptions_ = 0;
    bool keeps_reports_ = false;
    HeldReport held_report_;
    LaneMotions motions_;
    std::vector<LocalId> held_back_;
    ChangeLog turnover_;
};

template <class Visit>
void GhostTable::drop_retained(Tick now, std::size_t many, Visit&& visit) {
    if (retained_count_ == 0) return;
    if (retained_until_ > now && retained_count_ + many <= retained_max) return;
    const auto drop = [&](LocalId lane) {
        end_retained(lane);
        special_[lane].leave_reason = Reason::left;
        special_[lane].left = now;
        set(&LaneWords::needs_leave, lane);
        visit(lane);
    };
    const bool is_full = retained_count_ + many > retained_max;
    oldest_.clear();
    retained_until_ = ~Tick{0};
    std::size_t rest = 0;
    for (std::size_t w = 0; retained_count_ > rest && w < blocks_.size(); ++w) {
        const LaneWords& of = blocks_[w].of;
        for_each_bit(of.used & ~of.live, w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            if (!is_kept(lane)) return;
            if (special_[lane].keeping.until <= now) return drop(lane);
            ++rest;
            if (is_full) oldest_.emplace_back(special_[lane].left, lane);
            retained_until_ = std::min(retained_until_, special_[lane].keeping.until);
        });
    }
    PURVIEW_ASSERT(rest == retained_count_);
    if (rest + many <= retained_max) return;
    PURVIEW_ASSERT(is_full && oldest_.size() == rest);
    std::sort(oldest_.begin(), oldest_.end());
    oldest_.resize(std::min(rest, rest + many - retained_max));
    for (const auto& [since, lane] : oldest_) drop(lane);
}

template <class ChangedIn>
void GhostTable::lost_sections(const PacketRecord& record, ChangedIn&& changed_in) {
    for (std::size_t w = 0; w < record.words; ++w) {
        const std::uint64_t lanes = records_.sectioned(record, w) & blocks_[w].of.live;
        for_each_bit(lanes, w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            if (!changed_in(lane)) return;
            // Whatever was sent on its own since had all of it, but may be lost, too.
            const LaneTimes& times = unheard(lane, record.tick);
            if (!is_pending(lane) && times.sent < record.tick) want_again(lane, record);
        });
    }
}

template <class IsTold, class IsOff>
void GhostTable::gather(const Bitset& changed, const Bitset& changed_in_public, Tick now,
                        std::span<const std::uint64_t> covered, IsTold&& is_replicated,
                        IsOff&& is_off) {
    PURVIEW_ASSERT(covered.size() <= blocks_.size());
    begin_tick(now);
    sectioned_.clear();
    if (!covered.empty()) sectioned_.resize(blocks_.size());
    for (std::size_t w = 0; w < blocks_.size(); ++w) {
        LaneBlock& block = blocks_[w];
        LaneWords& of = block.of;
        const std::uint64_t asked = PURVIEW_GUARD_OR(relevance, of.live, of.used) & ~of.pending;
        if (asked == 0) continue;
        std::uint64_t wanted = asked & lanes_in(changed, w);
        if (w < covered.size()) {
            sectioned_[w] = wanted & covered[w];
            wanted &= ~covered[w];
        }
        if (of.extrapolated != 0) {
            for_each_bit(asked & of.extrapolated, w * bits_per_word, [&](std::size_t l) {
                const std::uint64_t bit = std::uint64_t{1} << (l % bits_per_word);
                const auto lane = static_cast<LocalId>(l);
                if ((wanted & bit) == 0 && !motions_.is_moving(lane)) return;
                wanted = is_off(lane) ? wanted | bit : wanted & ~bit;
            });
        }
        const std::uint64_t public_only = wanted & of.public_only & ~of.extrapolated;
        if (public_only != 0) {
            wanted &= ~public_only |
                      PURVIEW_GUARD_OR(audience_of_changes, lanes_in(changed_in_public, w), wanted);
        }
        for_each_bit(
            wanted & of.restricted & of.special & ~(of.public_only | of.extrapolated),
            w * bits_per_word, [&](std::size_t lane) {
                if (!PURVIEW_GUARD(audience_of_others, is_replicated(static_cast<LocalId>(lane))))
                    wanted &= ~(std::uint64_t{1} << (lane % bits_per_word));
            });
        of.pending |= wanted;
        of.fresh |= wanted;
        has_fresh_ |= wanted != 0;
        for_each_bit(wanted & of.behind, 0, [&](std::size_t i) { prefetch_line(&block.times[i]); });
    }
}

}  // namespace purview
