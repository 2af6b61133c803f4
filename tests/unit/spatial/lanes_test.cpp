// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Loops over lanes, on every instruction set of the machine, beside the same one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#ifdef PURVIEW_TEST_HIGHWAY
#include <hwy/highway.h>
#endif

#include "core/aligned.hpp"
#include "core/hash.hpp"
#include "spatial/lane_test.hpp"

namespace purview::test {

namespace {

void on_all_instruction_sets(const std::function<void()>& test) {
#ifdef PURVIEW_TEST_HIGHWAY
    const auto choose = [](std::int64_t targets) {
        hwy::SetSupportedTargetsForTest(targets);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    };
    std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    targets.push_back(HWY_STATIC_TARGET);  // what every machine can do
    for (const std::int64_t target : targets) {
        choose(target);
        INFO(std::string(instruction_set()));
        test();
    }
    choose(0);
#else
    test();
#endif
}

struct Lanes {
    static constexpr std::uint32_t block_end = 61;
    LineVector<float> coordinates;
    LineVector<std::uint32_t> numbers;
    LineVector<Mask> flags;
    std::vector<BlockIndex> blocks;
    std::vector<Mask> masks;
    LaneCoordinates at() const { return {coordinates.data(), axes}; }
    float coordinate(std::uint32_t axis, std::size_t i, unsigned lane) const {
        return coordinates[(blocks[i] * axes + axis) * lanes_per_block + lane];
    }
    unsigned axes = 2;
};

Mask random_mask(SplitMix& random) {
    const auto all = static_cast<Mask>(random.next());
    if (random.chance(0.4F)) return 0;
    return random.chance(0.2F)   ? all_lanes
           : random.chance(0.5F) ? static_cast<Mask>(all & all >> 3)
                                 : all;
}

Lanes random_lanes(SplitMix& random, unsigned axes) {
    Lanes lanes;
    lanes.axes = axes;
    for (std::uint32_t i = 0; i < Lanes::block_end * lanes_per_block; ++i)
        lanes.numbers.push_back(random.below(1U << 30));
    for (std::uint32_t i = 0; i < Lanes::block_end * lanes_per_block * axes; ++i)
        lanes.coordinates.push_back(random.between(-100, 100));
    for (std::uint32_t b = 0; b < Lanes::block_end; ++b) lanes.flags.push_back(random_mask(random));
    for (std::uint32_t n = random.below(50); n > 0; --n) {
        lanes.blocks.push_back(random.chance(0.1F) ? Lanes::block_end - 1
                                                   : random.below(Lanes::block_end));
        lanes.masks.push_back(random_mask(random));
    }
    return lanes;
}

/// visit(position of the block, lane), one after another.
template <class Visit>
void for_each_lane(const std::vector<Mask>& masks, Visit&& visit) {
    for (std::size_t i = 0; i < masks.size(); ++i) {
        for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
            if ((masks[i] >> lane & 1U) != 0) visit(i, lane);
        }
    }
}

}  // namespace

TEST_CASE("lanes: those with a flag are picked as one by one, on every instruction set (N44)") {
    on_all_instruction_sets([] {
        SplitMix random(3);
        for (int run = 0; run < 400; ++run) {
            const Lanes lanes = random_lanes(random, 2);
            std::vector<BlockIndex> right_blocks;
            std::vector<Mask> right_masks;
            std::size_t count = 0;
            for (std::size_t i = 0; i < lanes.blocks.size(); ++i) {
                const auto both = static_cast<Mask>(lanes.masks[i] & lanes.flags[lanes.blocks[i]]);
                if (both == 0) continue;
                right_blocks.push_back(lanes.blocks[i]);
                right_masks.push_back(both);
                count += count_lanes(both);
            }
            std::vector<BlockIndex> blocks(lanes.blocks.size() + lanes_per_block);
            std::vector<Mask> masks(lanes.blocks.size() + lanes_per_block);
            const LaneCount picked = pick_lanes(lanes.blocks, lanes.masks, lanes.flags.data(),
                                                blocks.data(), masks.data());
            REQUIRE(picked.blocks == right_blocks.size());
            REQUIRE(picked.lanes == count);
            REQUIRE(std::equal(right_blocks.begin(), right_blocks.end(), blocks.begin()));
            REQUIRE(std::equal(right_masks.begin(), right_masks.end(), masks.begin()));
        }
    });
}

TEST_CASE(
    "lanes: numbers and nearness are gathered as one by one, on every instruction set (N44 N51)") {
    on_all_instruction_sets([] {
        SplitMix random(4);
        for (int run = 0; run < 400; ++run) {
            const Lanes lanes = random_lanes(random, run % 2 == 0 ? 2 : 3);
            std::vector<Vec3> places;
            for (std::uint32_t n = 1 + random.below(3); n > 0; --n) {
                places.push_back({random.between(-100, 100), random.between(-100, 100),
                                  lanes.axes == 3 ? random.between(-100, 100) : 0});
            }
            const float reach_m = random.between(20, 400), least = 0.01F;
            std::vector<std::uint32_t> numbers;
            std::vector<float> near;
            for_each_lane(lanes.masks, [&](std::size_t i, unsigned lane) {
                numbers.push_back(lanes.numbers[lanes.blocks[i] * lanes_per_block + lane]);
                double best = 1e9;
                for (const Vec3 place : places) {
                    const double x = double{lanes.coordinate(0, i, lane)} - place.x;
                    const double y = double{lanes.coordinate(1, i, lane)} - place.y;
                    const double z =
                        lanes.axes == 3 ? double{lanes.coordinate(2, i, lane)} - place.z : 0;
                    best = std::min(best, std::sqrt(x * x + y * y + z * z));
                }
                near.push_back(std::max(static_cast<float>(1 - best / reach_m), least));
            });
            std::vector<std::uint32_t> told(numbers.size() + lanes_per_block);
            REQUIRE(gather_lanes(lanes.numbers.data(), lanes.blocks, lanes.masks, told.data()) ==
                    numbers.size());
            REQUIRE(std::equal(numbers.begin(), numbers.end(), told.begin()));
            std::vector<float> said(near.size() + lanes_per_block);
            REQUIRE(gather_nearness(lanes.at(), lanes.blocks, lanes.masks, places, reach_m, least,
                                    said.data()) == near.size());
            for (std::size_t i = 0; i < near.size(); ++i)
                REQUIRE(said[i] == doctest::Approx(near[i]).epsilon(1e-4));
        }
    });
}

}  // namespace purview::test
