// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer holds of the world, as far as the server knows: its ghosts, by local id (lane).
//
//   free --enter--> entering --enter acknowledged--> present --leave--> leaving --leave
//   acknowledged--> free
//                       '--leave, never sent--> free
//   present --leave, its copy is kept--> lingering --enter--> present
//                                                 '--too long--> leaving
//
// Keyed by entity id and blind to slots. Local ids are dense and small, so an observer can tell
// neither how many hidden entities there are nor their ids; an id is free again only when a packet
// that carried the leave is acknowledged, so an id on the wire never speaks of two entities.
// Must not know: grids, windows, bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "core/fifo.hpp"
#include "core/flat_map.hpp"
#include "core/mutate.hpp"
#include "purview/ids.hpp"
#include "purview/interest.hpp"
#include "replication/lane_motions.hpp"

namespace purview {

using LocalId = std::uint32_t;
inline constexpr LocalId no_local_id = 0xffffffffU;

enum class SentAs : std::uint8_t { enter = 0, update = 1, leave = 2, keep = 3 };

/// What becomes of a copy whose entity leaves.
struct Keeping {
    LeavePolicy policy = LeavePolicy::despawn;
    Tick until = 0;  ///< it is dropped then
};

struct SentItem {
    LocalId lane;
    SentAs as;
    bool has_motions;
};

/// What a packet under way carried: so many items, and the lanes that were relevant when it was
/// sent, in rings of the table (for_each_sent).
struct PacketRecord {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::uint32_t items = 0;
    std::uint32_t live_words = 0;
    bool has_sections = false;     ///< shared ones (docs/shared.md)
    std::uint64_t first_item = 0;  ///< positions in the rings
    std::uint64_t first_live = 0;
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

class GhostTable {
  public:
    // -- relevance ------------------------------------------------------------------------------
    /// A new lane for the entity, the lowest that is free. Enters of one tick come in the order of
    /// spawn numbers.
    LocalId enter(EntityId entity, KindId kind, bool owned, Tick now);
    /// True: its copy is kept.
    bool leave(EntityId entity, Reason reason, Keeping keeping = {});
    bool is_lingering(EntityId entity) const noexcept {
        return find_lingering(entity) != no_local_id;
    }
    /// Copies that have been kept long enough leave for good: visit(lane).
    template <class Visit>
    void drop_lingering(Tick now, Visit&& visit);
    /// Copies that are kept for one observer at most.
    static constexpr std::uint32_t lingering_max = 1'024;
    /// The lane of a relevant entity, or no_local_id.
    LocalId find(EntityId entity) const noexcept {
        if (index_of(entity) == 0xffffffffU) return no_local_id;  // the table's own mark
        const LocalId* lane = lane_of_.find(index_of(entity));
        return lane != nullptr && PURVIEW_GUARD(ghost_generation, entity_[*lane] == entity)
                   ? *lane
                   : no_local_id;
    }
    /// Whether the observer owns it: told with the next update.
    void set_owned(EntityId entity, bool owned, Tick now);
    /// Parts of the entity that the observer is told, a bit each (KindLayout). What is new is sent
    /// whole. `restricted`: the kind has parts that only some are told.
    void set_told(LocalId lane, std::uint32_t told, Tick now);
    void set_restricted(LocalId lane) noexcept { set(restricted_, lane); }
    /// More is to be told than fits: the rest waits until what is sent now has arrived.
    void set_owed(LocalId lane, bool owed) noexcept {
        owed ? set(owed_, lane) : reset(owed_, lane);
    }
    /// The fate of a part of it is awaited: nothing more is sent before.
    bool is_awaited(LocalId lane) const noexcept { return test(awaited_, lane); }
    /// A reference of the entity names something that came or went: told with the next update.
    void touch_references(EntityId entity, Tick now);
    /// The observer hears of this id before its enter: it leaves as if it had been sent.
    void named(LocalId lane) noexcept { set(ever_sent_, lane); }
    /// The kind has so many extrapolated fields.
    void set_extrapolated(LocalId lane, unsigned fields);
    const LaneMotions& motions() const noexcept { return motions_; }
    /// Everything that was sent in this tick or before has a known fate: differences are told
    /// against what arrived up to it.
    Tick resolved_tick(Tick now) const noexcept {
        return (records_.empty() ? now : records_[records_.begin()].tick) - 1;
    }
    /// pending |= live & changed; of restricted lanes only those for which is_told(lane): what
    /// changed is something that the observer is told. A change that he is not told must not even
    /// send again what is under way. Of extrapolated lanes those that is_off(lane): the observer
    /// does not see them as they are. `covered`: lanes whose changes of this tick go in shared
    /// sections, if there are any; fewer words than lanes: the rest are not.
    template <class IsTold, class IsOff>
    void gather(const Bitset& changed, Tick now, std::span<const std::uint64_t> covered,
                IsTold&& is_told, IsOff&& is_off);
    /// Something of it goes to each observer on its own after all.
    void tell(EntityId entity, Tick now) noexcept {
        if (const LocalId lane = find(entity); lane != no_local_id) want(lane, now);
    }
    /// Differs whenever somebody came or went.
    std::uint32_t revision() const noexcept { return revision_; }

