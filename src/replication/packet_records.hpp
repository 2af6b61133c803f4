// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The content of the packets in flight to one observer, until their delivery status is known.
// Almost all of it is updates: one bit per slot. Everything else (enters, leaves, updates with
// predictor states) is an item of a list.
// Invariants: records are in the order of their packets; ticks do not decrease; a slot has at most
// one update in a packet.
// Must not depend on what a delivery status changes in a ghost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/bitset.hpp"
#include "core/fifo.hpp"
#include "protocol/local_id.hpp"
#include "purview/types.hpp"

namespace purview {

enum class SentAs : std::uint8_t { enter = 0, update = 1, leave = 2, keep = 3 };

struct SentItem {
    LocalId slot;
    SentAs as;
    bool has_motions;
};

/// One packet. Its positions are those in the queues of PacketRecords.
struct PacketRecord {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::uint32_t items = 0;       ///< number of items in the list
    std::uint32_t words = 0;       ///< length of each mask, 64 slots per word
    bool has_sections = false;     ///< has shared payloads (docs/shared.md)
    bool has_live = false;         ///< has the mask of relevant slots
    std::uint64_t first_item = 0;  ///< position in the list
    std::uint64_t updated = 0;     ///< [words] slots with an update that has no item
    std::uint64_t live = 0;        ///< [words] slots that were relevant
    std::uint64_t sectioned = 0;   ///< [words] slots in shared payloads
};

class PacketRecords {
  public:
    bool empty() const noexcept { return records_.empty(); }
    std::size_t size() const noexcept { return records_.size(); }
    const PacketRecord& oldest() const noexcept { return records_[records_.begin()]; }
    const PacketRecord& newest() const noexcept { return records_[records_.end() - 1]; }

    /// Returns whether the oldest is the last packet of its tick.
    bool oldest_ends_tick() const noexcept {
        return size() == 1 || records_[records_.begin() + 1].tick != oldest().tick;
    }

    /// Starts a new, empty record. The reference is valid until the next call.
    PacketRecord& begin(std::uint32_t sequence, Tick tick, std::size_t words) {
        PURVIEW_ASSERT(records_.empty() || newest().sequence < sequence);
        PURVIEW_ASSERT(records_.empty() || newest().tick <= tick);
        PacketRecord record;
        record.sequence = sequence;
        record.tick = tick;
        record.words = static_cast<std::uint32_t>(words);
        record.first_item = items_.end();
        record.updated = words_.end();
        words_.push_empty(words);
        records_.push(record);
        return records_[records_.end() - 1];
    }
    // Content of the newest record.
    void add(PacketRecord& record, SentItem item) {
        PURVIEW_ASSERT(record.first_item + record.items == items_.end());
        PURVIEW_ASSERT(item.slot < 1U << (32 - as_bits - 1));
        const std::uint32_t flags = (item.has_motions ? 1U : 0U) << as_bits;
        items_.push(item.slot << (as_bits + 1) | flags | static_cast<std::uint32_t>(item.as));
        ++record.items;
    }
    void add_updates(const PacketRecord& record, std::size_t word, std::uint64_t slots) noexcept {
        PURVIEW_ASSERT(word < record.words);
        PURVIEW_ASSERT((updated(record, word) & slots) == 0);  // one update per slot and packet
        words_[record.updated + word] |= slots;
    }
    /// `mask(word)` returns the relevant slots.
    template <class Mask>
    void keep_live(PacketRecord& record, Mask&& mask) {
        PURVIEW_ASSERT(record.updated + record.words == words_.end());
        record.has_live = true;
        record.live = words_.end();
        for (std::size_t w = 0; w < record.words; ++w) words_.push(mask(w));
    }
    template <class Mask>
    void add_sections(PacketRecord& record, Mask&& mask) {
        PURVIEW_ASSERT(record.updated + (record.has_live ? 2U : 1U) * record.words == words_.end());
        record.has_sections = true;
        record.sectioned = words_.end();
        for (std::size_t w = 0; w < record.words; ++w) words_.push(mask(w));
    }
    void drop_oldest() noexcept {
        const PacketRecord& gone = oldest();
        PURVIEW_ASSERT(gone.first_item == items_.begin() && gone.updated == words_.begin());
        items_.drop_before(gone.first_item + gone.items);
        const std::uint64_t masks = 1U + (gone.has_live ? 1U : 0U) + (gone.has_sections ? 1U : 0U);
        words_.drop_before(gone.updated + masks * gone.words);
        records_.drop_before(records_.begin() + 1);
        if (!records_.empty()) return;
        records_.clear();
        items_.clear();
        words_.clear();
    }

