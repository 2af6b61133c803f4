// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Recorded positions of a crowd: CSV with the header `time,id,x,y,z,facing` (seconds, meters with z
// up, radians), rows in time order. An id exists from its first row to its last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "purview/types.hpp"
#include "scene/loaded.hpp"

namespace purview::scene {

struct TraceSample {
    double seconds = 0;  ///< since the first row of the file
    Vec3 position;
    float facing = 0;  ///< radians, not normalized
};

struct Track {
    std::int64_t id = 0;
    std::vector<TraceSample> samples;  ///< ascending in time, at least one
};

struct Trace {
    std::vector<Track> tracks;  ///< in order of appearance
    double duration_seconds = 0;
    Vec3 min;
    Vec3 max;
};

Loaded<Trace> load_trace(const std::string& path);

}  // namespace purview::scene
