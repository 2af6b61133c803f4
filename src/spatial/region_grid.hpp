// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Viewpoints of observers, sixteen to a block. Finds the observers near a position. Uses the same
// table as the entities; each lane has one region (a viewpoint of an observer). Must not depend on
// rules or visible block sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/status.hpp"
#include "spatial/block_table.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

class RegionGrid {
  public:
    /// Chooses the cell size for this number of observers.
    RegionGrid(bool three_d, Vec3 min, Vec3 max, float reach, std::size_t observers);
    std::size_t made_for() const noexcept { return made_for_; }
    std::size_t cells() const noexcept { return table_.cell_end(); }

    /// Sets the viewpoints of an observer. An empty list removes them.
    void set(std::uint32_t observer, std::span<const Vec3> positions);
    /// Call once per tick. Makes vacated lanes available again.
    void end_tick() { table_.end_tick(); }

    /// Calls visit(observer) for each observer with a viewpoint within `radius` of the center. May
    /// repeat observers.
    template <class Visit>
    void for_each_within(Vec3 center, float radius, Visit&& visit);
    /// Calls visit(observer) for each observer with a circle around one of its viewpoints that the
    /// move from `a` to `b` crosses: one of the two positions is inside, the other is not. May
    /// repeat observers.
    template <class Visit>
    void for_each_crossed(Vec3 a, Vec3 b, std::span<const float> radii_m, Visit&& visit);

  private:
    void find_blocks(Vec3 low, Vec3 high);
    template <class Visit>
    void visit_found(Visit&& visit);

    BlockTable table_;
    std::size_t made_for_;
    std::vector<std::uint32_t> owner_;                 ///< by region
    std::vector<std::uint32_t> free_;                  ///< regions
    std::vector<std::vector<std::uint32_t>> regions_;  ///< by observer
    std::vector<BlockIndex> blocks_;
    std::vector<Mask> found_;
};

template <class Visit>
void RegionGrid::visit_found(Visit&& visit) {
    PURVIEW_ASSERT(found_.size() == blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        for (Mask rest = found_[i] & table_.occupied(blocks_[i]); rest != 0;
             rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(blocks_[i], static_cast<unsigned>(std::countr_zero(rest)));
            visit(owner_[index_of(table_.entity(slot))]);
        }
    }
}

template <class Visit>
void RegionGrid::for_each_within(Vec3 center, float radius, Visit&& visit) {
    const Vec3 reach{radius, radius, radius};
    find_blocks({center.x - reach.x, center.y - reach.y, center.z - reach.z},
                {center.x + reach.x, center.y + reach.y, center.z + reach.z});
    found_.assign(blocks_.size(), 0);
    add_lanes_within(table_.coordinates(), blocks_, center, radius * radius, found_);
    visit_found(visit);
}

template <class Visit>
void RegionGrid::for_each_crossed(Vec3 a, Vec3 b, std::span<const float> radii_m, Visit&& visit) {
    float reach = 0;
    for (const float radius : radii_m) reach = std::max(reach, radius);
    find_blocks(
        {std::min(a.x, b.x) - reach, std::min(a.y, b.y) - reach, std::min(a.z, b.z) - reach},
        {std::max(a.x, b.x) + reach, std::max(a.y, b.y) + reach, std::max(a.z, b.z) + reach});
    found_.assign(blocks_.size(), 0);
    for (const float radius : radii_m) {
        add_lanes_crossed(table_.coordinates(), blocks_, a, b, radius * radius, found_);
    }
    visit_found(visit);
}

}  // namespace purview
