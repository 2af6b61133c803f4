// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What packets under way told one observer, until their fates are known. Nearly all of it are
// updates: a bit a lane. Whatever more has to be known of (enters, leaves, motions) is an item of a
// list. Must not know: what becomes of a ghost.
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
    LocalId lane;
    SentAs as;
    bool has_motions;
};

/// One packet. Positions are of the rings of PacketRecords.
struct PacketRecord {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::uint32_t items = 0;       ///< of the list
    std::uint32_t words = 0;       ///< lanes of each mask, by 64
    bool has_sections = false;     ///< shared ones (docs/shared.md)
    bool has_live = false;         ///< it is kept who was relevant
    std::uint64_t first_item = 0;  ///< of the list
    std::uint64_t updated = 0;     ///< [words] lanes with an update, and nothing more
    std::uint64_t live = 0;        ///< [words] lanes that were relevant
    std::uint64_t sectioned = 0;   ///< [words] lanes of which sections told
};

class PacketRecords {
  public:
    bool empty() const noexcept { return records_.empty(); }
    std::size_t size() const noexcept { return records_.size(); }
    const PacketRecord& oldest() const noexcept { return records_[records_.begin()]; }
    const PacketRecord& newest() const noexcept { return records_[records_.end() - 1]; }

    /// The oldest is the last of its tick.
    bool oldest_ends_tick() const noexcept {
        return size() == 1 || records_[records_.begin() + 1].tick != oldest().tick;
    }

    /// The newest from now on. Nothing has been told; the reference lasts until the next one.
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
    // Of the newest: what it told.
    void add(PacketRecord& record, SentItem item) {
        PURVIEW_ASSERT(record.first_item + record.items == items_.end());
        PURVIEW_ASSERT(item.lane < 1U << (32 - as_bits - 1));
        const std::uint32_t flags = (item.has_motions ? 1U : 0U) << as_bits;
        items_.push(item.lane << (as_bits + 1) | flags | static_cast<std::uint32_t>(item.as));
        ++record.items;
    }
    void add_updates(const PacketRecord& record, std::size_t word, std::uint64_t lanes) noexcept {
        PURVIEW_ASSERT(word < record.words);
        PURVIEW_ASSERT((updated(record, word) & lanes) == 0);  // no lane goes twice in a packet
        words_[record.updated + word] |= lanes;
    }
    /// `mask(word)`: who was relevant.
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
    /// visit(SentItem), those of the list, in the order of the packet.
    template <class Visit>
    void for_each_item(const PacketRecord& record, Visit&& visit) const {
        for (std::uint64_t at = record.first_item; at != record.first_item + record.items; ++at) {
            const std::uint32_t item = items_[at];
            visit(SentItem{item >> (as_bits + 1), static_cast<SentAs>(item & ((1U << as_bits) - 1)),
                           (item >> as_bits & 1U) != 0});
        }
    }
    /// visit(record), from the oldest to the newest, until it says false.
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

    /// Where the next record goes.
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
    Fifo<std::uint32_t> items_;  ///< of all records: lane, has_motions and SentAs
    Fifo<std::uint64_t> words_;  ///< of all records: their masks
};

}  // namespace purview
