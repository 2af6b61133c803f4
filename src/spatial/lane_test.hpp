// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sixteen places against a shape, on the widest vectors of the machine it runs on. All widths give
// the same bits: single precision, no fused operations, one comparison (M11).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "spatial/block_table.hpp"

namespace purview {

/// Adds to out[i] the lanes of blocks[i] within sqrt(radius_squared) of the centre.
void add_lanes_within(const BlockTable& table, std::span<const BlockIndex> blocks, Vec3 centre,
                      float radius_squared, std::span<Mask> out) noexcept;

/// Adds to out[i] the lanes of blocks[i] that are within sqrt(radius_squared) of exactly one of a
/// and b.
void add_lanes_crossed(const BlockTable& table, std::span<const BlockIndex> blocks, Vec3 a, Vec3 b,
                       float radius_squared, std::span<Mask> out) noexcept;

/// Name of the instruction set in use.
std::string_view instruction_set() noexcept;

}  // namespace purview
