// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/tile_sight.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/hash.hpp"

namespace purview::test {

namespace {

/// '#' blocks.
scene::TileMap map_of(const std::vector<std::string>& rows, float tile_m) {
    scene::TileMap map;
    map.width = static_cast<std::uint32_t>(rows[0].size());
    map.height = static_cast<std::uint32_t>(rows.size());
    map.tile_m = tile_m;
    for (const std::string& row : rows) {
        for (const char c : row) map.blocked.push_back(c == '#' ? 1 : 0);
    }
    return map;
}

/// The reference: tests each blocking tile for a line through its interior.
bool slow_sight(const scene::TileMap& map, Vec3 from, Vec3 to) {
    const auto tile_of = [&](double at) { return std::floor(at / map.tile_m); };
    for (std::uint32_t r = 0; r < map.height; ++r) {
        for (std::uint32_t c = 0; c < map.width; ++c) {
            if (map.blocked[r * map.width + c] == 0) continue;
            const bool first = tile_of(from.x) == c && tile_of(from.y) == r;
            const bool last = tile_of(to.x) == c && tile_of(to.y) == r;
            if (first || last) continue;
            double low = 0;
            double high = 1;
            const auto cut = [&](double at, double way, std::uint32_t tile) {
                double a = (tile * double{map.tile_m} - at) / way;
                double b = ((tile + 1) * double{map.tile_m} - at) / way;
                if (a > b) std::swap(a, b);
                low = std::max(low, a);
                high = std::min(high, b);
            };
            cut(from.x, double{to.x} - from.x, c);
            cut(from.y, double{to.y} - from.y, r);
            if (low < high) return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("sight: blocking tiles hide what is behind them, not what is in them (M28 M38)") {
    const scene::TileMap map = map_of({".....",  //
                                       ".#.#.",  //
                                       "....."},
                                      2);
    const scene::TileSight sight(map);
    CHECK(sight.is_visible({1, 1, 0}, {9, 1, 0}));
    CHECK_FALSE(sight.is_visible({1, 3, 0}, {5, 3, 0}));
    CHECK_FALSE(sight.is_visible({5, 3, 0}, {1, 3, 0}));
    CHECK(sight.is_visible({1, 3, 0}, {3, 3, 0}));        // into a blocking tile
    CHECK(sight.is_visible({3, 3, 0}, {1, 3, 0}));        // out of it
    CHECK_FALSE(sight.is_visible({3, 3, 0}, {9, 3, 0}));  // the next one is a different tile
    CHECK(sight.is_visible({3, 3, 0}, {3.5F, 3, 0}));
    CHECK(sight.is_visible({1, 3, 0}, {1, 3, 0}));
    CHECK(sight.is_visible({1, 3, 7}, {1, 3, -7}));  // height does not matter
    // Nothing blocks outside the map.
    CHECK(sight.is_visible({-100, -100, 0}, {100, -100, 0}));
    CHECK_FALSE(sight.is_visible({-100, 3, 0}, {100, 3, 0}));
    CHECK(sight.is_visible({-100, 1, 0}, {100, 1, 0}));
    const float far = std::numeric_limits<float>::max();
    CHECK_FALSE(sight.is_visible({-1e6F, 3, 0}, {1e6F, 3, 0}));
    CHECK(sight.is_visible({-far, -far, 0}, {-far, far, 0}));
    (void)sight.is_visible({-far, -far, 0}, {far, far, 0});  // terminates
}

TEST_CASE("sight: a line through a corner is blocked only by both side tiles (M28)") {
    const scene::TileSight one(map_of({".#", ".."}, 1));
    CHECK(one.is_visible({0.5F, 0.5F, 0}, {1.5F, 1.5F, 0}));
    const scene::TileSight both(map_of({".#", "#."}, 1));
    CHECK_FALSE(both.is_visible({0.5F, 0.5F, 0}, {1.5F, 1.5F, 0}));
    CHECK_FALSE(both.is_visible({1.5F, 1.5F, 0}, {0.5F, 0.5F, 0}));
    CHECK(both.is_visible({1.5F, 0.5F, 0}, {0.5F, 1.5F, 0}));  // from one blocking tile to another
}

TEST_CASE("sight: a map without blocking tiles has no line-of-sight provider") {
    CHECK(scene::make_tile_sight(map_of({"..", ".."}, 1)) == nullptr);
    CHECK(scene::make_tile_sight(scene::TileMap{}) == nullptr);
    CHECK(scene::TileSight(scene::TileMap{}).is_visible({}, {1, 1, 0}));
    const auto sight = scene::make_tile_sight(map_of({".#."}, 1));
    REQUIRE(sight != nullptr);
    const Ray queries[] = {{EntityId{1}, {0.5F, 0.5F, 0}, {2.5F, 0.5F, 0}},
                           {EntityId{2}, {0.5F, 0.5F, 0}, {1.5F, 0.5F, 0}}};
    std::uint8_t visible[] = {0, 0};
    sight->test(ObserverId{1}, queries, visible);
    CHECK(visible[0] == 0);
    CHECK(visible[1] == 1);
}

TEST_CASE("sight: tile traversal equals the per-tile reference, in both directions (M28)") {
    const std::uint64_t seed = 5;
    INFO("seed ", seed);
    SplitMix random(seed);
    int seen = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::string> rows(1 + random.below(12), std::string(1 + random.below(12), '.'));
        for (std::string& row : rows) {
            for (char& c : row) c = random.chance(0.15F) ? '#' : '.';
        }
        const float tile_m = random.between(0.3F, 9);
        const scene::TileMap map = map_of(rows, tile_m);
        const scene::TileSight sight(map);
        const auto position = [&] {
            return Vec3{random.between(-2, 14) * tile_m, random.between(-2, 14) * tile_m, 0};
        };
        const Vec3 from = position();
        const Vec3 to = position();
        const bool expected = slow_sight(map, from, to);
        REQUIRE(sight.is_visible(from, to) == expected);
        REQUIRE(sight.is_visible(to, from) == expected);
        seen += expected ? 1 : 0;
    }
    CHECK(seen > 5'000);
    CHECK(seen < 18'000);
}

}  // namespace purview::test
