// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Predictor states (Motion) of one observer's ghosts with dead-reckoned (extrapolated) fields, as
// far as the server knows. Differences refer to acknowledged states, which the observer certainly
// has. Shown states are those of the newest packet that is not known to be lost. As long as the
// prediction from them is right, nothing needs to be sent. Memory: two states per ghost slot and
// one per packet in flight; none if no field is dead-reckoned. Must not depend on worlds or
// encoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/fifo.hpp"
#include "protocol/motion.hpp"

namespace purview {

class SlotMotions {
  public:
    using Slot = std::uint32_t;

    /// Starts a ghost with this many dead-reckoned fields and no state.
    void begin(Slot slot, unsigned fields);
    void end(Slot slot) noexcept;
    /// Call when the ghost leaves: its prediction no longer moves.
    void stop(Slot slot) noexcept;

    bool is_extrapolated(Slot slot) const noexcept {
        return slot < slots_.size() && slots_[slot].fields != 0;
    }
    bool is_moving(Slot slot) const noexcept { return is_extrapolated(slot) && slots_[slot].moves; }
    /// Returns whether any prediction moves, so that the observer needs a packet in every tick.
    bool is_any_moving() const noexcept { return moving_ != 0; }
    bool is_used() const noexcept { return stride_ != 0; }

    /// Tick of the shown states; 0: none.
    Tick shown_tick(Slot slot) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(slot));
        return slots_[slot].shown;
    }
    Tick acknowledged_tick(Slot slot) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(slot));
        return slots_[slot].acknowledged;
    }
    std::span<const Motion> shown(Slot slot) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(slot));
        return {motions_.data() + std::size_t{slot} * 2 * stride_, slots_[slot].fields};
    }
    std::span<const Motion> acknowledged(Slot slot) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(slot));
        return {motions_.data() + (std::size_t{slot} * 2 + 1) * stride_, slots_[slot].fields};
    }

    /// Records the states in a packet of this tick. Calls must be in the order in which the
    /// delivery statuses are reported later.
    void sent(Slot slot, Tick tick, std::span<const Motion> motions);
    /// Call when the oldest states in flight have arrived. `counts`: the observer could apply them.
    void delivered(Slot slot, Tick tick, bool counts);
    /// Call when the oldest states in flight are lost. `was_newest`: no later packet has states of
    /// this slot.
    void lost(Slot slot, bool was_newest) noexcept;
    std::size_t memory_bytes() const noexcept;

  private:
    struct SlotState {
        std::uint8_t fields = 0;
        bool moves = false;
        bool is_stopped = false;
        Tick shown = 0;
        Tick acknowledged = 0;
    };
    Motion* shown_of(Slot slot) noexcept {
        return motions_.data() + std::size_t{slot} * 2 * stride_;
    }
    Motion* acknowledged_of(Slot slot) noexcept { return shown_of(slot) + stride_; }
    void widen(unsigned fields);
    void set_moves(Slot slot, bool moves) noexcept;
    void update_moves(Slot slot) noexcept;

    std::size_t stride_ = 0;  ///< largest number of fields of a slot
    std::vector<SlotState> slots_;
    std::vector<Motion> motions_;  ///< [slots][shown, acknowledged][stride]
    Fifo<Motion> in_flight_;       ///< [packets][items][fields of the slot]
    std::uint32_t moving_ = 0;
};

}  // namespace purview
