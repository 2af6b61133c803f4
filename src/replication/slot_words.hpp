// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Flags of the ghost slots of one observer: one bit per slot, 64 slots to a word. Each part of the
// ghost table can access only its own flags (SlotFlags). Every tick reads all of them, so they are
// stored in blocks beside the entity indices of the same 64 slots, and the blocks of an observer
// are contiguous.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/prefetch.hpp"
#include "protocol/local_id.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

constexpr std::size_t slot_word(LocalId slot) noexcept {
    return slot / bits_per_word;
}
constexpr std::uint64_t slot_bit(LocalId slot) noexcept {
    return std::uint64_t{1} << (slot % bits_per_word);
}

/// State of 64 slots, a bit each.
struct SlotWords {
    std::uint64_t used = 0;
    std::uint64_t live = 0;  ///< its entity is relevant
    std::uint64_t needs_enter = 0;
    std::uint64_t needs_leave = 0;
    std::uint64_t held = 0;          ///< acknowledged: the observer has the ghost
    std::uint64_t away = 0;          ///< acknowledged: at most a retained ghost
    std::uint64_t ever_sent = 0;     ///< a packet had its enter or referred to its id
    std::uint64_t extrapolated = 0;  ///< of a kind with dead-reckoned fields
};

/// What waits in 64 slots, a bit each.
struct SendWords {
    std::uint64_t pending = 0;
    /// A part of a staged update is in flight. Nothing more is sent before its delivery status is
    /// known.
    std::uint64_t blocked = 0;
    std::uint64_t has_older_baseline = 0;  ///< its SlotTimes are stored
    /// Pending since the last gathered tick. No times are stored for these slots, because most are
    /// sent in that tick. All other pending slots have an older baseline.
    std::uint64_t changed_this_tick = 0;
};

/// Whether 64 slots have data to send besides changed fields (GhostMarks).
struct MarkWords {
    std::uint64_t special = 0;
};

/// Allowed components of 64 slots (GhostAudience).
struct AudienceWords {
    std::uint64_t restricted = 0;   ///< of a kind with components with an audience
    std::uint64_t public_only = 0;  ///< of `restricted`: exactly the public components (KindLayout)
};

/// Flags of SendRates.
struct RateWords {
    std::uint64_t has_policy = 0;
};

/// Since when pending slots wait, for 64 slots (SendState).
using SlotWaits = std::array<Tick, bits_per_word>;
/// Send weights of 64 slots (SendRates).
using SlotWeights = std::array<float, bits_per_word>;

constexpr SlotWeights default_weights() noexcept {
    SlotWeights weights{};
    weights.fill(1);
    return weights;
}

/// Times of a slot with an older baseline. `sent` is also stored for special slots, slots with a
/// send policy, and slots with an item in a packet other than a plain enter.
struct SlotTimes {
    Tick baseline = 0;  ///< the observer has everything as of this tick
    Tick sent = 0;      ///< tick of the last packet with the ghost
    /// Tick since which the slot is pending. If it is not pending, the tick in which its last wait
    /// ended (waits within one tick excepted).
    Tick pending_since = 0;
    /// Tick of the oldest change that the observer may not have, in flight or waiting; 0: none.
    Tick unacked_since = 0;
};

/// Data of 64 slots that a tick reads. All parts share one allocation: an observer's data is read
/// once per tick and is then in no cache, so each separate array would cost a cache miss.
struct alignas(cache_line_bytes) SlotBlock {
    SlotWords life;  ///< of GhostSlots
    SendWords send;  ///< of SendState
    MarkWords marks;
    AudienceWords audience;
    RateWords rates;
    std::array<std::uint32_t, bits_per_word> index{};  ///< entity index; of GhostSlots
    // -- not read for every slot
    SlotWaits waiting_since{};                   ///< of SendState
    SlotWeights weights = default_weights();     ///< of SendRates
    std::array<SlotTimes, bits_per_word> times;  ///< of SendState
    std::array<KindId, bits_per_word> kind{};    ///< of GhostSlots
};

static_assert(offsetof(SlotBlock, send) == cache_line_bytes);
static_assert(offsetof(SlotBlock, index) == 2 * cache_line_bytes);

/// Identity and history of a slot (GhostSlots).
struct SlotLife {
    EntityId entity = EntityId::none;
    Tick entered = 0;
    Tick left = 0;
    Reason enter_reason = Reason::entered;
    Reason leave_reason = Reason::left;
    /// Packets in flight that carry its leave (not one that retains the ghost).
    std::uint16_t leaves_in_flight = 0;
};

/// Ticks of the marks of a slot (GhostMarks).
struct SlotMarks {
    Tick link = 0;
    Tick reference = 0;
    Tick resumed = 0;
    Tick requested = 0;
    Tick disowned = 0;
    bool is_owned = false;
};

/// Data of a slot that most ghosts need only when they enter or leave.
struct alignas(cache_line_bytes) SlotDetails {
    SlotLife life;
    SlotMarks marks;
};

static_assert(sizeof(SlotDetails) == cache_line_bytes);

