// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The ghost slots of one observer by local id: the entity of each slot, and its state between enter
// and acknowledged leave. Finds the slot of an entity.
//
//   free --enter--> entering --enter acknowledged--> held --leave--> leaving --acknowledged--> free
//                      '--leave, never sent--> free
//   leaving --enter--> a second slot of the entity
//   held --leave, retained--> retained --enter--> held
//                                '--retention ends--> leaving
//
// Slots are found by entity id and do not depend on the slots of the world. Local ids are dense and
// small, so an observer cannot derive the number or the ids of hidden entities from them. An id is
// reused only after a packet with its leave was acknowledged, so on the wire it never refers to two
// entities. An entity that returns earlier has two slots for a while. Every packet with the enter
// of the new slot repeats the leave of the old one (for_each_superseded).
// Invariants: is_sound(). Must not depend on baselines, retention or packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/change_log.hpp"
#include "core/flat_map.hpp"
#include "core/gather_bits.hpp"
#include "core/mutate.hpp"
#include "purview/types.hpp"
#include "replication/slot_succession.hpp"
#include "replication/slot_words.hpp"

namespace purview {

class GhostSlots {
  public:
    using Mask = SlotMask<&SlotBlock::life>;

    explicit GhostSlots(SlotBlocks& blocks) noexcept
        : flags_(blocks), blocks_(blocks), life_(blocks) {}
    GhostSlots(const GhostSlots&) = delete;  // blocks belong to one table
    GhostSlots& operator=(const GhostSlots&) = delete;

    // -- look-up --------------------------------------------------------------------------------
    /// Returns the slot of a relevant entity, or no_local_id.
    LocalId find(EntityId entity) const noexcept {
        if (index_of(entity) == 0xffffffffU) return no_local_id;  // reserved by the map
        const LocalId slot = find_at(index_of(entity));
        return slot != no_local_id && PURVIEW_GUARD(ghost_generation, this->entity(slot) == entity)
                   ? slot
                   : no_local_id;
    }
    /// Returns the slot of the relevant entity with this index, or no_local_id.
    LocalId find_at(std::uint32_t index) const noexcept {
        const LocalId* slot = slot_of_.find(index);
        return slot != nullptr && is_live(*slot) ? *slot : no_local_id;
    }
    /// For many look-ups, prefetch in two steps: first this for all entities, then prefetch_slot().
    void prefetch(EntityId entity) const noexcept { slot_of_.prefetch(index_of(entity)); }
    /// Returns the newest slot of any entity with this index, live or not; or no_local_id.
    LocalId newest(EntityId entity) const noexcept {
        const LocalId* slot = slot_of_.find(index_of(entity));
        return slot != nullptr ? *slot : no_local_id;
    }
    void prefetch_slot(LocalId slot) const noexcept { prefetch_line(&life_[slot]); }
    /// For many releases, prefetch in two steps: first this, then prefetch_release().
    void prefetch_index(LocalId slot) const noexcept {
        prefetch_line(&blocks_[slot_word(slot)].index[slot % bits_per_word]);
    }
    void prefetch_release(LocalId slot) const noexcept { slot_of_.prefetch(entity_index(slot)); }
    /// Calls visit(slot) for every older slot of the same entity with a leave that is not known to
    /// have arrived. A packet with the enter of `slot` must also have these leaves. Then the old
    /// ghost ends when the new one starts, and the observer never has both.
    template <class Visit>
    void for_each_superseded(LocalId slot, Visit&& visit) const {
        if (!PURVIEW_GUARD_OR(one_ghost, !succession_.is_empty(), false)) return;
        for (slot = succession_.older_of(slot); slot != no_local_id;
             slot = succession_.older_of(slot)) {
            if (was_ever_sent(slot)) visit(slot);
        }
    }
    const SlotSuccession& succession() const noexcept { return succession_; }
    /// Log of entity indices with changed relevance.
    const ChangeLog& enter_leave_log() const noexcept { return enter_leave_log_; }

    // -- one slot -------------------------------------------------------------------------------
    EntityId entity(LocalId slot) const noexcept { return life_[slot].entity; }
    std::uint32_t entity_index(LocalId slot) const noexcept {
        return blocks_[slot_word(slot)].index[slot % bits_per_word];
    }
    KindId kind(LocalId slot) const noexcept {
        return blocks_[slot_word(slot)].kind[slot % bits_per_word];
    }
    bool is_used(LocalId slot) const noexcept { return flags_.test(&SlotWords::used, slot); }
    bool is_live(LocalId slot) const noexcept { return flags_.test(&SlotWords::live, slot); }
    /// Acknowledged: the observer has the ghost.
    bool is_held(LocalId slot) const noexcept { return flags_.test(&SlotWords::held, slot); }
    /// Acknowledged: the observer has at most a retained ghost.
    bool is_away(LocalId slot) const noexcept { return flags_.test(&SlotWords::away, slot); }
    bool is_extrapolated(LocalId slot) const noexcept {
        return flags_.test(&SlotWords::extrapolated, slot);
    }
    bool needs_enter(LocalId slot) const noexcept {
        return flags_.test(&SlotWords::needs_enter, slot);
    }
    bool was_ever_sent(LocalId slot) const noexcept {
        return flags_.test(&SlotWords::ever_sent, slot);
    }
    /// Tick of the last packet with its enter; 0: none yet.
    Tick entered_tick(LocalId slot) const noexcept { return life_[slot].entered; }
    /// Tick in which its entity left or its retention ended.
    Tick left_tick(LocalId slot) const noexcept { return life_[slot].left; }
    /// Reason of the last enter.
    Reason enter_reason(LocalId slot) const noexcept { return life_[slot].enter_reason; }
    Reason leave_reason(LocalId slot) const noexcept { return life_[slot].leave_reason; }

