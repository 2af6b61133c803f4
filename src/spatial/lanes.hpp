// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Blocks of sixteen entities: one lane per entity, and masks with one bit per lane.
#pragma once

#include <cstdint>

namespace purview {

using Mask = std::uint16_t;  ///< bit i is lane i of a block
using BlockIndex = std::uint32_t;
using Slot = std::uint32_t;  ///< block * 16 + lane; valid within one tick only

inline constexpr unsigned lanes_per_block = 16;
inline constexpr Mask all_lanes = 0xffff;
inline constexpr Slot no_slot = 0xffffffffU;

constexpr BlockIndex block_of(Slot slot) noexcept {
    return slot / lanes_per_block;
}
constexpr unsigned lane_of(Slot slot) noexcept {
    return slot % lanes_per_block;
}
constexpr Slot slot_at(BlockIndex block, unsigned lane) noexcept {
    return block * lanes_per_block + lane;
}
constexpr Mask lane_bit(unsigned lane) noexcept {
    return static_cast<Mask>(1U << lane);
}

}  // namespace purview
