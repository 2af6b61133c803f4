// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/positions.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::positions_test {

namespace {

constexpr std::uint32_t count = 80;

Rules plain_rules(Axes axes = Axes::xy) {
    Rules rules;
    rules.axes = axes;
    rules.max = {100, 100, 100};
    rules.node("near").add(within(10));
    return rules;
}

}  // namespace

TEST_CASE("positions: moves of unknown entities and non-finite moves are counted") {
    InterestParts parts(plain_rules());
    const EntityId one = parts.spawn(0, 5);
    CHECK(parts.positions.move(make_entity_id(3, 1), {1, 1, 0}) == Status::stale_id);
    CHECK(parts.positions.move(make_entity_id(0, 2), {1, 1, 0}) == Status::stale_id);
    CHECK(parts.positions.move(one, {NAN, 1, 0}) == Status::bad_position);
    const std::array moves{Move{one, {7, 50, 0}}, Move{make_entity_id(3, 1), {1, 1, 0}},
                           Move{one, {INFINITY, 0, 0}}};
    parts.positions.move(moves);
    CHECK(parts.lookup.position_of(one) == Vec3{7, 50, 0});
    CHECK(parts.stores.counters.stale_ids == 3);
    CHECK(parts.stores.counters.bad_positions == 2);
}

TEST_CASE("positions: single moves, lists and columns have the same result") {
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        for (const bool has_group : {false, true}) {
            InterestParts single(plain_rules(axes)), list(plain_rules(axes)),
                columns(plain_rules(axes)), marked(plain_rules(axes));
            SplitMix random(5);
            std::vector<EntityId> entities;
            for (InterestParts* parts : {&single, &list, &columns, &marked}) {
                entities.clear();
                for (std::uint32_t i = 0; i < count; ++i) entities.push_back(parts->spawn(i, 50));
                if (has_group) parts->attach(entities[1], entities[0]);
            }
            std::vector<Vec3> plain(count, Vec3{50, 50, 0});
            for (int tick = 0; tick < 20; ++tick) {
                std::vector<Move> moves;
                std::array<std::uint64_t, (count + 63) / 64> changed{};
                for (std::uint32_t i = 0; i < count; ++i) {
                    if (random.chance(0.5F)) continue;
                    plain[i] = {random.between(0, 100), random.between(0, 100),
                                random.between(0, 100)};
                    moves.push_back({entities[i], plain[i]});
                    changed[i / 64] |= std::uint64_t{1} << i % 64;
                    REQUIRE(single.positions.move(entities[i], plain[i]) == Status::ok);
                }
                list.positions.move(moves);
                PositionColumns all{.entities = entities,
                                    .x = &plain[0].x,
                                    .y = &plain[0].y,
                                    .z = &plain[0].z,
                                    .stride_bytes = sizeof(Vec3)};
                columns.positions.move(all);
                all.changed = changed;
                marked.positions.move(all);
                for (const InterestParts* parts : {&single, &list, &columns, &marked}) {
                    for (std::uint32_t i = 0; i < count; ++i) {
                        Vec3 expected = plain[has_group && i == 1 ? 0 : i];
                        if (axes == Axes::xy) expected.z = 0;
                        if (axes == Axes::xz) expected.y = 0;
                        Vec3 found = parts->lookup.position_of(entities[i]);
                        if (axes == Axes::xz) found.y = 0;
                        REQUIRE(found == expected);
                    }
                }
                for (InterestParts* parts : {&single, &list, &columns, &marked}) parts->tick();
            }
        }
    }
}

TEST_CASE("positions: columns with the current positions write nothing") {
    InterestParts parts(plain_rules());
    std::vector<EntityId> entities;
    std::vector<Vec3> at;
    for (std::uint32_t i = 0; i < count; ++i) {
        at.push_back({static_cast<float>(i), 50, 0});
        entities.push_back(parts.spawn(i, at.back().x));
    }
    parts.tick();
    entities[4] = EntityId::none;
    const PositionColumns columns{
        .entities = entities, .x = &at[0].x, .y = &at[0].y, .stride_bytes = sizeof(Vec3)};
    parts.positions.move(columns);
    CHECK_FALSE(parts.stores.table.is_any_dirty());
    CHECK(parts.stores.table.moves_seen() == 0);
    at[7].x = 90;
    parts.positions.move(columns);
    CHECK(parts.lookup.position_of(entities[7]).x == 90);
    CHECK(parts.stores.table.moves_seen() == 1);
}