/// The storage of all slots of one observer. GhostSlots adds blocks.
class SlotBlocks {
  public:
    SlotBlocks() = default;
    explicit SlotBlocks(std::size_t words) : blocks_(words), details_(words * bits_per_word) {}

    std::size_t size() const noexcept { return blocks_.size(); }
    std::size_t capacity() const noexcept { return blocks_.capacity(); }
    SlotBlock& operator[](std::size_t word) noexcept { return blocks_[word]; }
    const SlotBlock& operator[](std::size_t word) const noexcept { return blocks_[word]; }
    SlotDetails& details(LocalId slot) noexcept { return details_[slot]; }
    const SlotDetails& details(LocalId slot) const noexcept { return details_[slot]; }
    auto begin() const noexcept { return blocks_.begin(); }
    auto end() const noexcept { return blocks_.end(); }
    void reserve(std::size_t words) {
        blocks_.reserve(words);
        details_.reserve(words * bits_per_word);
    }
    /// Adds a block of free slots.
    void add() {
        blocks_.emplace_back();
        details_.resize(blocks_.size() * bits_per_word);
    }
    std::size_t memory_bytes() const noexcept {
        return blocks_.size() * sizeof(SlotBlock) + details_.size() * sizeof(SlotDetails);
    }

  private:
    LineVector<SlotBlock> blocks_;
    LineVector<SlotDetails> details_;  ///< by slot
};

/// One part of each block. `Part`: the field of SlotBlock.
template <auto Part>
class SlotArrays {
  public:
    explicit SlotArrays(SlotBlocks& blocks) noexcept : blocks_(blocks) {}

    auto& operator[](std::size_t word) noexcept { return blocks_[word].*Part; }
    const auto& operator[](std::size_t word) const noexcept { return blocks_[word].*Part; }
    auto& at(LocalId slot) noexcept { return (*this)[slot_word(slot)][slot % bits_per_word]; }
    const auto& at(LocalId slot) const noexcept {
        return (*this)[slot_word(slot)][slot % bits_per_word];
    }

  private:
    SlotBlocks& blocks_;
};

/// One part of the details of each slot. `Part`: the field of SlotDetails.
template <auto Part>
class SlotRecords {
  public:
    explicit SlotRecords(SlotBlocks& blocks) noexcept : blocks_(blocks) {}

    auto& operator[](LocalId slot) noexcept { return blocks_.details(slot).*Part; }
    const auto& operator[](LocalId slot) const noexcept { return blocks_.details(slot).*Part; }

  private:
    SlotBlocks& blocks_;
};

/// One flag of all slots, 64 slots per word. Valid until blocks are added. `Part`: the field of
/// SlotBlock that contains it.
template <auto Part>
class SlotMask;
template <class Words, Words SlotBlock::*Part>
class SlotMask<Part> {
  public:
    using Flag = std::uint64_t Words::*;

    SlotMask(const SlotBlocks& blocks, Flag flag) noexcept
        : blocks_(blocks.begin(), blocks.end()), flag_(flag) {}
    std::size_t size() const noexcept { return blocks_.size(); }
    std::uint64_t operator[](std::size_t word) const noexcept { return blocks_[word].*Part.*flag_; }

  private:
    std::span<const SlotBlock> blocks_;
    Flag flag_;
};

/// All flags of one part of the ghost table.
template <auto Part>
class SlotFlags;
template <class Words, Words SlotBlock::*Part>
class SlotFlags<Part> {
    static_assert(sizeof(Words) % sizeof(std::uint64_t) == 0);

  public:
    using Mask = SlotMask<Part>;
    using Flag = typename Mask::Flag;

    explicit SlotFlags(SlotBlocks& blocks) noexcept : blocks_(blocks) {}

    std::size_t size() const noexcept { return blocks_.size(); }
    Words& operator[](std::size_t word) noexcept { return blocks_[word].*Part; }
    const Words& operator[](std::size_t word) const noexcept { return blocks_[word].*Part; }

    bool test(Flag flag, LocalId slot) const noexcept {
        PURVIEW_ASSERT(slot_word(slot) < blocks_.size());
        return ((*this)[slot_word(slot)].*flag >> (slot % bits_per_word) & 1U) != 0;
    }
    void set(Flag flag, LocalId slot) noexcept { (*this)[slot_word(slot)].*flag |= slot_bit(slot); }
    void reset(Flag flag, LocalId slot) noexcept {
        (*this)[slot_word(slot)].*flag &= ~slot_bit(slot);
    }
    void assign(Flag flag, LocalId slot, bool value) noexcept {
        value ? set(flag, slot) : reset(flag, slot);
    }
    /// Resets all flags of the slot.
    void reset_all(LocalId slot) noexcept {
        using All = std::array<std::uint64_t, sizeof(Words) / sizeof(std::uint64_t)>;
        Words& words = (*this)[slot_word(slot)];
        auto all = std::bit_cast<All>(words);
        for (std::uint64_t& word : all) word &= ~slot_bit(slot);
        words = std::bit_cast<Words>(all);
    }
    Mask mask(Flag flag) const noexcept { return {blocks_, flag}; }

  private:
    SlotBlocks& blocks_;
};

}  // namespace purview
