// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer is sent in one tick: an ordered list of what it waits for (prioritize), then
// packets of it within a byte budget (write_snapshot). What does not fit stays pending and grows
// older, so it comes first some day. Where far more waits than fits, only what may fit becomes an
// item of the list; where all fits, most of it is a run of plain updates, which needs no order and
// no items. Must not know: who is relevant and why; sockets.
//
// Parent gate: a child enters only in a packet that also brings its parent, or after the parent is
// known to have arrived (O1). One ghost per entity: an enter goes only into a packet that also
// carries the leaves of the entity's older ghosts, unless they are known to have arrived. Layout of
// a snapshot: PROTOCOL.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trim.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/rice.hpp"
#include "protocol/snapshot_format.hpp"
#include "replication/encode_cache.hpp"
#include "replication/ghost_table.hpp"
#include "replication/replication_input.hpp"
#include "replication/shared_reader.hpp"
#include "world/world_data.hpp"

namespace purview {

enum class ItemType : std::uint8_t { leave, enter, verbose, plain };

inline constexpr std::size_t item_types = 4;

/// An update as it goes into a packet: nothing but what changed.
struct PlainUpdate {
    LocalId lane = 0;
    EncodedFields body;
    static constexpr std::uint32_t no_item = 0xffffffffU;
    std::uint32_t item = no_item;  ///< index of its SnapshotItem, if there is more to it
};

struct SnapshotItem {
    LocalId lane = 0;
    LocalId parent = no_local_id;  ///< lane of the parent, where has_link()
    EncodedFields body;
    FieldMask references = 0;  ///< follow the body
    std::uint32_t bits = 0;    ///< what it costs at most, its place among the lanes aside
    std::uint32_t packet = 0;  ///< that took it, from 1 on in each tick; 0: none yet
    float priority = 0;
    ItemType type = ItemType::plain;
    bool keeps = false;   ///< a leave after which the copy stays
    bool relink = false;  ///< parent or owner is told anew
    /// A leave that is in flight already: it is sent again only beside an enter of its entity.
    bool repeats = false;

    /// It may have to come with others, or after them.
    bool has_link() const noexcept { return type == ItemType::enter || relink; }
};

/// What an observer's next list may count on, by the last one.
struct LastPlan {
    bool was_over_budget = false;  ///< not everything fitted, by reckoning
    bool left_some = false;        ///< nor into the packets: calls and fragments have their share
    /// Who were the most urgent and found no room beside those, until they have been kept some; the
    /// second, while the first is not listed. Or no_local_id.
    std::array<LocalId, 2> passed_over{no_local_id, no_local_id};
    std::uint32_t item_bits = 64;  ///< an item's
    float likely_priority = 0;     ///< that will be enough; 0: any
    /// Of kinds with a limit by turns, by KindId: the lane that the next turn begins with.
    std::vector<LocalId> turns;
};

/// Items of one type that go into a packet.
struct ChosenItem {
    LocalId lane;
    std::uint32_t item;  ///< its index
};

/// One observer's list for one tick. Reused, by one observer after the other: so it does not
/// allocate, and stays in the nearest caches.
struct SnapshotPlan {
    std::vector<SnapshotItem> items;       ///< in send order
    std::span<PlainUpdate> run;            ///< updates that have no item, by lane; may go last
    std::size_t run_next = 0;              ///< of the run: first that is not taken yet
    std::vector<std::uint64_t> run_lanes;  ///< of the run, by mask
    std::vector<Motion> motions;           ///< that items tell of extrapolated fields
    std::vector<std::uint32_t> motions_of_lane;  ///< lane -> its first of them, where it has some
    std::vector<std::uint32_t> item_of_lane;     ///< lane -> index + 1, for the parent gate
    std::array<std::uint32_t, item_types> counts{};  ///< of items and run, by type
    std::uint64_t bits = 0;                          ///< of all of them
    std::size_t next = 0;                            ///< first item that may not be taken yet
    std::uint32_t packet = 0;                        ///< the one being filled
    std::size_t limited = 0;                         ///< that wait because of KindDef::limit
    bool took_any = false;                           ///< the packet filled last has items
    bool must_tell_tick = false;      ///< the first packet has a snapshot, if only of nothing
    std::vector<std::uint64_t> due;   ///< scratch: lanes that may go, by mask
    std::vector<LocalId> lanes;       ///< scratch: the same, listed
    std::vector<PlainUpdate> room;    ///< that the run lies in
    std::vector<std::uint64_t> keys;  ///< scratch: what waits, by priority
    /// Scratch of one packet: its items, by type, but the plain ones.
    std::array<std::vector<ChosenItem>, item_types - 1> chosen;
    std::vector<PlainUpdate> plain;        ///< scratch of one packet: its plain updates
    std::vector<std::uint32_t> distances;  ///< scratch: from a local id to the next
    std::vector<LocalId> first;            ///< lanes whose items the next packet takes first
    /// The lane that calls and fragments leave its room; or no_local_id.
    LocalId kept_for = no_local_id;

    bool is_empty() const noexcept { return items.empty() && run.empty(); }
    /// Something has not been taken.
    bool has_more() const noexcept { return next < items.size() || run_next < run.size(); }

