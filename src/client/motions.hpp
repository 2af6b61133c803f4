// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The motions of a client's ghosts with extrapolated fields: of each the newest, by which it is
// shown, and those before it, against which differences may still be told. A ghost has a slot while
// it is held, so what is kept is bounded by what was told.
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
    /// Whatever a server may name: one for each tick back, and the one that is named.
    static constexpr std::size_t kept_max = baseline_ticks_max + 1;

    /// The most extrapolated fields of any kind; before the first slot is taken.
    void set_fields(std::size_t fields) noexcept {
        PURVIEW_ASSERT(slots_.empty());
        stride_ = fields;
    }

    Slot take();
    /// Of so many slots more, those that nobody has given back yet.
    std::size_t bytes_of(std::size_t slots) const noexcept {
        return (slots - std::min(slots, free_.size())) * slot_bytes();
    }
    std::size_t bytes() const noexcept { return slots_.size() * slot_bytes(); }
    void release(Slot slot);
    /// Room for the motions of a packet of this tick; the oldest are forgotten.
    Motion* push(Slot slot, Tick tick);
    /// The newest of this tick or before: null, or its motions.
    const Motion* find(Slot slot, Tick tick, Tick& of) const noexcept;
    /// What is shown.
    const Motion* newest(Slot slot, Tick& of) const noexcept { return find(slot, ~Tick{0}, of); }

  private:
    struct Kept {
        std::array<Tick, kept_max> ticks{};
        std::uint32_t count = 0;  ///< ever; the newest is number count - 1
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
