// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Of the ghosts of one observer that have extrapolated fields: what he goes by, as far as the
// server knows. Acknowledged motions are what differences are told against: he has them for
// certain. Shown motions are those of the newest packet that is not known to be lost: as long as
// they are right there is nothing to tell. One entry a lane and one for each packet under way, and
// nothing at all where no field is extrapolated. Must not know: worlds, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/fifo.hpp"
#include "protocol/motion.hpp"

namespace purview {

class LaneMotions {
  public:
    using Lane = std::uint32_t;

    /// The lane's ghost has so many extrapolated fields; nothing is known of it.
    void begin(Lane lane, unsigned fields);
    void end(Lane lane) noexcept;
    /// It is not shown any more, or only as it was.
    void stop(Lane lane) noexcept;

    bool is_extrapolated(Lane lane) const noexcept {
        return lane < lanes_.size() && lanes_[lane].fields != 0;
    }
    bool is_moving(Lane lane) const noexcept { return is_extrapolated(lane) && lanes_[lane].moves; }
    /// Some ghost does not stand still, so the observer must be told every tick.
    bool is_any_moving() const noexcept { return moving_ != 0; }
    bool is_used() const noexcept { return stride_ != 0; }

    /// As of this tick; 0: none.
    Tick shown_tick(Lane lane) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(lane));
        return lanes_[lane].shown;
    }
    Tick acknowledged_tick(Lane lane) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(lane));
        return lanes_[lane].acknowledged;
    }
    std::span<const Motion> shown(Lane lane) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(lane));
        return {motions_.data() + std::size_t{lane} * 2 * stride_, lanes_[lane].fields};
    }
    std::span<const Motion> acknowledged(Lane lane) const noexcept {
        PURVIEW_ASSERT(is_extrapolated(lane));
        return {motions_.data() + (std::size_t{lane} * 2 + 1) * stride_, lanes_[lane].fields};
    }

    /// A packet of this tick has told these. In the order in which fates become known.
    void sent(Lane lane, Tick tick, std::span<const Motion> motions);
    /// The oldest that was sent has arrived; `counts`: and could be used.
    void delivered(Lane lane, Tick tick, bool counts);
    /// It is lost; `was_newest`: nothing has told of the lane since.
    void lost(Lane lane, bool was_newest) noexcept;
    std::size_t memory_bytes() const noexcept;

  private:
    struct LaneState {
        std::uint8_t fields = 0;
        bool moves = false;
        bool is_stopped = false;
        Tick shown = 0;
        Tick acknowledged = 0;
    };
    Motion* shown_of(Lane lane) noexcept {
        return motions_.data() + std::size_t{lane} * 2 * stride_;
    }
    Motion* acknowledged_of(Lane lane) noexcept { return shown_of(lane) + stride_; }
    void widen(unsigned fields);
    void set_moves(Lane lane, bool moves) noexcept;
    void look_whether_it_moves(Lane lane) noexcept;

    std::size_t stride_ = 0;  ///< the most fields of any
    std::vector<LaneState> lanes_;
    std::vector<Motion> motions_;  ///< [lanes][shown, acknowledged][stride]
    Fifo<Motion> under_way_;       ///< [packets][items][fields of the lane]
    std::uint32_t moving_ = 0;
};

}  // namespace purview
