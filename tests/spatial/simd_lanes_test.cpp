// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Loops over lanes on every instruction set of the machine, compared with scalar loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#ifdef PURVIEW_TEST_HIGHWAY
#include <hwy/highway.h>
#endif

#include "core/aligned.hpp"
#include "core/hash.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview::test {

namespace {

void on_all_instruction_sets(const std::function<void()>& test) {
#ifdef PURVIEW_TEST_HIGHWAY
    const auto choose = [](std::int64_t targets) {
        hwy::SetSupportedTargetsForTest(targets);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    };
    std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    targets.push_back(HWY_STATIC_TARGET);  // the baseline of every machine
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
    LineVector<std::uint32_t> numbers;  ///< by slot
    LineVector<Mask> flags;
    std::vector<BlockIndex> blocks;
    std::vector<Mask> masks;
    LaneCoordinates at() const { return {coordinates.data(), axes}; }
    float coordinate(std::uint32_t axis, BlockIndex block, unsigned lane) const {
        return coordinates[(block * axes + axis) * lanes_per_block + lane];
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

Vec3 random_position(SplitMix& random, unsigned axes) {
    return {random.between(-100, 100), random.between(-100, 100),
            axes == 3 ? random.between(-100, 100) : 0};
}

/// Appends the nearness of the lanes of a block, with a scalar loop.
void add_nearness(const Lanes& lanes, BlockIndex block, Mask mask, std::span<const Vec3> positions,
                  float reach, float least, std::vector<float>& out) {
    for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
        if ((mask >> lane & 1U) == 0) continue;
        double best = 1e9;
        for (const Vec3 position : positions) {
            const double x = double{lanes.coordinate(0, block, lane)} - position.x;
            const double y = double{lanes.coordinate(1, block, lane)} - position.y;
            const double z =
                lanes.axes == 3 ? double{lanes.coordinate(2, block, lane)} - position.z : 0;
            best = std::min(best, std::sqrt(x * x + y * y + z * z));
        }
        out.push_back(std::max(static_cast<float>(1 - best / reach), least));
    }
}

}  // namespace

TEST_CASE("lanes: picking flagged lanes equals a scalar loop (N44)") {
    on_all_instruction_sets([] {
        SplitMix random(3);
        for (int run = 0; run < 200; ++run) {
            const unsigned axes = run % 2 == 0 ? 2 : 3;
            const Lanes lanes = random_lanes(random, axes);
            // Some visible block sets of those blocks, one after another. They may be empty.
            std::vector<LaneWindow> windows;
            for (std::size_t at = 0; at < lanes.blocks.size() || windows.empty();) {
                const auto rest = static_cast<std::uint32_t>(lanes.blocks.size() - at);
                const std::uint32_t n = std::min(random.below(40), rest);
                windows.push_back({lanes.blocks.data() + at, lanes.masks.data() + at, n,
                                   random_position(random, axes)});
                at += n;
            }
            PickedLanes picked;
            std::vector<LaneEnd> ends(windows.size());
            pick_lanes(std::span(windows).first(1), lanes.flags.data(), picked, ends.data());
            const std::uint32_t first = picked.size;
            pick_lanes(std::span(windows).subspan(1), lanes.flags.data(), picked, ends.data() + 1);

            std::vector<BlockIndex> blocks;
            std::vector<Mask> masks;
            std::size_t at = 0;
            for (std::size_t w = 0; w < windows.size(); ++w) {
                for (std::size_t end = at + windows[w].size; at < end; ++at) {
                    const auto both =
                        static_cast<Mask>(lanes.masks[at] & lanes.flags[lanes.blocks[at]]);
                    if (both == 0) continue;
                    blocks.push_back(lanes.blocks[at]);
                    masks.push_back(both);
                }
                REQUIRE(ends[w].blocks == blocks.size());
            }
            REQUIRE(picked.size == blocks.size());
            REQUIRE(std::equal(blocks.begin(), blocks.end(), picked.blocks.begin()));
            REQUIRE(std::equal(masks.begin(), masks.end(), picked.masks.begin()));

            // The numbers of the picked lanes.
            std::vector<std::uint32_t> numbers;
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                    if ((masks[i] >> lane & 1U) != 0)
                        numbers.push_back(lanes.numbers[blocks[i] * lanes_per_block + lane]);
                }
            }
            std::vector<std::uint32_t> gathered(numbers.size() + lanes_per_block);
            REQUIRE(gather_lanes(lanes.numbers.data(), picked, gathered.data()) == numbers.size());
            REQUIRE(std::equal(numbers.begin(), numbers.end(), gathered.begin()));

            // The nearness of the lanes of all block sets after the first.
            const float reach = random.between(20, 400), least = 0.01F;
            std::vector<float> right;
            for (std::size_t w = 1; w < windows.size(); ++w) {
                for (std::size_t i = ends[w - 1].blocks; i < ends[w].blocks; ++i)
                    add_nearness(lanes, picked.blocks[i], picked.masks[i],
                                 std::span(&windows[w].from, 1), reach, least, right);
                ends[w].lanes = static_cast<std::uint32_t>(right.size());
            }
            std::vector<LaneEnd> gathered_ends(ends.begin() + 1, ends.end());
            for (LaneEnd& end : gathered_ends) end.lanes = 12345;
            std::vector<float> nearness(right.size() + lanes_per_block);
            REQUIRE(gather_nearness(lanes.at(), std::span(windows).subspan(1), picked, first, reach,
                                    least, gathered_ends.data(), nearness.data()) == right.size());
            for (std::size_t i = 0; i < right.size(); ++i)
                REQUIRE(nearness[i] == doctest::Approx(right[i]).epsilon(1e-4));
            for (std::size_t w = 1; w < windows.size(); ++w)
                REQUIRE(gathered_ends[w - 1].lanes == ends[w].lanes);
        }
    });
}