    // -- pace -----------------------------------------------------------------------------------
    /// How an observer hears of a ghost: its share of the budget, and how often at most.
    struct Pace {
        float weight = 1;  ///< strength x urgency of the nodes
        std::uint32_t every_ticks = 1;
        LeavePolicy leave = LeavePolicy::despawn;  ///< at least
    };
    const Pace& pace(LocalId lane) const noexcept { return pace_[lane]; }
    void set_pace(LocalId lane, const Pace& pace) noexcept { pace_[lane] = pace; }
    /// Tick of the last packet with the ghost; 0: never.
    Tick sent_tick(LocalId lane) const noexcept { return sent_tick_[lane]; }
    /// What the observer is not known to have of a relevant lane goes into this tick's plan.
    void request(LocalId lane, Tick now) noexcept {
        if (!test(live_, lane)) return;
        requested_tick_[lane] = now;
        want(lane, now);
    }
    bool is_requested(LocalId lane, Tick now) const noexcept {
        return requested_tick_[lane] == now;
    }

    // -- columns by lane ------------------------------------------------------------------------
    std::uint32_t lane_end() const noexcept { return static_cast<std::uint32_t>(entity_.size()); }
    std::uint32_t live_count() const noexcept { return live_count_; }
    EntityId entity(LocalId lane) const noexcept { return entity_[lane]; }
    std::uint32_t entity_index(LocalId lane) const noexcept { return index_[lane]; }
    KindId kind(LocalId lane) const noexcept { return kind_[lane]; }
    bool owned(LocalId lane) const noexcept { return owned_[lane] != 0; }
    Reason leave_reason(LocalId lane) const noexcept { return leave_reason_[lane]; }
    /// Not despawn: the copy is kept, or will be when the leave arrives.
    LeavePolicy kept_as(LocalId lane) const noexcept { return keeping_[lane].policy; }
    /// What the observer has at least, if it holds the ghost: state as of this tick.
    Tick baseline(LocalId lane) const noexcept { return baseline_[lane]; }
    /// Of the last change of owner or of what is told.
    Tick meta_tick(LocalId lane) const noexcept { return meta_tick_[lane]; }
    Tick reference_tick(LocalId lane) const noexcept { return reference_tick_[lane]; }
    std::uint32_t told(LocalId lane) const noexcept { return told_[lane]; }
    /// Parts that the observer was not told before, or may not know yet that he is.
    std::uint32_t gained(LocalId lane) const noexcept {
        return gained_tick_[lane] > baseline_[lane] ? gained_[lane] : 0;
    }
    std::span<const std::uint64_t> restricted() const noexcept { return restricted_; }
    /// Of a pending lane: since when something is not sent, or was sent and lost.
    /// Of the change that it waits to tell, however often that was lost: what it is urgent by.
    Tick waiting_since(LocalId lane) const noexcept { return waiting_since_[lane]; }
    /// Since when nothing is under way with it: the change, or that its packet was known to be
    /// lost.
    Tick pending_since(LocalId lane) const noexcept { return pending_since_[lane]; }
    /// Acknowledged: the observer has it.
    bool is_held(LocalId lane) const noexcept { return test(held_, lane); }
    /// Its copy was kept, and it is not known yet that the observer goes on with it.
    bool is_away(LocalId lane) const noexcept { return test(away_, lane); }
    bool is_live(LocalId lane) const noexcept { return test(live_, lane); }
    bool is_pending(LocalId lane) const noexcept { return test(pending_, lane); }
    bool needs_enter(LocalId lane) const noexcept { return test(needs_enter_, lane); }
    /// Lanes by mask, 64 to a word.
    std::span<const std::uint64_t> pending() const noexcept { return pending_; }
    std::span<const std::uint64_t> needs_enter() const noexcept { return needs_enter_; }
    std::span<const std::uint64_t> needs_leave() const noexcept { return needs_leave_; }
    std::span<const std::uint64_t> live() const noexcept { return live_; }
    std::span<const std::uint64_t> held() const noexcept { return held_; }