    // -- all slots ------------------------------------------------------------------------------
    /// All slots are below this multiple of 64.
    std::uint32_t end() const noexcept {
        return static_cast<std::uint32_t>(flags_.size() * bits_per_word);
    }
    std::size_t words() const noexcept { return flags_.size(); }
    /// Number of words for which there is storage.
    std::size_t room() const noexcept { return blocks_.capacity(); }
    std::uint32_t live_count() const noexcept { return live_count_; }
    std::uint32_t used_count() const noexcept { return used_count_; }
    const SlotWords& of(std::size_t word) const noexcept { return flags_[word]; }
    Mask live() const noexcept { return flags_.mask(&SlotWords::live); }
    Mask held() const noexcept { return flags_.mask(&SlotWords::held); }
    Mask needs_enter() const noexcept { return flags_.mask(&SlotWords::needs_enter); }
    Mask needs_leave() const noexcept { return flags_.mask(&SlotWords::needs_leave); }
    /// Returns the slots of a word with an entity in the set. Bits of free slots are arbitrary.
    std::uint64_t slots_in(const Bitset& entities, std::size_t word) const noexcept {
        return gather_bits(entities.words(), blocks_[word].index);
    }
    /// For assertions: checks all slots.
    bool is_sound() const noexcept;
    std::size_t memory_bytes() const noexcept;

    // -- relevance ------------------------------------------------------------------------------
    /// Assigns the lowest free slot to the entity. Enters of one tick must be in the order of spawn
    /// numbers.
    LocalId enter(EntityId entity, KindId kind, Reason reason);
    /// Makes a retained slot live again: its entity is relevant.
    void resume(LocalId slot, Reason reason);
    /// Ends relevance. Returns false if nothing of the entity was ever sent to the observer; then
    /// call release() at once.
    bool leave(LocalId slot, Reason reason, Tick now);
    /// Ends retention: a leave must be sent.
    void retention_ended(LocalId slot, Tick now) noexcept;
    void release(LocalId slot) noexcept;
    void set_extrapolated(LocalId slot) noexcept { flags_.set(&SlotWords::extrapolated, slot); }

    // -- packets --------------------------------------------------------------------------------
    void enter_sent(LocalId slot, Tick tick) noexcept {
        flags_.reset(&SlotWords::needs_enter, slot);
        flags_.set(&SlotWords::ever_sent, slot);
        life_[slot].entered = tick;
    }
    void enter_delivered(LocalId slot) noexcept { flags_.set(&SlotWords::held, slot); }
    void enter_lost(LocalId slot) noexcept { flags_.set(&SlotWords::needs_enter, slot); }
    /// Records that a reference to this id was sent before the enter. From now on, the slot needs a
    /// leave as if its enter had been sent.
    void reference_sent(LocalId slot) noexcept {
        PURVIEW_ASSERT(is_live(slot));
        flags_.set(&SlotWords::ever_sent, slot);
    }
    /// Records a delivered update. The ghost is then visible, because no update is sent between a
    /// leave and the packet that resumes the ghost.
    void update_delivered(LocalId slot) noexcept { flags_.reset(&SlotWords::away, slot); }
    void leave_sent(LocalId slot) noexcept {
        flags_.reset(&SlotWords::needs_leave, slot);
        ++life_[slot].leaves_in_flight;
    }
    /// Records that the observer no longer has the ghost. Returns true if the slot must be
    /// released. Returns false if another packet with its leave is in flight: its status would be
    /// attributed to the next ghost in the slot.
    [[nodiscard]] bool leave_delivered(LocalId slot) noexcept;
    /// Records a lost leave. It is sent again unless another packet in flight has it. Returns true
    /// if another packet delivered it; then the slot must be released.
    [[nodiscard]] bool leave_lost(LocalId slot) noexcept;
    /// The same for a leave that retains the ghost: sent, delivered, lost.
    void retain_sent(LocalId slot) noexcept { flags_.reset(&SlotWords::needs_leave, slot); }
    void retain_delivered(LocalId slot) noexcept { flags_.set(&SlotWords::away, slot); }
    void retain_lost(LocalId slot) noexcept { flags_.set(&SlotWords::needs_leave, slot); }
    /// Test builds: never sends the leave of the slot (PURVIEW_BREAKABLE).
    void inject_silent_leave(LocalId slot) noexcept { flags_.reset(&SlotWords::needs_leave, slot); }

  private:
    LocalId take();

    SlotFlags<&SlotBlock::life> flags_;
    SlotBlocks& blocks_;  ///< grown here
    SlotRecords<&SlotDetails::life> life_;
    std::uint32_t used_count_ = 0;
    std::uint32_t live_count_ = 0;
    std::size_t first_free_ = 0;  ///< all words before it are full
    /// By entity index: the newest slot. It may be the leaving slot of an earlier entity with this
    /// index.
    FlatMap<std::uint32_t, LocalId> slot_of_;
    SlotSuccession succession_;
    ChangeLog enter_leave_log_;
};

}  // namespace purview
