// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer holds of the world, as far as the server knows: its ghosts, by local id (lane).
//
//   free --enter--> entering --enter acknowledged--> present --leave--> leaving --leave
//   acknowledged--> free
//                       '--leave, never sent--> free
//
// Keyed by entity id and blind to slots. Local ids are dense and small, so an observer can tell
// neither how many hidden entities there are nor their ids; an id is free again only when a packet
// that carried the leave is acknowledged, so an id on the wire never speaks of two entities.
// Must not know: grids, windows, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "core/flat_map.hpp"
#include "purview/ids.hpp"
#include "purview/interest.hpp"

namespace purview {

using LocalId = std::uint32_t;
inline constexpr LocalId no_local_id = 0xffffffffU;

enum class SentAs : std::uint8_t { enter = 0, update = 1, leave = 2 };

struct SentItem {
    LocalId lane;
    SentAs as;
};

/// What a packet under way carried.
struct PacketRecord {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::vector<SentItem> items;
    std::vector<std::uint64_t> live;  ///< relevant lanes when it was sent, a bit each
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
    void leave(EntityId entity, Reason reason);
    /// The lane of a relevant entity, or no_local_id.
    LocalId find(EntityId entity) const noexcept {
        const LocalId* lane = lane_of_.find(index_of(entity));
        return lane != nullptr && entity_[*lane] == entity ? *lane : no_local_id;
    }
    /// Whether the observer owns it: told with the next update.
    void set_owned(EntityId entity, bool owned, Tick now);
    /// What the observer is not known to have of a relevant lane goes into this tick's plan.
    void request(LocalId lane, Tick now) noexcept {
        if (test(live_, lane)) want(lane, now);
    }
    /// pending |= live & changed.
    void gather(const Bitset& changed, Tick now);

    // -- columns by lane ------------------------------------------------------------------------
    std::uint32_t lane_end() const noexcept { return static_cast<std::uint32_t>(entity_.size()); }
    std::uint32_t live_count() const noexcept { return live_count_; }
    EntityId entity(LocalId lane) const noexcept { return entity_[lane]; }
    KindId kind(LocalId lane) const noexcept { return kind_[lane]; }
    bool owned(LocalId lane) const noexcept { return owned_[lane] != 0; }
    Reason leave_reason(LocalId lane) const noexcept { return leave_reason_[lane]; }
    /// What the observer has at least, if it holds the ghost: state as of this tick.
    Tick baseline(LocalId lane) const noexcept { return baseline_[lane]; }
    Tick meta_tick(LocalId lane) const noexcept { return meta_tick_[lane]; }
    Tick waiting_since(LocalId lane) const noexcept { return waiting_since_[lane]; }
    /// Acknowledged: the observer has it.
    bool is_held(LocalId lane) const noexcept { return test(held_, lane); }
    bool is_live(LocalId lane) const noexcept { return test(live_, lane); }
    bool needs_enter(LocalId lane) const noexcept { return test(needs_enter_, lane); }
    /// Lanes by mask, 64 to a word.
    std::span<const std::uint64_t> pending() const noexcept { return pending_; }
    std::span<const std::uint64_t> needs_leave() const noexcept { return needs_leave_; }
    std::span<const std::uint64_t> live() const noexcept { return live_; }

    // -- sending --------------------------------------------------------------------------------
    /// Nothing to tell after all: it is not pending any more.
    void settle(LocalId lane) noexcept { reset(pending_, lane); }
    /// The packet goes out with these items; kept until its fate is known.
    PacketRecord& begin_record(std::uint32_t sequence, Tick tick);
    /// The record begun last.
    const PacketRecord& last_record() const noexcept {
        return records_[(records_end_ - 1) % records_.size()];
    }
    void sent(PacketRecord& record, LocalId lane, SentAs as);
    /// The fate of a packet; in order of sequence, each once. Numbers without a record are ignored.
    void resolve(std::uint32_t sequence, bool delivered, Tick now);
    const HeldReport& held_report() const noexcept { return held_report_; }
    std::size_t records_under_way() const noexcept { return records_end_ - records_begin_; }
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
    void free_lane(LocalId lane) noexcept;
    void want(LocalId lane, Tick now) noexcept;
    void delivered(const PacketRecord& record);
    void lost(const PacketRecord& record, Tick now);

    std::vector<EntityId> entity_;
    std::vector<KindId> kind_;
    std::vector<std::uint8_t> owned_;
    std::vector<Reason> leave_reason_;
    std::vector<Tick> baseline_;
    std::vector<Tick> meta_tick_;
    std::vector<Tick> waiting_since_;
    std::vector<std::uint32_t> last_sequence_;
    Words used_;
    Words live_;
    Words held_;
    Words pending_;
    Words needs_enter_;
    Words needs_leave_;
    Words ever_sent_;  ///< an enter of the lane's entity has been sent
    std::uint32_t live_count_ = 0;
    FlatMap<std::uint32_t, LocalId> lane_of_;  ///< by entity index, relevant ones only
    std::vector<PacketRecord> records_;        ///< ring, oldest first
    std::size_t records_begin_ = 0;
    std::size_t records_end_ = 0;
    HeldReport held_report_;
};

}  // namespace purview
