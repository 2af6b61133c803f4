// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How relevant entities are that changed, observer after observer. Within the tick they are known
// by their lanes: who that is lies where no cache has it, and is looked up for all at once, when it
// is asked for.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "interest/windows/window.hpp"
#include "purview/interest.hpp"
#include "purview/status.hpp"
#include "spatial/block_table.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

class ScoreList {
  public:
    /// Of one observer: lanes, and entities that windows alone do not decide about.
    struct Part {
        std::uint32_t observer = 0;
        std::uint32_t block = 0;  ///< the first
        std::uint32_t block_end = 0;
        std::uint32_t lane = 0;  ///< the first
        std::uint32_t lane_end = 0;
        std::uint32_t known = 0;
        std::uint32_t known_end = 0;
        bool has_dropped = false;
    };

    void clear() noexcept;
    /// A window whose lanes are added next, seen from this place.
    void look_at(std::uint32_t observer, const Window& window, Vec3 from) {
        observers_.push_back(observer);
        windows_.push_back(lanes_of(window, from));
    }
    /// Appends a part for each of those windows: the lanes that have the flag, 1 - distance /
    /// nearness_m strong. [block_end()]: `flags`.
    std::span<Part> add(std::span<const Mask> flags, const BlockTable& table, float nearness_m);
    /// Appends a part of those lanes of one window. Their strengths go to score_of().
    Part& add(std::uint32_t observer, const Window& window, std::span<const Mask> flags);
    /// Appends a part without lanes.
    Part& add(std::uint32_t observer);
    std::span<const BlockIndex> blocks(const Part& part) const noexcept {
        return std::span(picked_.blocks).subspan(part.block, part.block_end - part.block);
    }
    std::span<const Mask> lanes(const Part& part) const noexcept {
        return std::span(picked_.masks).subspan(part.block, part.block_end - part.block);
    }
    /// [lanes] of the last part, with room for lanes_per_block more.
    std::span<float> score_of(const Part& last) noexcept {
        PURVIEW_ASSERT(&last == &parts_.back() && last.lane_end == size_);
        return std::span(score_).subspan(last.lane, last.lane_end - last.lane);
    }
    /// Takes a lane out of the part, if it is there.
    void drop(Part& part, Slot slot) noexcept;
    std::uint32_t known_size() const noexcept { return static_cast<std::uint32_t>(known_.size()); }
    void add_known(std::uint32_t entity, float score) { known_.push_back({entity, score}); }

    /// visit(slot, strength) of lanes. What was dropped has none.
    template <class Visit>
    void for_each_lane(const Part& part, Visit&& visit) const {
        std::uint32_t k = part.lane;
        for (std::uint32_t i = part.block; i < part.block_end; ++i) {
            for (Mask rest = picked_.masks[i]; rest != 0; rest &= static_cast<Mask>(rest - 1), ++k)
                visit(slot_at(picked_.blocks[i], static_cast<unsigned>(std::countr_zero(rest))), k);
        }
    }
    /// Looks up who is on all those lanes.
    void name(const BlockTable& table);
    std::span<const Part> parts() const noexcept { return parts_; }
    /// Once that is done.
    Scores of(const Part& part) const noexcept {
        PURVIEW_ASSERT(part.lane <= part.lane_end && part.lane_end <= size_);
        return {std::span(entities_).subspan(part.lane, part.lane_end - part.lane),
                std::span(score_).subspan(part.lane, part.lane_end - part.lane)};
    }

  private:
    struct Known {
        std::uint32_t entity;
        float score;
    };
    static LaneWindow lanes_of(const Window& window, Vec3 from) noexcept {
        return {window.blocks().data(), window.masks().data(),
                static_cast<std::uint32_t>(window.size()), from};
    }
    void settle(Part& part);
    void make_room(std::size_t n);

    PickedLanes picked_;
    LineVector<std::uint32_t> entities_;  ///< as long as strength_, once they are named
    LineVector<float> score_;             ///< lane after lane, and longer; 0: dropped
    std::uint32_t size_ = 0;              ///< of lanes
    std::vector<Known> known_;
    LineVector<Part> parts_;
    std::vector<LaneWindow> windows_;       ///< to be added
    std::vector<std::uint32_t> observers_;  ///< [windows_]
    std::vector<LaneEnd> ends_;             ///< [windows_]
};

}  // namespace purview