    // -- groups ---------------------------------------------------------------------------------
    /// The observer holds it back: it was sent before all of its group could be.
    void hold_back(LocalId lane) {
        if (std::find(held_back_.begin(), held_back_.end(), lane) == held_back_.end())
            held_back_.push_back(lane);
    }
    const std::vector<LocalId>& held_back() const noexcept { return held_back_; }
    void set_held_back(std::span<const LocalId> lanes) {
        held_back_.assign(lanes.begin(), lanes.end());
    }
    /// Its link is told anew.
    void tell_link(LocalId lane, Tick now) noexcept {
        meta_tick_[lane] = now;
        want(lane, now);
    }

    // -- sending --------------------------------------------------------------------------------
    /// Nothing to tell after all: it is not pending any more.
    void settle(LocalId lane) noexcept {
        reset(pending_, lane);
        unheard_since_[lane] = 0;
    }
    /// The packet goes out with these items; kept until its fate is known.
    PacketRecord& begin_record(std::uint32_t sequence, Tick tick);
    /// The record begun last.
    const PacketRecord& last_record() const noexcept { return records_[records_.end() - 1]; }
    /// `motions`: of all extrapolated fields, where there are any and they are told.
    void sent(PacketRecord& record, LocalId lane, SentAs as, std::span<const Motion> motions = {});
    /// visit(SentItem), in the order of the packet.
    template <class Visit>
    void for_each_sent(const PacketRecord& record, Visit&& visit) const {
        for (std::uint64_t at = record.first_item; at != record.first_item + record.items; ++at) {
            const std::uint32_t item = sent_items_[at];
            visit(SentItem{item >> (sent_as_bits + 1),
                           static_cast<SentAs>(item & ((1U << sent_as_bits) - 1)),
                           (item >> sent_as_bits & 1U) != 0});
        }
    }
    /// The packet carries sections that tell of these lanes.
    void sent_sections(PacketRecord& record, std::span<const std::uint64_t> covered) noexcept;
    /// The packet of this number, if it is the oldest under way, and had sections; or null.
    const PacketRecord* oldest_with_sections(std::uint32_t sequence) const noexcept {
        if (records_.empty()) return nullptr;
        const PacketRecord& record = records_[records_.begin()];
        return record.sequence == sequence && record.has_sections ? &record : nullptr;
    }
    /// Before resolve: what the sections of a lost packet told, where changed_in(lane) says that it
    /// is the last that there is to tell, goes to the observer on its own.
    template <class ChangedIn>
    void lost_sections(const PacketRecord& record, ChangedIn&& changed_in);
    /// The fate of a packet; in order of sequence, each once. Numbers without a record are ignored.
    void resolve(std::uint32_t sequence, bool delivered);
    const HeldReport& held_report() const noexcept { return held_report_; }
    std::size_t records_under_way() const noexcept { return records_.size(); }
    std::size_t memory_bytes() const noexcept;

  private:
    using Words = std::vector<std::uint64_t>;
    static bool test(const Words& words, LocalId lane) noexcept {
        return ((words[lane / bits_per_word] >> (lane % bits_per_word)) & 1U) != 0;
    }
    static void set(Words& words, LocalId lane) noexcept {
        words[lane / bits_per_word] |= std::uint64_t{1} << (lane % bits_per_word);
    }
    static void reset(Words& words, LocalId lane) noexcept {
        words[lane / bits_per_word] &= ~(std::uint64_t{1} << (lane % bits_per_word));
    }
    LocalId take_lane();
    LocalId find_lingering(EntityId entity) const noexcept;
    void end_lingering(LocalId lane) noexcept;
    void free_lane(LocalId lane) noexcept;
    void want(LocalId lane, Tick now) noexcept;
    void anchor(LocalId lane) noexcept;
    void want_again(LocalId lane, const PacketRecord& record) noexcept;
    void heard(LocalId lane, const PacketRecord& record) noexcept;
    /// Lanes of a word whose entities are in the set; free lanes answer anything.
    std::uint64_t lanes_in(const Bitset& entities, std::size_t word) const noexcept;
    void delivered(const PacketRecord& record);
    void lost(const PacketRecord& record);

