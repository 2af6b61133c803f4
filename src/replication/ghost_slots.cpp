// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_slots.hpp"

#include <bit>

namespace purview {

namespace {

/// From this number of slots on, spare room costs more than growing the list.
constexpr std::size_t many_slots = 512;

}  // namespace

LocalId GhostSlots::take() {
    for (; first_free_ < flags_.size(); ++first_free_) {
        const std::uint64_t used = flags_[first_free_].used;
        if (used == ~std::uint64_t{0}) continue;
        return static_cast<LocalId>(first_free_ * bits_per_word) +
               static_cast<LocalId>(std::countr_one(used));
    }
    // Adds one word, but reserves many, because the number of entities that an observer sees
    // fluctuates.
    const std::size_t words = blocks_.size() + 1, slots = words * bits_per_word;
    if (blocks_.size() == blocks_.capacity()) {
        const std::size_t room = words * (slots < many_slots ? 4 : 2);
        blocks_.reserve(room);
        slot_of_.reserve(room * bits_per_word);
    }
    blocks_.add();
    return static_cast<LocalId>(slots - bits_per_word);
}

LocalId GhostSlots::enter(EntityId entity, KindId kind, Reason reason) {
    PURVIEW_ASSERT(find(entity) == no_local_id);
    enter_leave_log_.note(index_of(entity));
    const LocalId slot = take();
    PURVIEW_ASSERT(!is_used(slot) && life_[slot].leaves_in_flight == 0);
    for (const Mask::Flag flag : {&SlotWords::used, &SlotWords::live, &SlotWords::needs_enter})
        flags_.set(flag, slot);
    ++used_count_;
    ++live_count_;
    blocks_[slot_word(slot)].index[slot % bits_per_word] = index_of(entity);
    blocks_[slot_word(slot)].kind[slot % bits_per_word] = kind;
    life_[slot] = {.entity = entity, .enter_reason = reason};
    const auto [newest, is_first] = slot_of_.find_or_make(index_of(entity));
    const LocalId before = is_first ? no_local_id : *newest;
    *newest = slot;
    if (before != no_local_id && this->entity(before) == entity) {
        PURVIEW_ASSERT(!is_live(before));
        succession_.supersede(before, slot);
    }
    PURVIEW_ASSERT(find(entity) == slot);
    return slot;
}

void GhostSlots::resume(LocalId slot, Reason reason) {
    PURVIEW_ASSERT(!is_live(slot) && is_held(slot));
    enter_leave_log_.note(entity_index(slot));
    flags_.reset(&SlotWords::needs_leave, slot);
    flags_.set(&SlotWords::live, slot);
    life_[slot].enter_reason = reason;
    ++live_count_;
    slot_of_[entity_index(slot)] = slot;
    PURVIEW_ASSERT(find(entity(slot)) == slot);
}

bool GhostSlots::leave(LocalId slot, Reason reason, Tick now) {
    PURVIEW_ASSERT(is_live(slot) && live_count_ > 0);
    enter_leave_log_.note(entity_index(slot));
    flags_.reset(&SlotWords::live, slot);
    flags_.reset(&SlotWords::needs_enter, slot);
    --live_count_;
    life_[slot].leave_reason = reason;
    life_[slot].left = now;
    if (!PURVIEW_GUARD_OR(local_id, was_ever_sent(slot), false)) return false;
    flags_.set(&SlotWords::needs_leave, slot);
    return true;
}

void GhostSlots::retention_ended(LocalId slot, Tick now) noexcept {
    PURVIEW_ASSERT(is_used(slot) && !is_live(slot));
    life_[slot].leave_reason = Reason::left;
    life_[slot].left = now;
    flags_.set(&SlotWords::needs_leave, slot);
}

void GhostSlots::release(LocalId slot) noexcept {
    PURVIEW_ASSERT(is_used(slot) && !is_live(slot) && life_[slot].leaves_in_flight == 0);
    PURVIEW_ASSERT(used_count_ > live_count_);
    --used_count_;
    first_free_ = std::min(first_free_, slot_word(slot));
    flags_.reset_all(slot);
    const LocalId older = succession_.remove(slot);
    LocalId* newest = slot_of_.find(entity_index(slot));
    if (newest != nullptr && *newest == slot) {
        *newest = older;
        if (older == no_local_id) slot_of_.erase(entity_index(slot));
    }
    life_[slot].entity = EntityId::none;
}

bool GhostSlots::leave_delivered(LocalId slot) noexcept {
    PURVIEW_ASSERT(!is_live(slot) && life_[slot].leaves_in_flight > 0);
    if (--life_[slot].leaves_in_flight == 0) return true;
    flags_.set(&SlotWords::away, slot);
    for (const Mask::Flag flag : {&SlotWords::held, &SlotWords::needs_leave, &SlotWords::ever_sent})
        flags_.reset(flag, slot);
    return false;
}

bool GhostSlots::leave_lost(LocalId slot) noexcept {
    PURVIEW_ASSERT(!is_live(slot) && life_[slot].leaves_in_flight > 0);
    if (--life_[slot].leaves_in_flight > 0) return false;
    if (!was_ever_sent(slot)) return true;
    flags_.set(&SlotWords::needs_leave, slot);
    return false;
}

bool GhostSlots::is_sound() const noexcept {
    std::size_t used = 0, live = 0;
    for (const SlotBlock& block : blocks_) {
        const SlotWords& of = block.life;
        if ((of.needs_enter & ~of.live) != 0) return false;
        if ((of.live & (~of.used | of.needs_leave)) != 0) return false;
        used += static_cast<std::size_t>(std::popcount(of.used));
        live += static_cast<std::size_t>(std::popcount(of.live));
    }
    return used == used_count_ && live == live_count_;
}

std::size_t GhostSlots::memory_bytes() const noexcept {
    return blocks_.memory_bytes() + slot_of_.memory_bytes() + succession_.memory_bytes();
}

}  // namespace purview
