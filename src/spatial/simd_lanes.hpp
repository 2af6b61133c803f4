// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sixteen places against a shape, on the widest vectors of the machine it runs on. All widths give
// the same bits: single precision, no fused operations, one comparison (M11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/aligned.hpp"
#include "purview/kernel.hpp"

namespace purview {

/// Coordinates by block: [blocks * axes * 16], of each block 16 x, then 16 y, then 16 z if there
/// are 3 axes; an empty lane has x = +infinity.
struct LaneCoordinates {
    const float* data;
    unsigned axes;  ///< 2 or 3
};

/// Adds to out[i] the lanes of blocks[i] within sqrt(radius_squared) of the centre.
void add_lanes_within(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      float radius_squared, std::span<Mask> out) noexcept;

/// Adds to out[i] the lanes of blocks[i] that are within sqrt(radius_squared) of exactly one of a
/// and b.
void add_lanes_crossed(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 a, Vec3 b,
                       float radius_squared, std::span<Mask> out) noexcept;

/// Adds the lanes within their own radius of the centre: radii[16 * block + lane] where that is
/// above 0, else `otherwise_m`, and `margin_m` more.
void add_lanes_within_own(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                          const float* radii, float otherwise_m, float margin_m,
                          std::span<Mask> out) noexcept;

/// Adds the lanes with low <= place <= high on every axis.
void add_lanes_in_box(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 low, Vec3 high,
                      std::span<Mask> out) noexcept;

/// Adds the lanes with |place - centre| <= half_size on every axis.
void add_lanes_around(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      Vec3 half_size, std::span<Mask> out) noexcept;

/// A cone from its tip on; whoever is at most margin_m away from it counts.
struct LaneCone {
    Vec3 tip;
    Vec3 direction;  ///< of length 1, on the axes that count
    float cosine = 0;
    float sine = 0;
    float radius = 0;
    float margin_m = 0;
};
void add_lanes_in_cone(LaneCoordinates at, std::span<const BlockIndex> blocks, const LaneCone& cone,
                       std::span<Mask> out) noexcept;

/// Some blocks, lanes of each, and from where they are seen.
struct LaneWindow {
    const BlockIndex* blocks;  ///< [size]
    const Mask* masks;         ///< [size]
    std::uint32_t size;
    Vec3 from;
};
/// So many are there until the end of a window.
struct LaneEnd {
    std::uint32_t blocks;
    std::uint32_t lanes;
};
/// Lanes of many windows, block by block. Lists are longer than what is in them.
struct PickedLanes {
    LineVector<BlockIndex> blocks;
    LineVector<Mask> masks;  ///< at least one of each
    std::uint32_t size = 0;  ///< of blocks
};
/// Appends those lanes of the windows that have a flag. `flags`: by block, of a LineVector.
void pick_lanes(std::span<const LaneWindow> windows, const Mask* flags, PickedLanes& out,
                LaneEnd* out_end);

/// values[16 * block + lane] of all picked lanes; returns how many. `out` has room for
/// lanes_per_block more.
std::size_t gather_lanes(const std::uint32_t* values, const PickedLanes& picked,
                         std::uint32_t* out) noexcept;
/// Slots of the lanes masks[i] of blocks[i], block by block; returns how many. `out` has room for
/// lanes_per_block more.
std::size_t list_slots(std::span<const BlockIndex> blocks, std::span<const Mask> masks,
                       Slot* out) noexcept;
/// Of the lanes masks[i], which stand in `yes` one after another as they do there, to out[i] those
/// that are not 0. `yes` can be read lanes_per_block further.
void pick_yes(std::span<const Mask> masks, const std::uint8_t* yes, Mask* out) noexcept;
/// How near each of the lanes masks[i] of blocks[i] is to the nearest of the places (at least one):
/// 1 there, 0 at reach; but never less than `least`. One after another, for each block from lane
/// 0 on; returns how many. `out` has room for lanes_per_block more.
std::size_t gather_nearness(LaneCoordinates at, std::span<const BlockIndex> blocks,
                            std::span<const Mask> masks, std::span<const Vec3> positions,
                            float reach, float least, float* out) noexcept;
/// The same of picked lanes, from block `first` on, each to where its window is seen from. The ends
/// know the blocks, and are told the lanes.
std::size_t gather_nearness(LaneCoordinates at, std::span<const LaneWindow> windows,
                            const PickedLanes& picked, std::uint32_t first, float reach,
                            float least, LaneEnd* ends, float* out) noexcept;

/// Bits by halves: an instruction for it is not there on every machine.
constexpr std::uint32_t count_lanes(Mask mask) noexcept {
    std::uint32_t bits = mask;
    bits = bits - ((bits >> 1) & 0x5555U);
    bits = (bits & 0x3333U) + ((bits >> 2) & 0x3333U);
    bits = (bits + (bits >> 4)) & 0x0f0fU;
    return (bits + (bits >> 8)) & 0x1fU;
}

/// Name of the instruction set in use.
std::string_view instruction_set() noexcept;

}  // namespace purview
