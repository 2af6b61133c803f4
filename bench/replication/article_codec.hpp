// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The scheme of the article "Snapshot compression" (Glenn Fiedler, 2015), written from its text:
// each frame against one that the other side has acknowledged; which cubes changed, as relative
// numbers or as a bit each; positions and orientations relative where they are near.
#pragma once

#include <cstdint>
#include <span>

#include "replication/cube_world.hpp"

namespace purview::bench {

/// Bits of the frame, with a sequence number of its own and one of the baseline. `out` is large
/// enough for any frame. `baseline` null: against nothing.
std::size_t write_article_frame(const CubeFrame& frame, const CubeFrame* baseline,
                                std::span<std::byte> out);
/// False: the bits are none. `frame` is what was written.
bool read_article_frame(std::span<const std::byte> in, const CubeFrame* baseline, CubeFrame& frame);

/// Cubes that differ from the baseline.
std::uint32_t changed_cubes(const CubeFrame& frame, const CubeFrame& baseline);

}  // namespace purview::bench
