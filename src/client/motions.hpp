// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The predictor states ("motions") of ghosts with dead-reckoned fields: for each ghost the newest,
// which is displayed, and earlier ones, to which differences may refer. A ghost has a slot while it
// is held, so the memory is bounded by the number of held ghosts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/motion.hpp"
#include "purview/status.hpp"

namespace purview {

class ClientMotions {
  public:
    using Slot = std::uint32_t;
    static constexpr Slot no_slot = 0xffffffffU;
    /// Covers every baseline that a packet can refer to: 0 to baseline_ticks_max ticks back.
    static constexpr std::size_t kept_max = baseline_ticks_max + 1;

    /// Sets the largest number of dead-reckoned fields of any kind. Call before the first slot is
    /// taken.
    void set_fields(std::size_t fields) noexcept {
        PURVIEW_ASSERT(slots_.empty());
        stride_ = fields;
    }

    Slot take();
    /// Memory that this number of additional slots would take, after the released ones are reused.
    std::size_t bytes_of(std::size_t slots) const noexcept {
        return (slots - std::min(slots, free_.size())) * slot_bytes();
    }
    std::size_t bytes() const noexcept { return slots_.size() * slot_bytes(); }
    void release(Slot slot);
    /// Adds storage for the motions of a packet of this tick; overwrites the oldest ones.
    Motion* push(Slot slot, Tick tick);
    /// The newest motions at or before this tick, or null.
    const Motion* find(Slot slot, Tick tick, Tick& of) const noexcept;
    /// The newest motions, which are displayed.
    const Motion* newest(Slot slot, Tick& of) const noexcept { return find(slot, ~Tick{0}, of); }

  private:
    struct Kept {
        std::array<Tick, kept_max> ticks{};
        std::uint32_t count = 0;  ///< number of pushes; the newest is number count - 1
    };
    std::size_t slot_bytes() const noexcept {
        return sizeof(Kept) + kept_max * stride_ * sizeof(Motion);
    }

    std::size_t stride_ = 0;
    std::vector<Kept> slots_;
    std::vector<Motion> motions_;  ///< [slots][kept_max][stride]
    std::vector<Slot> free_;
};

}  // namespace purview
