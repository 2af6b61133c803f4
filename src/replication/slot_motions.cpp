// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/slot_motions.hpp"

#include <algorithm>
#include <limits>

namespace purview {

namespace {

constexpr std::size_t lanes_at_once = 64;

}  // namespace

/// Extends all entries to `fields` extrapolated fields.
void SlotMotions::widen(unsigned fields) {
    std::vector<Motion> wider(lanes_.size() * 2 * fields);
    for (std::size_t entry = 0; entry < lanes_.size() * 2; ++entry) {
        std::copy_n(motions_.data() + entry * stride_, stride_, wider.data() + entry * fields);
    }
    motions_.swap(wider);
    stride_ = fields;
}

void SlotMotions::begin(Lane slot, unsigned fields) {
    PURVIEW_ASSERT(fields > 0 && fields <= std::numeric_limits<std::uint8_t>::max());
    if (fields > stride_) widen(fields);
    if (slot >= lanes_.size()) {
        lanes_.resize((std::size_t{slot} / lanes_at_once + 1) * lanes_at_once);
        motions_.resize(lanes_.size() * 2 * stride_);
    }
    end(slot);
    lanes_[slot].fields = static_cast<std::uint8_t>(fields);
}

void SlotMotions::end(Lane slot) noexcept {
    if (slot >= lanes_.size()) return;
    set_moves(slot, false);
    lanes_[slot] = {};
}

void SlotMotions::stop(Lane slot) noexcept {
    if (!is_extrapolated(slot)) return;
    lanes_[slot].is_stopped = true;
    set_moves(slot, false);
}

void SlotMotions::set_moves(Lane slot, bool moves) noexcept {
    if (lanes_[slot].moves == moves) return;
    lanes_[slot].moves = moves;
    moving_ += moves ? 1U : ~0U;
    PURVIEW_ASSERT(moving_ <= lanes_.size());
}

void SlotMotions::look_whether_it_moves(Lane slot) noexcept {
    const auto motions = shown(slot);
    set_moves(slot, !lanes_[slot].is_stopped &&
                        std::any_of(motions.begin(), motions.end(),
                                    [](const Motion& motion) { return motion.speed != 0; }));
}

void SlotMotions::sent(Lane slot, Tick tick, std::span<const Motion> motions) {
    PURVIEW_ASSERT(is_extrapolated(slot) && motions.size() == lanes_[slot].fields);
    PURVIEW_ASSERT(lanes_[slot].shown < tick);  // at most one packet of a tick has them
    for (const Motion& motion : motions) under_way_.push(motion);
    std::copy(motions.begin(), motions.end(), shown_of(slot));
    lanes_[slot].shown = tick;
    lanes_[slot].is_stopped = false;
    look_whether_it_moves(slot);
}

void SlotMotions::delivered(Lane slot, Tick tick, bool counts) {
    PURVIEW_ASSERT(is_extrapolated(slot));
    PURVIEW_ASSERT(lanes_[slot].acknowledged < tick);
    const std::size_t fields = lanes_[slot].fields;
    if (counts) {
        for (std::size_t f = 0; f < fields; ++f)
            acknowledged_of(slot)[f] = under_way_[under_way_.begin() + f];
        lanes_[slot].acknowledged = tick;
    }
    under_way_.drop_before(under_way_.begin() + fields);
    if (under_way_.empty()) under_way_.clear();
}

void SlotMotions::lost(Lane slot, bool was_newest) noexcept {
    PURVIEW_ASSERT(is_extrapolated(slot));
    under_way_.drop_before(under_way_.begin() + lanes_[slot].fields);
    if (under_way_.empty()) under_way_.clear();
    if (!was_newest) return;
    std::copy_n(acknowledged_of(slot), lanes_[slot].fields, shown_of(slot));
    lanes_[slot].shown = lanes_[slot].acknowledged;
    look_whether_it_moves(slot);
}

std::size_t SlotMotions::memory_bytes() const noexcept {
    return lanes_.size() * sizeof(LaneState) + motions_.size() * sizeof(Motion) +
           under_way_.memory_bytes();
}

}  // namespace purview
