// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Relevance scores of changed entities, for one observer after another. During the tick they are
// stored by slot. The entity indices are usually not in the cache, so name() looks up all of them
// at once, on the first query.
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
    /// The scores of one observer. Most are stored by slot. Those of known entities, about which
    /// the window alone does not decide, are stored by entity index.
    struct Part {
        std::uint32_t observer = 0;
        std::uint32_t block = 0;  ///< first block in picked_
        std::uint32_t block_end = 0;
        std::uint32_t lane = 0;  ///< index of the first score
        std::uint32_t lane_end = 0;
        std::uint32_t known = 0;  ///< index of the first known entity
        std::uint32_t known_end = 0;
        bool has_dropped = false;
    };

    void clear() noexcept;
    /// Queues a window with the position that it is viewed from. add(flags, ...) appends its part.
    void look_at(std::uint32_t observer, const Window& window, Vec3 from) {
        observers_.push_back(observer);
        windows_.push_back(lanes_of(window, from));
    }
    /// Appends a part for each queued window, with its lanes that have the flag. The score is 1 -
    /// distance / nearness_m, but at least score_min. flags[block_end()].
    std::span<Part> add(std::span<const Mask> flags, const BlockTable& table, float nearness_m);
    /// Appends a part with the lanes of one window that have the flag. The caller writes their
    /// scores to score_of().
    Part& add(std::uint32_t observer, const Window& window, std::span<const Mask> flags);
    /// Appends a part without lanes.
    Part& add(std::uint32_t observer);
    std::span<const BlockIndex> blocks(const Part& part) const noexcept {
        return std::span(picked_.blocks).subspan(part.block, part.block_end - part.block);
    }
    std::span<const Mask> lanes(const Part& part) const noexcept {
        return std::span(picked_.masks).subspan(part.block, part.block_end - part.block);
    }
    /// Returns the scores of the last part. The list has room for lanes_per_block more.
    std::span<float> score_of(const Part& last) noexcept {
        PURVIEW_ASSERT(&last == &parts_.back() && last.lane_end == size_);
        return std::span(score_).subspan(last.lane, last.lane_end - last.lane);
    }
    /// Removes a slot from the part, if the part contains it.
    void drop(Part& part, Slot slot) noexcept;
    std::uint32_t known_size() const noexcept { return static_cast<std::uint32_t>(known_.size()); }
    void add_known(std::uint32_t entity, float score) { known_.push_back({entity, score}); }

    /// Calls visit(slot, index of the score) for each lane. A dropped lane has the score 0.
    template <class Visit>
    void for_each_lane(const Part& part, Visit&& visit) const {
        std::uint32_t k = part.lane;
        for (std::uint32_t i = part.block; i < part.block_end; ++i) {
            for (Mask rest = picked_.masks[i]; rest != 0; rest &= static_cast<Mask>(rest - 1), ++k)
                visit(slot_at(picked_.blocks[i], static_cast<unsigned>(std::countr_zero(rest))), k);
        }
    }
    /// Looks up the entities of all slots. Call it once per tick, after the last part.
    void name(const BlockTable& table);
    std::span<const Part> parts() const noexcept { return parts_; }
    /// Returns the scores of a part. Call name() first.
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
    void compact(Part& part);
    void make_room(std::size_t n);

    PickedLanes picked_;
    LineVector<std::uint32_t> entities_;  ///< as long as score_, after name()
    LineVector<float> score_;  ///< in the order of the lanes, with extra room; 0: dropped
    std::uint32_t size_ = 0;   ///< number of lanes
    std::vector<Known> known_;
    LineVector<Part> parts_;
    std::vector<LaneWindow> windows_;       ///< queued by look_at()
    std::vector<std::uint32_t> observers_;  ///< [windows_]
    std::vector<LaneEnd> ends_;             ///< [windows_]
};

}  // namespace purview
