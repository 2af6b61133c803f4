// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/score_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "core/hash.hpp"
#include "interest/windows/window_arena.hpp"
#include "spatial/block_table.hpp"

namespace purview::test::score_list_test {

namespace {

constexpr float nearness = 40;

/// A table with entities on a square of 64 m, some of them flagged, and visible block sets.
struct Lists {
    explicit Lists(std::uint64_t seed) : random(seed) {
        table.add_layer({0, 0, 0}, {64, 64, 0}, 16);
        table.add_abstract_layer();
        changed = table.add_flag_column();
        for (std::uint32_t i = 0; i < 100; ++i) {
            const Slot slot = table.insert(make_entity_id(i, 1), 0,
                                           {random.between(0, 64), random.between(0, 64), 0});
            if (random.chance(0.5F)) table.set_flag(changed, slot, true);
        }
    }
    /// A visible block set of about half of the blocks, with about half of their lanes.
    Window window() {
        std::vector<BlockIndex> blocks;
        std::vector<Mask> masks;
        for (BlockIndex block = 0; block < table.block_end(); ++block) {
            if (random.chance(0.5F)) continue;
            blocks.push_back(block);
            masks.push_back(static_cast<Mask>(random.next() & table.occupied(block)));
        }
        Window window;
        window.assign({1, {}, blocks, 0, blocks.size(), masks, true}, arena);
        return window;
    }
    /// Flagged entities on the lanes of the block set, by slot.
    std::map<Slot, std::uint32_t> flagged(const Window& window) const {
        std::map<Slot, std::uint32_t> out;
        for (std::size_t i = 0; i < window.size(); ++i) {
            for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                const Slot slot = slot_at(window.blocks()[i], lane);
                if ((window.masks()[i] & lane_bit(lane)) != 0 && table.flag(changed, slot))
                    out[slot] = table.entity_index(slot);
            }
        }
        return out;
    }
    float nearness_of(Slot slot, Vec3 from) const {
        const Vec3 at = table.position(slot);
        const float x = at.x - from.x, y = at.y - from.y;
        return std::max(1 - std::sqrt(x * x + y * y) / nearness, score_min);
    }

    SplitMix random;
    BlockTable table{false};
    std::uint32_t changed = 0;
    WindowArena arena;
};

using Named = std::map<std::uint32_t, float>;

Named named(const Scores& scores) {
    Named out;
    REQUIRE(scores.entities.size() == scores.score.size());
    for (std::size_t i = 0; i < scores.entities.size(); ++i) {
        REQUIRE(scores.score[i] > 0);
        REQUIRE(out.emplace(scores.entities[i], scores.score[i]).second);
    }
    return out;
}

}  // namespace

TEST_CASE("score list: parts list the flagged lanes of a block set and known entities") {
    std::size_t dropped = 0, known = 0, lanes = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        Lists lists(seed);
        ScoreList list;
        for (int round = 0; round < 3; ++round) {
            std::vector<Named> expected;
            // Drops and known entities edit the newest part while it is the last.
            const auto edit = [&](ScoreList::Part& part, std::map<Slot, std::uint32_t> slots,
                                  Named& its) {
                for (const auto& [slot, entity] : slots) {
                    if (!lists.random.chance(0.2F)) continue;
                    list.drop(part, slot);
                    its.erase(entity);
                    ++dropped;
                }
                part.known = list.known_size();
                for (std::uint32_t i = 0; i < lists.random.below(3); ++i) {
                    list.add_known(1'000 + i, 0.5F);
                    its[1'000 + i] = 0.5F;
                    ++known;
                }
                part.known_end = list.known_size();
            };
            // One block set at a time, with the caller's scores.
            for (std::uint32_t o = 0; o < 4; ++o) {
                const Window window = lists.window();
                const auto slots = lists.flagged(window);
                auto& part = list.add(o, window, lists.table.flags(lists.changed));
                REQUIRE(part.observer == o);
                REQUIRE(part.lane_end - part.lane == slots.size());
                Named its;
                const auto scores = list.score_of(part);
                list.for_each_lane(part, [&](Slot slot, std::uint32_t k) {
                    const float score = lists.random.between(0.1F, 1);
                    scores[k - part.lane] = score;
                    its[slots.at(slot)] = score;
                });
                REQUIRE(its.size() == slots.size());
                lanes += its.size();
                edit(part, slots, its);
                expected.push_back(its);
            }
            // Several block sets together, by distance.
            std::vector<Window> windows;
            std::vector<Vec3> from;
            for (std::uint32_t i = 0; i < 5; ++i) {
                windows.push_back(lists.window());
                from.push_back({lists.random.between(0, 64), lists.random.between(0, 64), 0});
            }
            for (std::uint32_t i = 0; i < 5; ++i) list.look_at(4 + i, windows[i], from[i]);
            const auto parts = list.add(lists.table.flags(lists.changed), lists.table, nearness);
            REQUIRE(parts.size() == 5);
            for (std::uint32_t i = 0; i < 5; ++i) {
                Named its;
                const auto slots = lists.flagged(windows[i]);
                for (const auto& [slot, entity] : slots)
                    its[entity] = lists.nearness_of(slot, from[i]);
                lanes += its.size();
                edit(parts[i], slots, its);
                expected.push_back(its);
            }
            auto& last = list.add(9);
            Named of_last;
            edit(last, {}, of_last);
            expected.push_back(of_last);

            list.name(lists.table);
            REQUIRE(list.parts().size() == expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                CAPTURE(i);
                REQUIRE(list.parts()[i].observer == i);
                const Named found = named(list.of(list.parts()[i]));
                REQUIRE(found.size() == expected[i].size());
                for (const auto& [entity, score] : expected[i]) {
                    REQUIRE(found.contains(entity));
                    REQUIRE(found.at(entity) == doctest::Approx(score).epsilon(1e-5));
                }
            }
            list.clear();
            REQUIRE(list.parts().empty());
            REQUIRE(list.known_size() == 0);
        }
    }
    CHECK(dropped > 1'000);
    CHECK(known > 100);
    CHECK(lanes > 5'000);
}

TEST_CASE("score list: an entity that has since left its lane is still listed") {
    Lists lists(3);
    Window window = lists.window();
    const auto slots = lists.flagged(window);
    REQUIRE(slots.size() > 2);
    ScoreList list;
    auto& part = list.add(0, window, lists.table.flags(lists.changed));
    std::fill(list.score_of(part).begin(), list.score_of(part).end(), 0.25F);
    lists.table.remove(slots.begin()->first, false);
    list.name(lists.table);
    const Named found = named(list.of(list.parts()[0]));
    CHECK(found.size() == slots.size());
    CHECK(found.contains(slots.begin()->second));
}

TEST_CASE("score list: dropping a lane that is not in the part has no effect") {
    Lists lists(4);
    Window window = lists.window();
    const auto slots = lists.flagged(window);
    ScoreList list;
    auto& part = list.add(0, window, lists.table.flags(lists.changed));
    std::fill(list.score_of(part).begin(), list.score_of(part).end(), 0.25F);
    for (Slot slot = 0; slot < lists.table.block_end() * lanes_per_block; ++slot) {
        if (!slots.contains(slot)) list.drop(part, slot);
    }
    CHECK_FALSE(part.has_dropped);
    list.name(lists.table);
    CHECK(named(list.of(list.parts()[0])).size() == slots.size());
}

}  // namespace purview::test::score_list_test