    std::vector<EntityId> entity_;
    std::vector<std::uint32_t> index_;  ///< of the entity; looked through in every tick
    std::vector<KindId> kind_;
    std::vector<std::uint8_t> owned_;
    std::vector<Reason> leave_reason_;
    std::vector<Keeping> keeping_;
    std::vector<Tick> baseline_;
    std::vector<Tick> meta_tick_;
    std::vector<Tick> reference_tick_;
    std::vector<Tick> resumed_tick_;
    std::vector<Tick> requested_tick_;
    std::vector<Tick> gained_tick_;
    std::vector<Pace> pace_;
    std::vector<Tick> sent_tick_;
    std::vector<std::uint32_t> told_;
    std::vector<std::uint32_t> gained_;
    std::vector<Tick> waiting_since_;
    std::vector<Tick> pending_since_;
    /// Of the oldest change that the observer may not have, under way or waiting; 0: he has all.
    std::vector<Tick> unheard_since_;
    std::vector<std::uint32_t> last_sequence_;
    Words used_;
    Words live_;
    Words held_;
    Words pending_;
    Words needs_enter_;
    Words needs_leave_;
    Words ever_sent_;   ///< an enter of the lane's entity has been sent, or its id named
    Words restricted_;  ///< some parts are for some only
    Words owed_;        ///< not all of it fits into a packet
    Words awaited_;     ///< a part of such a one is under way
    Words lingering_;   ///< left, and its copy is kept
    Words away_;        ///< the observer may hold no more than a copy that was kept
    Words shared_;      ///< sections have told of it since its baseline
    Tick settled_ = 0;  ///< all packets of ticks up to this one have a known fate
    std::uint32_t revision_ = 1;
    std::uint32_t live_count_ = 0;
    Tick tick_ = 0;                            ///< the last one that was gathered
    FlatMap<std::uint32_t, LocalId> lane_of_;  ///< by entity index, relevant ones only
    FlatMap<std::uint32_t, LocalId> lingering_of_;
    std::uint32_t lingering_count_ = 0;
    static constexpr unsigned sent_as_bits = 2;
    Fifo<PacketRecord> records_;
    Fifo<std::uint32_t> sent_items_;  ///< of all records: lane, has_motions and SentAs
    Fifo<std::uint64_t> live_words_;  ///< of all records
    HeldReport held_report_;
    Words extrapolated_;  ///< of a kind with extrapolated fields; as long as there are such lanes
    LaneMotions motions_;
    std::vector<LocalId> held_back_;
};

template <class Visit>
void GhostTable::drop_lingering(Tick now, Visit&& visit) {
    for (std::size_t w = 0; lingering_count_ > 0 && w < lingering_.size(); ++w) {
        for_each_bit(lingering_[w], w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            if (keeping_[lane].until > now) return;
            end_lingering(lane);
            leave_reason_[lane] = Reason::left;
            set(needs_leave_, lane);
            visit(lane);
        });
    }
}

template <class ChangedIn>
void GhostTable::lost_sections(const PacketRecord& record, ChangedIn&& changed_in) {
    settled_ = record.tick - 1;
    for (std::size_t w = 0; w < live_.size(); ++w) {
        for_each_bit(live_[w] & shared_[w] & ~pending_[w], w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            // Whatever was sent on its own since had all of it.
            if (sent_tick_[lane] < record.tick && changed_in(lane)) want_again(lane, record);
        });
    }
}

template <class IsTold, class IsOff>
void GhostTable::gather(const Bitset& changed, Tick now, std::span<const std::uint64_t> covered,
                        IsTold&& is_told, IsOff&& is_off) {
    tick_ = now;
    for (std::size_t w = 0; w < live_.size(); ++w) {
        std::uint64_t asked = PURVIEW_GUARD_OR(relevance, live_[w], used_[w]) & ~pending_[w];
        if (w < covered.size()) asked &= ~covered[w];
        if (asked == 0) continue;
        std::uint64_t wanted = asked & lanes_in(changed, w);
        const std::uint64_t extrapolated = w < extrapolated_.size() ? extrapolated_[w] : 0;
        if (extrapolated != 0) {
            for_each_bit(asked & extrapolated, w * bits_per_word, [&](std::size_t l) {
                const std::uint64_t bit = std::uint64_t{1} << (l % bits_per_word);
                const auto lane = static_cast<LocalId>(l);
                if ((wanted & bit) == 0 && !motions_.is_moving(lane)) return;
                wanted = is_off(lane) ? wanted | bit : wanted & ~bit;
            });
        }
        for_each_bit(
            wanted & restricted_[w] & ~extrapolated, w * bits_per_word, [&](std::size_t lane) {
                if (!PURVIEW_GUARD(audience_of_changes, is_told(static_cast<LocalId>(lane))))
                    wanted &= ~(std::uint64_t{1} << (lane % bits_per_word));
            });
        for_each_bit(wanted & shared_[w], w * bits_per_word,
                     [&](std::size_t lane) { anchor(static_cast<LocalId>(lane)); });
        pending_[w] |= wanted;
        for_each_bit(wanted, w * bits_per_word, [&](std::size_t lane) {
            waiting_since_[lane] = pending_since_[lane] = now;
            if (unheard_since_[lane] == 0) unheard_since_[lane] = now;
        });
    }
}

}  // namespace purview
