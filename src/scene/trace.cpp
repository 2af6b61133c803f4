// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/trace.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "core/read_number.hpp"

namespace purview::scene {

namespace {

constexpr std::string_view header = "time,id,x,y,z,facing";
/// In radians: a float still resolves 0.01 at this size, as after hours of accumulated rotation.
constexpr double facing_max = 100'000;
/// In meters: at larger values a float does not resolve one meter.
constexpr double position_max = 10'000'000;

struct Row {
    double time = 0;
    std::int64_t id = 0;
    double x = 0, y = 0, z = 0, facing = 0;
};

/// Parses a row. Returns an error text, or an empty string.
std::string read_row(std::string_view line, Row& row) {
    std::string_view part[6];
    for (int i = 0; i < 6; ++i) {
        const std::size_t comma = line.find(',');
        if ((comma == std::string_view::npos) != (i == 5)) return "must have six values";
        part[i] = line.substr(0, comma);
        line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
    }
    if (!read_number(part[1], row.id)) return "id must be a whole number";
    double* values[] = {&row.time, &row.x, &row.y, &row.z, &row.facing};
    const int columns[] = {0, 2, 3, 4, 5};
    for (int i = 0; i < 5; ++i) {
        if (!read_number(part[columns[i]], *values[i]) || !std::isfinite(*values[i])) {
            return "'" + std::string(part[columns[i]]) + "' is not a number";
        }
    }
    for (int i = 1; i < 4; ++i) {
        if (std::fabs(*values[i]) > position_max) {
            return "positions must be -10000000 to 10000000 m, not '" +
                   std::string(part[columns[i]]) + "'";
        }
    }
    if (std::fabs(row.facing) > facing_max) {
        return "facing must be -100000 to 100000 radians, not '" + std::string(part[5]) + "'";
    }
    return {};
}

}  // namespace

Loaded<Trace> load_trace(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return Problem{text.problem()};
    Trace trace;
    std::unordered_map<std::int64_t, std::size_t> track_of;
    std::string_view rest = *text;
    double first_time = 0;
    double last_time = 0;
    std::size_t rows = 0;
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const std::string where = path + ":" + std::to_string(number) + ": ";
        if (number == 1) {
            if (line != header)
                return Problem{where + "the header must be '" + std::string(header) + "'"};
            continue;
        }
        if (line.empty()) continue;
        Row row;
        if (std::string wrong = read_row(line, row); !wrong.empty()) return Problem{where + wrong};
        if (rows++ == 0) {
            first_time = last_time = row.time;
            trace.min = trace.max = {static_cast<float>(row.x), static_cast<float>(row.y),
                                     static_cast<float>(row.z)};
        }
        if (row.time < last_time) return Problem{where + "rows must be in time order"};
        last_time = row.time;
        const auto [found, is_new] = track_of.try_emplace(row.id, trace.tracks.size());
        if (is_new) trace.tracks.push_back({row.id, {}});
        TraceSample sample;
        sample.seconds = row.time - first_time;
        sample.position = {static_cast<float>(row.x), static_cast<float>(row.y),
                           static_cast<float>(row.z)};
        sample.facing = static_cast<float>(row.facing);
        auto& samples = trace.tracks[found->second].samples;
        if (!samples.empty() && samples.back().seconds == sample.seconds) {
            return Problem{where + "id " + std::to_string(row.id) +
                           " has two rows at the same time"};
        }
        samples.push_back(sample);
        trace.min = {std::min(trace.min.x, sample.position.x),
                     std::min(trace.min.y, sample.position.y),
                     std::min(trace.min.z, sample.position.z)};
        trace.max = {std::max(trace.max.x, sample.position.x),
                     std::max(trace.max.y, sample.position.y),
                     std::max(trace.max.z, sample.position.z)};
    }
    if (rows == 0) return Problem{path + ": has no rows"};
    trace.duration_seconds = last_time - first_time;
    return trace;
}

}  // namespace purview::scene
