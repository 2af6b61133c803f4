// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/lane_motions.hpp"

#include <algorithm>
#include <limits>

namespace purview {

namespace {

constexpr std::size_t lanes_at_once = 64;

}  // namespace

/// Entries become as long as those of the kind with the most extrapolated fields.
void LaneMotions::widen(unsigned fields) {
    std::vector<Motion> wider(lanes_.size() * 2 * fields);
    for (std::size_t entry = 0; entry < lanes_.size() * 2; ++entry) {
        std::copy_n(motions_.data() + entry * stride_, stride_, wider.data() + entry * fields);
    }
    motions_.swap(wider);
    stride_ = fields;
}

void LaneMotions::begin(Lane lane, unsigned fields) {
    PURVIEW_ASSERT(fields > 0 && fields <= std::numeric_limits<std::uint8_t>::max());
    if (fields > stride_) widen(fields);
    if (lane >= lanes_.size()) {
        lanes_.resize((std::size_t{lane} / lanes_at_once + 1) * lanes_at_once);
        motions_.resize(lanes_.size() * 2 * stride_);
    }
    end(lane);
    lanes_[lane].fields = static_cast<std::uint8_t>(fields);
}

void LaneMotions::end(Lane lane) noexcept {
    if (lane >= lanes_.size()) return;
    set_moves(lane, false);
    lanes_[lane] = {};
}

void LaneMotions::stop(Lane lane) noexcept {
    if (!is_extrapolated(lane)) return;
    lanes_[lane].is_stopped = true;
    set_moves(lane, false);
}

void LaneMotions::set_moves(Lane lane, bool moves) noexcept {
    if (lanes_[lane].moves == moves) return;
    lanes_[lane].moves = moves;
    moving_ += moves ? 1U : ~0U;
    PURVIEW_ASSERT(moving_ <= lanes_.size());
}

void LaneMotions::look_whether_it_moves(Lane lane) noexcept {
    const auto motions = shown(lane);
    set_moves(lane, !lanes_[lane].is_stopped &&
                        std::any_of(motions.begin(), motions.end(),
                                    [](const Motion& motion) { return motion.speed != 0; }));
}

void LaneMotions::sent(Lane lane, Tick tick, std::span<const Motion> motions) {
    PURVIEW_ASSERT(is_extrapolated(lane) && motions.size() == lanes_[lane].fields);
    PURVIEW_ASSERT(lanes_[lane].shown < tick);  // at most one packet of a tick has them
    for (const Motion& motion : motions) under_way_.push(motion);
    std::copy(motions.begin(), motions.end(), shown_of(lane));
    lanes_[lane].shown = tick;
    lanes_[lane].is_stopped = false;
    look_whether_it_moves(lane);
}

void LaneMotions::delivered(Lane lane, Tick tick, bool counts) {
    PURVIEW_ASSERT(is_extrapolated(lane));
    PURVIEW_ASSERT(lanes_[lane].acknowledged < tick);
    const std::size_t fields = lanes_[lane].fields;
    if (counts) {
        for (std::size_t f = 0; f < fields; ++f)
            acknowledged_of(lane)[f] = under_way_[under_way_.begin() + f];
        lanes_[lane].acknowledged = tick;
    }
    under_way_.drop_before(under_way_.begin() + fields);
    if (under_way_.empty()) under_way_.clear();
}

void LaneMotions::lost(Lane lane, bool was_newest) noexcept {
    PURVIEW_ASSERT(is_extrapolated(lane));
    under_way_.drop_before(under_way_.begin() + lanes_[lane].fields);
    if (under_way_.empty()) under_way_.clear();
    if (!was_newest) return;
    std::copy_n(acknowledged_of(lane), lanes_[lane].fields, shown_of(lane));
    lanes_[lane].shown = lanes_[lane].acknowledged;
    look_whether_it_moves(lane);
}

std::size_t LaneMotions::memory_bytes() const noexcept {
    return lanes_.size() * sizeof(LaneState) + motions_.size() * sizeof(Motion) +
           under_way_.memory_bytes();
}

}  // namespace purview