    std::uint64_t updated(const PacketRecord& record, std::size_t word) const noexcept {
        return word < record.words ? words_[record.updated + word] : 0;
    }
    std::uint64_t live(const PacketRecord& record, std::size_t word) const noexcept {
        return record.has_live && word < record.words ? words_[record.live + word] : 0;
    }
    std::uint64_t sectioned(const PacketRecord& record, std::size_t word) const noexcept {
        return record.has_sections && word < record.words ? words_[record.sectioned + word] : 0;
    }
    /// Calls visit(SentItem) for the items of the list, in the order of the packet.
    template <class Visit>
    void for_each_item(const PacketRecord& record, Visit&& visit) const {
        for (std::uint64_t at = record.first_item; at != record.first_item + record.items; ++at) {
            const std::uint32_t item = items_[at];
            visit(SentItem{item >> (as_bits + 1), static_cast<SentAs>(item & ((1U << as_bits) - 1)),
                           (item >> as_bits & 1U) != 0});
        }
    }
    /// Calls visit(record) from the oldest to the newest, until it returns false.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (auto at = records_.begin(); at != records_.end() && visit(records_[at]); ++at) {
        }
    }
    /// The same from the newest to the oldest.
    template <class Visit>
    void for_each_back(Visit&& visit) const {
        for (auto at = records_.end(); at != records_.begin() && visit(records_[at - 1]); --at) {
        }
    }

    /// Calls visit(SentItem) for the items in the order of the packet, then for the other updates
    /// by slot.
    template <class Visit>
    void for_each_sent(const PacketRecord& record, Visit&& visit) const {
        for_each_item(record, visit);
        for (std::size_t w = 0; w < record.words; ++w) {
            for_each_bit(updated(record, w), w * bits_per_word, [&](std::size_t slot) {
                visit(SentItem{static_cast<LocalId>(slot), SentAs::update, false});
            });
        }
    }
    /// Returns the packet with this number if it is the oldest in flight and had shared payloads,
    /// else null.
    const PacketRecord* oldest_with_sections(std::uint32_t sequence) const noexcept {
        if (empty()) return nullptr;
        const PacketRecord& record = oldest();
        return record.sequence == sequence && record.has_sections ? &record : nullptr;
    }

    /// Call when the delivery status of the oldest record is known. The record remains until
    /// drop_oldest().
    void begin_resolution() noexcept {
        PURVIEW_ASSERT(!empty() && last_resolved_tick_ <= oldest().tick);
        last_resolved_tick_ = oldest().tick;
    }
    /// Tick of the packet with the most recent delivery status.
    Tick last_resolved_tick() const noexcept { return last_resolved_tick_; }

    /// Prefetches the memory of the next record.
    void prefetch_end(std::size_t words) const noexcept {
        records_.prefetch_end(1);
        words_.prefetch_end(words);
    }
    std::size_t memory_bytes() const noexcept {
        return records_.memory_bytes() + items_.memory_bytes() + words_.memory_bytes();
    }

  private:
    static constexpr unsigned as_bits = 2;

    Fifo<PacketRecord> records_;
    Fifo<std::uint32_t> items_;  ///< of all records: slot, has_motions and SentAs
    Fifo<std::uint64_t> words_;  ///< of all records: their masks
    Tick last_resolved_tick_ = 0;
};

}  // namespace purview