    /// Of what the lane waits for this tick; null: nothing, or not in this list.
    const SnapshotItem* item_of(LocalId lane) const noexcept {
        const std::uint32_t at = lane < item_of_lane.size() ? item_of_lane[lane] : 0;
        PURVIEW_ASSERT(at == 0 || (at <= items.size() && items[at - 1].lane == lane));
        return at == 0 ? nullptr : &items[at - 1];
    }
    /// The first in the list that is no leave, taken or not; null: there is none.
    const SnapshotItem* most_urgent() const noexcept {
        const auto is_news = [](const SnapshotItem& item) { return item.type != ItemType::leave; };
        const auto at = std::find_if(items.begin(), items.end(), is_news);
        return at == items.end() ? nullptr : &*at;
    }
    /// Of the whole list, after its last packet: the lane of the most urgent, if it is still here.
    LocalId left_out() const noexcept {
        if (const SnapshotItem* priority = most_urgent(); priority != nullptr)
            return priority->packet == 0 ? priority->lane : no_local_id;
        return run_next == 0 && !run.empty() ? run.front().lane : no_local_id;
    }
    /// Of the next packet: what may be nothing else's. Leaves go before it, and parents that it
    /// cannot come without.
    std::uint64_t kept_bits() const noexcept {
        constexpr std::uint64_t position_bits =
            64;  // among the lanes, and of its section; generously
        const SnapshotItem* item = item_of(kept_for);
        if (item == nullptr || item->packet != 0) return 0;
        std::uint64_t kept = 0;
        for (std::size_t i = next; i < items.size() && items[i].type == ItemType::leave; ++i)
            kept += items[i].bits + position_bits / 4;
        for (; item != nullptr && item->packet == 0; item = item_of(item->parent)) {
            kept += item->bits + position_bits;
            if (!item->has_link()) break;
        }
        return kept;
    }

    /// The motions that are appended from now on are the lane's.
    void begin_motions(LocalId lane) {
        if (motions_of_lane.size() < item_of_lane.size())
            motions_of_lane.resize(item_of_lane.size());
        motions_of_lane[lane] = static_cast<std::uint32_t>(motions.size());
    }
    void skip_taken() noexcept {
        while (next < items.size() && items[next].packet != 0) ++next;
    }
    void clear_run() noexcept {
        run = {};
        run_lanes.clear();
    }
    /// Nothing waits.
    void clear() noexcept {
        for (const SnapshotItem& item : items) item_of_lane[item.lane] = 0;
        items.clear();
        clear_run();
        run_next = 0;
        motions.clear();
        first.clear();
        kept_for = no_local_id;
        counts = {};
        bits = 0;
        next = 0;
        packet = 0;
        limited = 0;
        must_tell_tick = took_any = false;
    }
};

/// What `prioritize` will look at of who comes and goes: entities that are far apart.
void prefetch_changes(const ReplicationInput& input, const GhostTable& ghosts);

/// A budget that holds everything; limits of kinds do not count with it.
inline constexpr std::uint64_t unlimited_bits = ~std::uint64_t{0};

/// Fills the plan, which is empty; sorted by priority only where `budget_bits` cannot hold
/// everything. Ties are broken by local id, never by anything that an observer must not see.
void prioritize(const ReplicationInput& input, GhostTable& ghosts, std::uint64_t budget_bits,
                LastPlan& last, SnapshotPlan& plan);

/// Of a snapshot that says no more than which tick it is.
std::uint64_t empty_snapshot_bits(const FieldStore& fields) noexcept;

/// Writes a one bit and a snapshot, together at most `capacity_bits`, and notes what it holds in
/// the ghost table under `sequence`. False, with nothing written, when the plan has nothing that
/// fits. `shared`: goes along if all its planned sections fit; or null.
bool write_snapshot(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                    SharedReader* shared, std::uint32_t sequence, std::uint64_t capacity_bits,
                    BitWriter& out);

/// What the local ids of `count` items of one type cost at most, among so many lanes, with their
/// count: the distances between them add up to no more than the lanes that are left over.
std::uint64_t section_bits_max(ItemType type, std::uint32_t count, std::uint32_t lanes) noexcept;

/// All of the group that the observer may see has arrived, or comes with this packet of the plan
/// (null: with none).
bool is_whole(const ReplicationInput& input, const GhostTable& ghosts, EntityId root,
              const SnapshotPlan* plan) noexcept;
/// It makes the ghost present: an enter, or what a copy goes on with.
bool makes_present(const GhostTable& ghosts, const SnapshotItem& item) noexcept;
/// A parent, an owner or parts that are told are others than in what was sent last, or a copy goes
/// on.
bool has_new_link(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane);
/// The observer has it, or it is nobody.
bool is_present(const GhostTable& ghosts, LocalId lane) noexcept;

/// Pending lanes that the plan could not send: how many, and the age of the oldest in ticks.
struct Backlog {
    std::uint32_t count = 0;
    Tick age_ticks_max = 0;
};
Backlog backlog_of(const GhostTable& ghosts, Tick now) noexcept;

/// Weights in the send order: docs/budget.md derives from them how long anything can wait.
inline constexpr float score_floor = 0.25F;

/// Bits that the body of an entity alone in its packet may have, references included.
std::uint64_t body_bits_alone(std::uint32_t budget_bytes) noexcept;

}  // namespace purview
