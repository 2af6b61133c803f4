// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The scheme of the article "Snapshot compression" (Glenn Fiedler, 2015), implemented from its
// text. Each frame is encoded against an acknowledged one. Changed cubes are encoded as relative
// numbers or as one bit each; positions and orientations are relative if they are close.
#pragma once

#include <cstdint>
#include <span>

#include "replication/cube_world.hpp"

namespace purview::bench {

/// Writes a frame with its sequence number and that of the baseline, and returns its size in bits.
/// `out` must have room for any frame. `baseline` null: without a baseline.
std::size_t write_article_frame(const CubeFrame& frame, const CubeFrame* baseline,
                                std::span<std::byte> out);
/// Returns false if the bits are malformed.
bool read_article_frame(std::span<const std::byte> in, const CubeFrame* baseline, CubeFrame& frame);

/// Number of cubes that differ from the baseline.
std::uint32_t changed_cubes(const CubeFrame& frame, const CubeFrame& baseline);

}  // namespace purview::bench
