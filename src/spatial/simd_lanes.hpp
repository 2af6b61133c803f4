// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests sixteen positions against a shape, with the widest vectors of the CPU. All vector widths
// give the same bits: single precision, no fused operations, one comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/aligned.hpp"
#include "purview/types.hpp"
#include "spatial/lanes.hpp"

namespace purview {

/// Coordinates by block: [blocks * axes * 16]. Each block has 16 x, then 16 y, then 16 z if there
/// are 3 axes. An empty lane has x = +infinity.
struct LaneCoordinates {
    const float* data;
    unsigned axes;  ///< 2 or 3
};

/// Adds to out[i] the lanes of blocks[i] within sqrt(radius_squared) of the center.
void add_lanes_within(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      float radius_squared, std::span<Mask> out) noexcept;

/// Adds to out[i] the lanes of blocks[i] that are within sqrt(radius_squared) of exactly one of `a`
/// and `b`.
void add_lanes_crossed(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 a, Vec3 b,
                       float radius_squared, std::span<Mask> out) noexcept;

/// Adds the lanes within their own radius of the center: radii[16 * block + lane] if that is above
/// 0, else `otherwise_m`; plus `margin_m`.
void add_lanes_within_own(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                          const float* radii, float otherwise_m, float margin_m,
                          std::span<Mask> out) noexcept;

/// Adds the lanes with low <= position <= high on every axis.
void add_lanes_in_box(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 low, Vec3 high,
                      std::span<Mask> out) noexcept;

/// Adds the lanes with |position - center| <= half_size on every axis.
void add_lanes_around(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      Vec3 half_size, std::span<Mask> out) noexcept;

/// A cone that starts at its tip. Positions at most `margin_m` away from it count as inside.
struct LaneCone {
    Vec3 tip;
    Vec3 direction;  ///< of length 1, on the used axes
    float cosine = 0;
    float sine = 0;
    float radius = 0;
    float margin_m = 0;
};
void add_lanes_in_cone(LaneCoordinates at, std::span<const BlockIndex> blocks, const LaneCone& cone,
                       std::span<Mask> out) noexcept;

/// A visible block set: blocks, lanes of each, and the viewpoint.
struct LaneWindow {
    const BlockIndex* blocks;  ///< [size]
    const Mask* masks;         ///< [size]
    std::uint32_t size;
    Vec3 from;
};
/// Number of blocks and lanes up to the end of a visible block set.
struct LaneEnd {
    std::uint32_t blocks;
    std::uint32_t lanes;
};
/// Lanes of many visible block sets, block by block. The lists are longer than their contents.
struct PickedLanes {
    LineVector<BlockIndex> blocks;
    LineVector<Mask> masks;  ///< no mask is 0
    std::uint32_t size = 0;  ///< number of blocks
};
/// Appends the lanes of `windows` that have a flag. `flags`: masks by block, in a LineVector.
void pick_lanes(std::span<const LaneWindow> windows, const Mask* flags, PickedLanes& out,
                LaneEnd* out_end);

/// Writes values[16 * block + lane] of all picked lanes and returns their number. `out` needs room
/// for lanes_per_block more.
std::size_t gather_lanes(const std::uint32_t* values, const PickedLanes& picked,
                         std::uint32_t* out) noexcept;
/// Writes the slots of the lanes masks[i] of blocks[i], block by block, and returns their number.
/// `out` needs room for lanes_per_block more.
std::size_t list_slots(std::span<const BlockIndex> blocks, std::span<const Mask> masks,
                       Slot* out) noexcept;
/// `yes` has one byte for each lane in masks[i], one after another. Writes the lanes with a byte
/// that is not 0 to out[i]. lanes_per_block bytes past the end of `yes` must be readable.
void pick_yes(std::span<const Mask> masks, const std::uint8_t* yes, Mask* out) noexcept;
/// Writes the nearness of each lane in masks[i] of blocks[i] to the nearest of the positions (at
/// least one): 1 there, 0 at `reach`, and never less than `least`. Values are written block by
/// block, from lane 0 on. Returns their number. `out` needs room for lanes_per_block more.
std::size_t gather_nearness(LaneCoordinates at, std::span<const BlockIndex> blocks,
                            std::span<const Mask> masks, std::span<const Vec3> positions,
                            float reach, float least, float* out) noexcept;
/// The same for picked lanes from block `first` on, each relative to the viewpoint of its block
/// set. The caller sets `blocks` of each LaneEnd; this sets `lanes`.
std::size_t gather_nearness(LaneCoordinates at, std::span<const LaneWindow> windows,
                            const PickedLanes& picked, std::uint32_t first, float reach,
                            float least, LaneEnd* ends, float* out) noexcept;

/// Counts bits without a special instruction, which not every CPU has.
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
