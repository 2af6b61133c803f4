// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Builds what one observer is sent in one tick: first an ordered list of everything that is pending
// (prioritize), then packets within a byte budget (write_snapshot). What does not fit stays
// pending, and its priority grows until it is sent. If far more is pending than fits, only
// candidates become items of the list. If everything fits, most of it is a run of plain updates,
// which needs no order and no items. Must not depend on relevance or sockets.
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

/// An update of changed fields only, without kind and link.
struct PlainUpdate {
    LocalId slot = 0;
    EncodedFields body;
    static constexpr std::uint32_t no_item = 0xffffffffU;
    std::uint32_t item = no_item;  ///< index of its SnapshotItem, if it has one
};

struct SnapshotItem {
    LocalId slot = 0;
    LocalId parent = no_local_id;  ///< slot of the parent, if has_link()
    EncodedFields body;
    FieldMask references = 0;  ///< written after the body
    std::uint32_t bits = 0;    ///< maximum size without the local id
    std::uint32_t packet = 0;  ///< packet with the item, from 1 in each tick; 0: none yet
    float priority = 0;
    ItemType type = ItemType::plain;
    bool keeps = false;   ///< a leave that retains the ghost
    bool relink = false;  ///< the link is sent: parent, owner and allowed components
    /// A leave that is in flight already. It is sent again only together with an enter of its
    /// entity.
    bool repeats = false;

    /// Returns whether the item has a link, so that it may depend on other items.
    bool has_link() const noexcept { return type == ItemType::enter || relink; }
};

/// Estimates for an observer's next list, from its last one.
struct LastPlan {
    bool was_over_budget = false;  ///< by estimate, not everything fits
    bool left_some = false;        ///< not everything fit beside RPCs and fragments
    /// Slots that had the highest priority but did not fit beside RPCs and fragments, or
    /// no_local_id. Room is reserved for the first of them that is in the list.
    std::array<LocalId, 2> passed_over{no_local_id, no_local_id};
    std::uint32_t item_bits = 64;  ///< average size of an item
    float likely_priority = 0;     ///< lowest priority that will probably be sent; 0: any
    /// By KindId, the slot that is first in the next tick, for LimitOrder::round_robin.
    std::vector<LocalId> turns;
};

/// An item of a packet, in the list of items of its type.
struct ChosenItem {
    LocalId slot;
    std::uint32_t item;  ///< its index
};

/// One observer's list for one tick. Observers reuse it one after another, so it does not allocate
/// and stays in the L1 and L2 caches.
struct SnapshotPlan {
    std::vector<SnapshotItem> items;       ///< in send order
    std::span<PlainUpdate> run;            ///< plain updates without an item, by slot; written last
    std::size_t run_next = 0;              ///< first update of the run that is in no packet yet
    std::vector<std::uint64_t> run_slots;  ///< slots of the run, as a mask
    std::vector<Motion> motions;           ///< predictor states of items
    std::vector<std::uint32_t> motions_of_slot;      ///< slot -> index of its first predictor state
    std::vector<std::uint32_t> item_of_slot;         ///< slot -> index of its item + 1; 0: none
    std::array<std::uint32_t, item_types> counts{};  ///< of items and run, by type
    std::uint64_t bits = 0;                          ///< size of items and run
    std::size_t next = 0;                            ///< all items before it are in packets
    std::uint32_t packet = 0;                        ///< number of the packet being filled
    std::size_t limited = 0;                         ///< slots that wait because of limit_per_tick
    bool took_any = false;            ///< the packet that was filled last has updates or items
    bool must_send_tick = false;      ///< the first packet has a snapshot, even if empty
    std::vector<std::uint64_t> due;   ///< scratch: slots that may be sent, as a mask
    std::vector<LocalId> slots;       ///< scratch: the same, listed
    std::vector<PlainUpdate> room;    ///< storage of the run
    std::vector<std::uint64_t> keys;  ///< scratch: sort keys of slots
    /// Scratch of one packet: its items by type, except the plain ones.
    std::array<std::vector<ChosenItem>, item_types - 1> chosen;
    std::vector<PlainUpdate> plain;        ///< scratch of one packet: its plain updates
    std::vector<std::uint32_t> distances;  ///< scratch: from a local id to the next
    std::vector<LocalId> incomplete;  ///< of one packet: ghosts sent before the rest of their group
    std::vector<LocalId> referenced;  ///< of one packet: local ids in its references
    std::vector<LocalId> first;       ///< slots with items that the next packet takes first
    /// Slot for which RPCs and fragments must leave room, or no_local_id.
    LocalId kept_for = no_local_id;

    bool is_empty() const noexcept { return items.empty() && run.empty(); }
    /// Returns whether something is in no packet yet.
    bool has_more() const noexcept { return next < items.size() || run_next < run.size(); }

