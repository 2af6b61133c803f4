// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/tile_sight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace purview::scene {

namespace {

/// One coordinate of a line, in tiles: starts at `from` and extends by `way`. Iterates over the
/// tiles within the map.
class Walk {
  public:
    Walk(double from, double way, std::int64_t count) : from_(from), way_(way), count_(count) {}

    /// Clips the range [begin, end] of the line to the map. Returns false if nothing is left.
    bool clip(double& begin, double& end) const {
        const auto count = static_cast<double>(count_);
        if (way_ == 0) return from_ >= 0 && from_ <= count;
        const double at_zero = -from_ / way_;
        const double at_count = (count - from_) / way_;
        begin = std::max(begin, std::min(at_zero, at_count));
        end = std::min(end, std::max(at_zero, at_count));
        return begin <= end;
    }
    void start(double begin, double end) {
        tile_ = tile_at(from_ + way_ * begin);
        last_ = tile_at(from_ + way_ * end);
        step_ = last_ < tile_ ? -1 : 1;
    }
    std::int64_t tile() const { return tile_; }
    std::int64_t beyond() const { return tile_ + step_; }
    bool is_over() const { return tile_ == last_; }
    /// The fraction of the line at which the next tile begins.
    double next() const {
        if (is_over()) return std::numeric_limits<double>::infinity();
        return (static_cast<double>(step_ > 0 ? tile_ + 1 : tile_) - from_) / way_;
    }
    void advance() { tile_ += step_; }
    /// The tile that contains the coordinate; -1 if it is outside of the map.
    std::int64_t standing(double at) const {
        return at < 0 || at > static_cast<double>(count_) ? -1 : tile_at(at);
    }

  private:
    std::int64_t tile_at(double at) const {
        const double tile = std::floor(at);
        return static_cast<std::int64_t>(std::clamp(tile, 0.0, static_cast<double>(count_ - 1)));
    }
    double from_;
    double way_;
    std::int64_t count_;
    std::int64_t tile_ = 0;
    std::int64_t last_ = 0;
    std::int64_t step_ = 1;
};

}  // namespace

TileSight::TileSight(const TileMap& map)
    : width_(map.width), height_(map.height), tile_m_(map.tile_m), blocked_(map.blocked) {}

bool TileSight::is_visible(Vec3 from, Vec3 to) const noexcept {
    if (blocked_.empty()) return true;
    // Always traces in the same direction, so that the result is symmetric.
    if (to.x < from.x || (to.x == from.x && to.y < from.y)) std::swap(from, to);
    const double x0 = from.x / tile_m_;
    const double y0 = from.y / tile_m_;
    const double x1 = to.x / tile_m_;
    const double y1 = to.y / tile_m_;
    Walk column(x0, x1 - x0, width_);
    Walk row(y0, y1 - y0, height_);
    double begin = 0;
    double end = 1;
    if (!column.clip(begin, end) || !row.clip(begin, end)) return true;
    column.start(begin, end);
    row.start(begin, end);
    const auto blocks = [&](std::int64_t c, std::int64_t r) {
        if (blocked_[static_cast<std::size_t>(r * width_ + c)] == 0) return false;
        const bool first = c == column.standing(x0) && r == row.standing(y0);
        const bool last = c == column.standing(x1) && r == row.standing(y1);
        return !first && !last;
    };
    while (!blocks(column.tile(), row.tile())) {
        if (column.is_over() && row.is_over()) return true;
        const double next_column = column.next();
        const double next_row = row.next();
        if (next_column == next_row) {  // exactly through a corner
            if (blocks(column.beyond(), row.tile()) && blocks(column.tile(), row.beyond()))
                return false;
            column.advance();
            row.advance();
        } else if (next_column < next_row) {
            column.advance();
        } else {
            row.advance();
        }
    }
    return false;
}

void TileSight::test(ObserverId, std::span<const Ray> queries,
                     std::span<std::uint8_t> visible) const noexcept {
    for (std::size_t i = 0; i < queries.size(); ++i)
        visible[i] = is_visible(queries[i].from, queries[i].to) ? 1 : 0;
}

std::shared_ptr<const RayTest> make_tile_sight(const TileMap& map) {
    if (std::find(map.blocked.begin(), map.blocked.end(), 1) == map.blocked.end()) return nullptr;
    return std::make_shared<TileSight>(map);
}

}  // namespace purview::scene
