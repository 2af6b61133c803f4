// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/slot_motions.hpp"

#include <algorithm>
#include <limits>

namespace purview {

namespace {

constexpr std::size_t slots_at_once = 64;

}  // namespace

/// Extends all entries to `fields` dead-reckoned fields.
void SlotMotions::widen(unsigned fields) {
    std::vector<Motion> wider(slots_.size() * 2 * fields);
    for (std::size_t entry = 0; entry < slots_.size() * 2; ++entry) {
        std::copy_n(motions_.data() + entry * stride_, stride_, wider.data() + entry * fields);
    }
    motions_.swap(wider);
    stride_ = fields;
}

void SlotMotions::begin(Slot slot, unsigned fields) {
    PURVIEW_ASSERT(fields > 0 && fields <= std::numeric_limits<std::uint8_t>::max());
    if (fields > stride_) widen(fields);
    if (slot >= slots_.size()) {
        slots_.resize((std::size_t{slot} / slots_at_once + 1) * slots_at_once);
        motions_.resize(slots_.size() * 2 * stride_);
    }
    end(slot);
    slots_[slot].fields = static_cast<std::uint8_t>(fields);
}

void SlotMotions::end(Slot slot) noexcept {
    if (slot >= slots_.size()) return;
    set_moves(slot, false);
    slots_[slot] = {};
}

void SlotMotions::stop(Slot slot) noexcept {
    if (!is_extrapolated(slot)) return;
    slots_[slot].is_stopped = true;
    set_moves(slot, false);
}

void SlotMotions::set_moves(Slot slot, bool moves) noexcept {
    if (slots_[slot].moves == moves) return;
    slots_[slot].moves = moves;
    moving_ += moves ? 1U : ~0U;
    PURVIEW_ASSERT(moving_ <= slots_.size());
}

void SlotMotions::update_moves(Slot slot) noexcept {
    const auto motions = shown(slot);
    set_moves(slot, !slots_[slot].is_stopped &&
                        std::any_of(motions.begin(), motions.end(),
                                    [](const Motion& motion) { return motion.speed != 0; }));
}

void SlotMotions::sent(Slot slot, Tick tick, std::span<const Motion> motions) {
    PURVIEW_ASSERT(is_extrapolated(slot) && motions.size() == slots_[slot].fields);
    PURVIEW_ASSERT(slots_[slot].shown < tick);  // at most one packet of a tick has them
    for (const Motion& motion : motions) in_flight_.push(motion);
    std::copy(motions.begin(), motions.end(), shown_of(slot));
    slots_[slot].shown = tick;
    slots_[slot].is_stopped = false;
    update_moves(slot);
}

void SlotMotions::delivered(Slot slot, Tick tick, bool counts) {
    PURVIEW_ASSERT(is_extrapolated(slot));
    PURVIEW_ASSERT(slots_[slot].acknowledged < tick);
    const std::size_t fields = slots_[slot].fields;
    if (counts) {
        for (std::size_t f = 0; f < fields; ++f)
            acknowledged_of(slot)[f] = in_flight_[in_flight_.begin() + f];
        slots_[slot].acknowledged = tick;
    }
    in_flight_.drop_before(in_flight_.begin() + fields);
    if (in_flight_.empty()) in_flight_.clear();
}

void SlotMotions::lost(Slot slot, bool was_newest) noexcept {
    PURVIEW_ASSERT(is_extrapolated(slot));
    in_flight_.drop_before(in_flight_.begin() + slots_[slot].fields);
    if (in_flight_.empty()) in_flight_.clear();
    if (!was_newest) return;
    std::copy_n(acknowledged_of(slot), slots_[slot].fields, shown_of(slot));
    slots_[slot].shown = slots_[slot].acknowledged;
    update_moves(slot);
}

std::size_t SlotMotions::memory_bytes() const noexcept {
    return slots_.size() * sizeof(SlotState) + motions_.size() * sizeof(Motion) +
           in_flight_.memory_bytes();
}

}  // namespace purview