TEST_CASE("positions: sources that form a cycle or too long a chain are refused") {
    InterestParts parts(plain_rules());
    std::vector<EntityId> chain;
    for (std::uint32_t i = 0; i < 12; ++i) chain.push_back(parts.spawn(i, 5));
    Positions& positions = parts.positions;
    CHECK(positions.set_position_source(make_entity_id(50, 1), chain[0]) == Status::stale_id);
    CHECK(positions.set_position_source(chain[0], make_entity_id(50, 1)) == Status::stale_id);
    CHECK(positions.set_position_source(chain[0], chain[0]) == Status::would_cycle);
    for (std::uint32_t i = 0; i < PositionSources::links_max; ++i)
        CHECK(positions.set_position_source(chain[i], chain[i + 1]) == Status::ok);
    CHECK(positions.set_position_source(chain[8], chain[9]) == Status::too_deep);
    CHECK(positions.set_position_source(chain[10], chain[0]) == Status::too_deep);
    CHECK(positions.set_position_source(chain[8], chain[3]) == Status::would_cycle);
    CHECK(positions.set_position_source(chain[4], EntityId::none) == Status::ok);
    CHECK(positions.set_position_source(chain[8], chain[9]) == Status::ok);
    parts.attach(chain[11], chain[9]);
    CHECK(positions.set_position_source(chain[11], chain[0]) == Status::refused);
}

TEST_CASE("positions: each entity has the position at the end of its source chain") {
    constexpr std::uint32_t entities = 16;
    int followed = 0, abstract = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        InterestParts parts(plain_rules());
        std::map<EntityId, EntityId> sources;
        std::map<EntityId, Vec3> own;
        std::set<EntityId> without_position;
        std::vector<EntityId> all;
        for (std::uint32_t i = 0; i < entities; ++i) {
            EntityDef def;
            def.position = {random.between(0, 100), random.between(0, 100), 0};
            def.has_position = i > 2;
            all.push_back(parts.spawn(i, def));
            own[all.back()] = def.position;
            if (!def.has_position) without_position.insert(all.back());
        }
        for (int tick = 0; tick < 60; ++tick) {
            for (int edit = 0; edit < 4; ++edit) {
                const EntityId one = all[random.below(entities)],
                               other = all[random.below(entities)];
                if (random.chance(0.6F)) {
                    own[one] = {random.between(0, 100), random.between(0, 100), 0};
                    REQUIRE(parts.positions.move(one, own[one]) == Status::ok);
                } else if (random.chance(0.4F)) {
                    REQUIRE(parts.positions.set_position_source(one, EntityId::none) == Status::ok);
                    sources.erase(one);
                } else if (parts.positions.set_position_source(one, other) == Status::ok) {
                    sources[one] = other;
                }
            }
            parts.tick();
            for (const EntityId one : all) {
                EntityId end = one;
                while (sources.contains(end)) end = sources[end];
                const bool has_position = !without_position.contains(end);
                REQUIRE(parts.lookup.position_of(one) == (has_position ? own[end] : Vec3{}));
                REQUIRE(parts.stores.table.will_be_positioned(parts.slot(one)) == has_position);
                followed += end != one ? 1 : 0;
                abstract += has_position ? 0 : 1;
            }
        }
    }
    CHECK(followed > 1'000);
    CHECK(abstract > 1'000);
}

TEST_CASE("positions: an entity uses its own position after its source is despawned") {
    InterestParts parts(plain_rules());
    const EntityId one = parts.spawn(0, 5), other = parts.spawn(1, 70);
    REQUIRE(parts.positions.set_position_source(one, other) == Status::ok);
    parts.tick();
    CHECK(parts.lookup.position_of(one).x == 70);
    REQUIRE(parts.positions.move(one, {8, 50, 0}) == Status::ok);
    CHECK(parts.lookup.position_of(one).x == 70);
    REQUIRE(parts.entities.despawn(other) == Status::ok);
    parts.tick();
    CHECK(parts.lookup.position_of(one).x == 8);
    CHECK(parts.stores.position_sources.empty());
}

TEST_CASE("positions: the layer follows the range class, or the group radius of the kind") {
    Rules rules = plain_rules();
    rules.range_classes = {10, 20, 40};
    rules.group_radius_max = 5;
    rules.kinds.resize(2);
    rules.kinds[1].uses_group_radius = true;
    InterestParts parts(rules);
    const auto layer = [&](float range) { return parts.positions.layer_for(nullptr, range); };
    CHECK(layer(0) == 0);
    CHECK(layer(10) == 0);
    CHECK(layer(10.5F) == 1);
    CHECK(layer(20) == 1);
    CHECK(layer(40) == 2);
    CHECK(parts.positions.layer_for(&rules.kinds[0], 40) == 2);
    CHECK(parts.positions.layer_for(&rules.kinds[1], 40) == parts.stores.layers.bounds);
    // Bounds above 0 are counted once.
    EntityDef def;
    def.kind = id_at<KindId>(1);
    const EntityId one = parts.spawn(0, def);
    for (const float radius : {3.0F, 4.0F, 0.0F, 0.0F, 2.0F}) {
        parts.positions.write_bounds(parts.slot(one), radius);
        CHECK(parts.stores.counts.bounded == (radius > 0 ? 1 : 0));
        parts.stores.validate();
    }
}

}  // namespace purview::test::positions_test