    /// Returns the item of the slot, or null if the list has none.
    const SnapshotItem* item_of(LocalId slot) const noexcept {
        const std::uint32_t at = slot < item_of_slot.size() ? item_of_slot[slot] : 0;
        PURVIEW_ASSERT(at == 0 || (at <= items.size() && items[at - 1].slot == slot));
        return at == 0 ? nullptr : &items[at - 1];
    }
    /// Returns the first item that is not a leave, or null.
    const SnapshotItem* most_urgent() const noexcept {
        const auto is_news = [](const SnapshotItem& item) { return item.type != ItemType::leave; };
        const auto at = std::find_if(items.begin(), items.end(), is_news);
        return at == items.end() ? nullptr : &*at;
    }
    /// Call after the last packet. Returns the slot with the highest priority, leaves excepted, if
    /// it is in no packet; otherwise no_local_id.
    LocalId left_out() const noexcept {
        if (const SnapshotItem* priority = most_urgent(); priority != nullptr)
            return priority->packet == 0 ? priority->slot : no_local_id;
        return run_next == 0 && !run.empty() ? run.front().slot : no_local_id;
    }
    /// Returns the bits that the next packet must reserve for `kept_for`, with the leaves before it
    /// and the parents that it needs.
    std::uint64_t kept_bits() const noexcept {
        constexpr std::uint64_t position_bits = 64;  // generous: local id and counts
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

    /// Predictor states that are appended from now on belong to the slot.
    void begin_motions(LocalId slot) {
        if (motions_of_slot.size() < item_of_slot.size())
            motions_of_slot.resize(item_of_slot.size());
        motions_of_slot[slot] = static_cast<std::uint32_t>(motions.size());
    }
    void skip_taken() noexcept {
        while (next < items.size() && items[next].packet != 0) ++next;
    }
    void clear_run() noexcept {
        run = {};
        run_slots.clear();
    }
    /// Empties the plan.
    void clear() noexcept {
        for (const SnapshotItem& item : items) item_of_slot[item.slot] = 0;
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
        must_send_tick = took_any = false;
    }
};

/// Prefetches what `prioritize` reads for enters and leaves: these entities are far apart in
/// memory.
void prefetch_changes(const ReplicationInput& input, const GhostTable& ghosts);

/// Unlimited budget. Limits of kinds are ignored, too.
inline constexpr std::uint64_t unlimited_bits = ~std::uint64_t{0};

/// Fills the plan, which must be empty. Sorts by priority only if not everything fits into
/// `budget_bits`. Equal priorities are ordered by local id, never by data that the observer must
/// not see.
void prioritize(const ReplicationInput& input, GhostTable& ghosts, std::uint64_t budget_bits,
                LastPlan& last, SnapshotPlan& plan);

/// Returns the size of a snapshot with only its tick.
std::uint64_t empty_snapshot_bits(const FieldStore& fields) noexcept;

/// Writes a one bit and a snapshot, together at most `capacity_bits`, and records the content in
/// the ghost table under `sequence`. Returns false and writes nothing if no part of the plan fits
/// and neither shared payloads nor the tick must be sent. `shared`: null, or a reader; its planned
/// payloads are written if all of them fit.
bool write_snapshot(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                    SharedReader* shared, std::uint32_t sequence, std::uint64_t capacity_bits,
                    BitWriter& out);

/// Returns the maximum size of the count and the local ids of `count` items of one type among
/// `slots` slots. The distances between the ids add up to at most the number of other slots.
std::uint64_t section_bits_max(ItemType type, std::uint32_t count, std::uint32_t slots) noexcept;

/// Returns whether all members of the group that the observer may see have arrived or are in this
/// packet of the plan (null: in none).
bool is_whole(const ReplicationInput& input, const GhostTable& ghosts, EntityId root,
              const SnapshotPlan* plan) noexcept;
/// Returns whether the item makes the ghost present: an enter, or the resume of a retained ghost.
bool makes_present(const GhostTable& ghosts, const SnapshotItem& item) noexcept;
/// Returns whether the link differs from what was sent last (parent, owner or allowed components),
/// or a retained ghost is resumed.
bool has_new_link(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot);
/// Returns whether the observer has the ghost, or `slot` is no_local_id.
bool is_present(const GhostTable& ghosts, LocalId slot) noexcept;

/// Pending slots that the plan could not send: their number, and the age of the oldest in ticks.
struct Backlog {
    std::uint32_t count = 0;
    Tick age_ticks_max = 0;
};
Backlog backlog_of(const GhostTable& ghosts, Tick now) noexcept;

/// Lower bound of the relevance score in a priority weight. docs/budget.md derives the longest wait
/// from it.
inline constexpr float score_floor = 0.25F;

/// Returns the maximum size of the body of an entity alone in its packet, with references.
std::uint64_t body_bits_alone(std::uint32_t budget_bytes) noexcept;

}  // namespace purview
