// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/score_list.hpp"

#include "interest/rules/interest_kernel.hpp"
#include "purview/status.hpp"

namespace purview {

void ScoreList::clear() noexcept {
    size_ = picked_.size = 0;
    known_.clear();
    parts_.clear();
}

/// Makes room for n more scores. If the list must grow, it grows by half more than needed.
void ScoreList::make_room(std::size_t n) {
    const std::size_t room = size_ + n + lanes_per_block;
    if (score_.size() < room) score_.resize(room + room / 2);
}

ScoreList::Part& ScoreList::add(std::uint32_t observer) {
    parts_.push_back({observer, 0, 0, size_, size_, 0, 0, false});
    return parts_.back();
}

ScoreList::Part& ScoreList::add(std::uint32_t observer, const Window& window,
                                std::span<const Mask> flags) {
    Part& part = add(observer);
    part.block = picked_.size;
    const LaneWindow one = lanes_of(window, {});
    LaneEnd end{};
    pick_lanes(std::span(&one, 1), flags.data(), picked_, &end);
    part.block_end = end.blocks;
    std::uint32_t lanes = 0;
    for (const Mask mask : this->lanes(part)) lanes += count_lanes(mask);
    make_room(lanes);
    part.lane_end = size_ += lanes;
    return part;
}

std::span<ScoreList::Part> ScoreList::add(std::span<const Mask> flags, const BlockTable& table,
                                          float nearness_m) {
    const std::size_t n = windows_.size();
    PURVIEW_ASSERT(observers_.size() == n && flags.size() == table.block_end());
    std::uint32_t block = picked_.size, lane = size_;
    ends_.resize(n);
    pick_lanes(windows_, flags.data(), picked_, ends_.data());
    make_room(std::size_t{picked_.size - block} * lanes_per_block);
    size_ += static_cast<std::uint32_t>(
        gather_nearness({table.coordinates(0), table.is_three_d() ? 3U : 2U}, windows_, picked_,
                        block, nearness_m, score_min, ends_.data(), score_.data() + size_));
    const std::uint32_t begin = lane;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t lane_end = begin + ends_[i].lanes;
        parts_.push_back({observers_[i], block, ends_[i].blocks, lane, lane_end, 0, 0, false});
        block = ends_[i].blocks;
        lane = lane_end;
    }
    PURVIEW_ASSERT(block == picked_.size && lane == size_);
    windows_.clear();
    observers_.clear();
    return std::span(parts_).last(n);
}

void ScoreList::drop(Part& part, Slot slot) noexcept {
    for_each_lane(part, [&](Slot one, std::uint32_t k) {
        if (one != slot) return;
        score_[k] = 0;
        part.has_dropped = true;
    });
}

void ScoreList::name(const BlockTable& table) {
    entities_.resize(score_.size());
    [[maybe_unused]] const std::size_t lanes =
        gather_lanes(table.entity_indices(), picked_, entities_.data());
    PURVIEW_ASSERT(lanes == size_);  // called once per tick: compact() appends scores without lanes
    if (!table.displaced().empty()) {  // an entity has left its lane since
        for (const Part& part : parts_) {
            for_each_lane(
                part, [&](Slot slot, std::uint32_t k) { entities_[k] = table.last_index(slot); });
        }
    }
    for (Part& part : parts_) compact(part);
}

/// Copies the remaining scores of slots and those of known entities into one range.
void ScoreList::compact(Part& part) {
    if (!part.has_dropped && part.known == part.known_end) return;
    make_room(part.lane_end - part.lane + part.known_end - part.known);
    entities_.resize(score_.size());
    const std::uint32_t begin = size_;
    const auto append = [&](std::uint32_t entity, float score) {
        entities_[size_] = entity;
        score_[size_++] = score;
    };
    for (std::uint32_t k = part.lane; k < part.lane_end; ++k) {
        if (score_[k] > 0) append(entities_[k], score_[k]);
    }
    for (std::uint32_t k = part.known; k < part.known_end; ++k)
        append(known_[k].entity, known_[k].score);
    part = {part.observer, 0, 0, begin, size_, 0, 0, false};
}

}  // namespace purview