TEST_CASE("lanes: nearness to several positions equals a scalar loop (N44 N51)") {
    on_all_instruction_sets([] {
        SplitMix random(4);
        for (int run = 0; run < 400; ++run) {
            const Lanes lanes = random_lanes(random, run % 2 == 0 ? 2 : 3);
            std::vector<Vec3> positions;
            for (std::uint32_t n = 1 + random.below(3); n > 0; --n)
                positions.push_back(random_position(random, lanes.axes));
            const float reach = random.between(20, 400), least = 0.01F;
            std::vector<float> right;
            for (std::size_t i = 0; i < lanes.blocks.size(); ++i)
                add_nearness(lanes, lanes.blocks[i], lanes.masks[i], positions, reach, least,
                             right);
            std::vector<float> nearness(right.size() + lanes_per_block);
            REQUIRE(gather_nearness(lanes.at(), lanes.blocks, lanes.masks, positions, reach, least,
                                    nearness.data()) == right.size());
            for (std::size_t i = 0; i < right.size(); ++i)
                REQUIRE(nearness[i] == doctest::Approx(right[i]).epsilon(1e-4));
        }
    });
}

TEST_CASE("lanes: listing slots and picking results equal a scalar loop (M28)") {
    on_all_instruction_sets([] {
        SplitMix random(5);
        for (int run = 0; run < 400; ++run) {
            const Lanes lanes = random_lanes(random, 2);
            std::vector<Slot> slots;
            std::vector<std::uint8_t> yes;
            std::vector<Mask> right;
            for (std::size_t i = 0; i < lanes.blocks.size(); ++i) {
                right.push_back(0);
                for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                    if ((lanes.masks[i] >> lane & 1U) == 0) continue;
                    slots.push_back(slot_at(lanes.blocks[i], lane));
                    yes.push_back(
                        random.chance(0.5F) ? 0 : static_cast<std::uint8_t>(1 + random.below(255)));
                    if (yes.back() != 0) right.back() |= lane_bit(lane);
                }
            }
            std::vector<Slot> listed(slots.size() + lanes_per_block);
            REQUIRE(list_slots(lanes.blocks, lanes.masks, listed.data()) == slots.size());
            REQUIRE(std::equal(slots.begin(), slots.end(), listed.begin()));
            yes.resize(yes.size() + lanes_per_block, 1);
            std::vector<Mask> picked(right.size(), all_lanes);
            pick_yes(lanes.masks, yes.data(), picked.data());
            REQUIRE(picked == right);
        }
    });
}

}  // namespace purview::test
