// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/hash.hpp"
#include "purview/interest.hpp"
#include "spatial/block_table.hpp"
#include "spatial/cover.hpp"
#include "spatial/move.hpp"
#include "spatial/region_grid.hpp"
#include "support/line_support.hpp"

namespace purview::test {

TEST_CASE("grid: a border point is in one cell, a point outside in the outer ring (P22)") {
    BlockTable table(false);
    table.add_layer({0, 0, 0}, {40, 40, 0}, 10);
    const GridLayer& layer = table.layers()[0];
    CHECK(layer.nx == 6);
    CHECK(layer.cell_x(0) == 1);
    CHECK(layer.cell_x(9.999F) == 1);
    CHECK(layer.cell_x(10) == 2);
    CHECK(layer.cell_x(-0.001F) == 0);
    CHECK(layer.cell_x(-5) == 0);
    CHECK(layer.cell_x(-1e30F) == 0);
    CHECK(layer.cell_x(39.99F) == 4);
    CHECK(layer.cell_x(1e30F) == 5);
    CHECK(layer.cell_at({25, 35, 0}) == 4 * 6 + 3);
}

TEST_CASE("grid: covered cells contain all in reach, inside cells only those, each once") {
#ifdef PURVIEW_SANITIZED
    constexpr int rounds = 100;  // sanitizers are slow
#else
    constexpr int rounds = 600;
#endif
    SplitMix random(21);
    std::size_t inside_checked = 0;
    for (int round = 0; round < rounds; ++round) {
        const bool three_d = random.chance(0.3F);
        BlockTable table(three_d);
        const float cell = random.between(2, 30);
        table.add_layer({-20, -20, -20}, {80, 120, 40}, cell);
        table.add_abstract_layer();
        const GridLayer& layer = table.layers()[0];
        std::vector<Vec3> positions;
        std::vector<Slot> slots;
        for (std::uint32_t i = 0; i < 150; ++i) {
            Vec3 at{random.between(-60, 140), random.between(-60, 160),
                    three_d ? random.between(-60, 80) : 0};
            if (random.chance(0.3F)) at = {std::floor(at.x), std::floor(at.y), std::floor(at.z)};
            positions.push_back(at);
            slots.push_back(table.insert(make_entity_id(i, 1), 0, at));
        }
        std::vector<Reach> reaches;
        std::vector<Vec3> centers;
        const float radius = random.between(0.5F, 90), inside = radius * random.between(0.5F, 1);
        for (std::uint32_t r = 0; r <= random.below(4); ++r) {
            const Vec3 made_at{random.between(-80, 160), random.between(-80, 180),
                               three_d ? random.between(-60, 80) : 0};
            reaches.push_back(reach_of(layer, three_d, made_at, radius, inside));
            // Any position in the same box.
            Vec3 now = made_at;
            for (int step = 0; step < 50; ++step) {
                const Vec3 there{made_at.x + random.between(-cell, cell) / 4,
                                 made_at.y + random.between(-cell, cell) / 4,
                                 three_d ? made_at.z + random.between(-cell, cell) / 4 : 0};
                if (sub_cell_of(layer, three_d, there) == sub_cell_of(layer, three_d, made_at))
                    now = there;
            }
            centers.push_back(now);
        }
        std::vector<CellRun> runs;
        std::vector<RowSpan> spans;
        cover(layer, three_d, reaches, spans, runs);
        // Failures are counted and checked once per round: there are millions of tests.
        std::size_t twice = 0, not_covered = 0, not_within = 0;
        std::set<BlockIndex> covered, within;
        for (const CellRun& run : runs) {
            for (BlockIndex i = 0; i < run.count; ++i) {
                twice += covered.insert(run.first + i).second ? 0 : 1;
                if (i - run.inside_first < run.inside_count) within.insert(run.first + i);
            }
        }
        for (std::size_t i = 0; i < positions.size(); ++i) {
            bool is_near = false;
            const BlockIndex at = table.cell_of_block(block_of(slots[i]));
            for (const Vec3 center : centers) {
                const float dx = positions[i].x - center.x;
                const float dy = positions[i].y - center.y;
                const float dz = positions[i].z - center.z;
                const float squared = dx * dx + dy * dy + dz * dz;
                if (squared <= radius * radius) not_covered += 1 - covered.count(at);
                is_near |= squared <= inside * inside;
            }
            if (within.count(at) == 1) {
                not_within += is_near ? 0 : 1;
                ++inside_checked;
            }
        }
        INFO("round " << round);
        REQUIRE(twice == 0);
        REQUIRE(not_covered == 0);
        REQUIRE(not_within == 0);
    }
    CHECK(inside_checked > 2 * rounds);
}

TEST_CASE("blocks: every entity is found at its position after random edits") {
    SplitMix random(5);
    for (int round = 0; round < 10; ++round) {
        BlockTable table(false);
        table.add_layer({0, 0, 0}, {30, 30, 0}, 10);
        table.add_abstract_layer();
        const auto flag = table.add_flag_column();
        const auto key = table.add_key_column();
        struct Twin {
            Vec3 position;
            bool flag;
            Key key;
        };
        std::map<EntityId, Twin> twin;
        std::uint32_t generation = 1;
        for (int tick = 0; tick < 60; ++tick) {
            std::set<Slot> left;
            for (int step = 0; step < 60; ++step) {
                const std::uint32_t index = random.below(120);
                const EntityId there = table.entity_at(index);
                if (there == EntityId::none) {
                    const EntityId made = make_entity_id(index, ++generation);
                    const Vec3 at{random.between(0, 30), random.between(0, 30), 0};
                    const Slot slot = table.insert(made, random.chance(0.1F) ? 1 : 0, at);
                    // A slot that became free in this tick is not reused.
                    REQUIRE(left.count(slot) == 0);
                    const Key value{static_cast<std::uint16_t>(random.below(5))};
                    table.set_flag(flag, slot, true);
                    table.set_key(key, slot, value);
                    twin[made] = {at, true, value};
                } else if (random.chance(0.3F)) {
                    left.insert(table.slot_of(there));
                    table.remove(table.slot_of(there), false);
                    twin.erase(there);
                } else {
                    const Vec3 at{random.between(0, 30), random.between(0, 30), 0};
                    const Slot from = table.slot_of(there);
                    const Move elsewhere{there, {random.between(-90, 90), 15, 0}};
                    const Move last{there, at};
                    const std::array moves{elsewhere, last};  // the last wins
                    table.write_positions(std::span<const Move>(moves));
                    table.settle_moves();
                    const Slot to = table.slot_of(there);
                    if (to != from) {
                        left.insert(from);
                        REQUIRE(left.count(to) == 0);
                        REQUIRE(table.displaced_from(from).entity == there);
                        REQUIRE(table.displaced_from(from).to == to);
                    }
                    if (!table.is_abstract(block_of(to))) twin[there].position = at;
                }
            }
            if (tick % 3 == 0) table.shuffle_cell(random.below(25));
            for (const auto& [entity, expected] : twin) {
                const Slot slot = table.slot_of(entity);
                REQUIRE(slot != no_slot);
                REQUIRE(table.entity(slot) == entity);
                REQUIRE(table.position(slot) == expected.position);
                REQUIRE(table.flag(flag, slot) == expected.flag);
                REQUIRE(table.key(key, slot) == expected.key);
            }
            for (BlockIndex b = 0; b < table.block_end(); ++b)
                REQUIRE((table.vacated(b) == 0 || table.unsettled().test(table.cell_of_block(b))));
            for (BlockIndex cell = 0; cell < table.cell_end(); ++cell)
                REQUIRE((!table.ring_changed().test(cell) || table.unsettled().test(cell)));
            table.end_tick();
            REQUIRE(table.unsettled().none());  // no block is idle for long enough to be recycled
            REQUIRE(table.ring_changed().none());
            std::size_t occupied = 0;
            for (BlockIndex b = 0; b < table.block_end(); ++b) {
                occupied += static_cast<std::size_t>(std::popcount(table.occupied(b)));
                REQUIRE(table.vacated(b) == 0);
            }
            REQUIRE(occupied == twin.size());
        }
    }
}

TEST_CASE("blocks: a reinserted entity is in its new layer") {
    BlockTable table(false);
    for (int layer = 0; layer < 2; ++layer) table.add_layer({0, 0, 0}, {30, 30, 0}, 10);
    const std::uint32_t abstract = table.add_abstract_layer();
    const std::array ids{make_entity_id(3, 1), make_entity_id(4, 1)};
    for (const EntityId id : ids) {
        table.insert(id, 0, {5, 5, 0});
        table.change_layer(id, abstract);
    }
    table.remove(table.slot_of(ids[0]), false);
    CHECK(table.will_be_positioned(table.insert(ids[0], 1, {5, 5, 0})));
    table.settle_moves();
    CHECK(table.layer_of(block_of(table.slot_of(ids[0]))) == 1);
    CHECK(table.layer_of(block_of(table.slot_of(ids[1]))) == abstract);
}

TEST_CASE("blocks: an entity can move in the tick in which it gets a position") {
    for (const bool cell_moves : {false, true}) {
        BlockTable table(false);
        table.add_layer({0, 0, 0}, {30, 30, 0}, 10);
        const std::uint32_t abstract = table.add_abstract_layer();
        const EntityId id = make_entity_id(3, 1);
        table.keep_cell_moves(cell_moves);
        table.insert(id, abstract, {5, 5, 0});
        const Move move{id, {25, 25, 0}};
        table.write_positions(std::span(&move, 1));
        CHECK(table.position(table.slot_of(id)).x == 5);
        table.change_layer(id, 0);
        table.write_positions(std::span(&move, 1));
        table.settle_moves();
        const Slot slot = table.slot_of(id);
        CHECK(table.position(slot).x == 25);
        CHECK(table.cell_of_block(block_of(slot)) == table.layers()[0].cell_at({25, 25, 0}));
    }
}

TEST_CASE("blocks: overflow blocks of a former crowd are reused") {
    BlockTable table(false);
    table.add_layer({0, 0, 0}, {20, 10, 0}, 10);
    table.add_abstract_layer();
    BlockIndex most = 0;
    for (int round = 0; round < 20; ++round) {
        for (std::uint32_t i = 0; i < 500; ++i) {
            table.insert(make_entity_id(i, static_cast<std::uint32_t>(round + 1)), 0,
                         {round % 2 == 0 ? 5.0F : 15.0F, 5, 0});
        }
        for (std::uint32_t i = 0; i < 500; ++i)
            table.remove(table.slot_of(table.entity_at(i)), false);
        table.end_tick();
        if (round == 0) most = table.block_end();
        CHECK(table.block_end() == most);
    }
}

TEST_CASE("blocks: an overflow block that stays empty leaves its ring after a while") {
    BlockTable table(false);
    table.add_layer({0, 0, 0}, {20, 10, 0}, 10);
    table.add_abstract_layer();
    for (std::uint32_t i = 0; i < 40; ++i) table.insert(make_entity_id(i, 1), 0, {5, 5, 0});
    const BlockIndex base = table.layers()[0].cell_at({5, 5, 0});
    CHECK(table.overflowing().test(base));
    for (std::uint32_t i = 0; i < 40; ++i) table.remove(table.slot_of(table.entity_at(i)), false);
    int ticks = 0;
    for (; ticks < 200 && table.overflowing().test(base); ++ticks) table.end_tick();
    CHECK(ticks > 10);
    CHECK(ticks < 200);
    CHECK(table.ring_changed().test(base));  // marks the ring for users of these blocks
}

TEST_CASE("blocks: the number of allocations of a layer is independent of its cells") {
    const auto calls = [](float cell_size) {
        lines::CountedMemory memory;
        BlockTable table(true);
        table.add_layer({0, 0, 0}, {100, 100, 100}, cell_size);
        CHECK(table.block_end() == table.cell_end());
        return memory.calls;
    };
    CHECK(calls(4) == calls(50));
}

TEST_CASE("regions: the number of cells per observer is limited for any world shape") {
    const Vec3 from{-1000, 500, -10};
    for (const Vec3 size : {Vec3{4096, 4096, 4096}, Vec3{4096, 4096, 0}, Vec3{4096, 4096, 10},
                            Vec3{300, 4096, 300}, Vec3{4096, 1, 1}, Vec3{8, 8, 4096}, Vec3{}}) {
        for (const std::size_t observers : {1U, 64U, 1'000U, 30'000U}) {
            for (const bool three_d : {false, true}) {
                CAPTURE(size.x);
                CAPTURE(size.z);
                CAPTURE(observers);
                CAPTURE(three_d);
                const Vec3 to{from.x + size.x, from.y + size.y, from.z + size.z};
                const RegionGrid grid(three_d, from, to, 0, observers);
                CHECK(grid.cells() <= 4 * observers + 28);
                const bool is_point = size.x + size.y + (three_d ? size.z : 0) == 0;
                if (!is_point) CHECK(grid.cells() >= std::min<std::size_t>(observers / 12, 512));
            }
        }
    }
}

}  // namespace purview::test
