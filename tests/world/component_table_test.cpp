// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/component_table.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "small_game.hpp"

namespace purview::test {

TEST_CASE("world: a new entity has zeroed components, all marked as written") {
    const SmallSchema small;
    EntityTable entities(small.schema, 5000);
    ComponentTable table(entities);
    std::vector<std::uint32_t> all;
    for (int i = 0; i < 3000; ++i) {  // several pages, so that the dirty bits grow
        all.push_back(index_of(entities.add(small.animal)));
        table.add(all.back(), {static_cast<float>(i), 2, 3});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(table.position_at(all[i]) == Vec3{static_cast<float>(i), 2, 3});
        CHECK(table.dirty(small.body.id).test(all[i]));
        CHECK(table.is_moved(all[i]));
        const std::byte* const body = table.component_at(all[i], small.body.id);
        CHECK(reinterpret_cast<const Body*>(body)->hp == 0);
    }
    table.validate();
    table.clear_dirty();
    CHECK(table.dirty(small.body.id).none());
    CHECK(table.dirty(small.schema.position()).none());
}

TEST_CASE("world: values of a component never move in memory") {
    const SmallSchema small;
    EntityTable entities(small.schema, 5000);
    ComponentTable table(entities);
    const std::uint32_t first = index_of(entities.add(small.animal));
    table.add(first, {});
    const std::byte* const body = table.component_at(first, small.body.id);
    for (int i = 0; i < 4000; ++i) table.add(index_of(entities.add(small.animal)), {});
    CHECK(table.component_at(first, small.body.id) == body);
}

TEST_CASE("world: fresh words are those written since they were last taken") {
    const SmallSchema small;
    EntityTable entities(small.schema, 1000);
    ComponentTable table(entities);
    for (int i = 0; i < 300; ++i) table.add(index_of(entities.add(small.animal)), {});
    const WordRange spawned = table.take_fresh_words();
    CHECK(spawned.begin == 0);
    CHECK(spawned.end == 5);
    CHECK(table.take_fresh_words().end == 0);
    table.clear_dirty();
    table.mark_dirty(130, small.body.id);
    table.put_position(131, {1, 1, 1});  // does not count as a write
    const WordRange fresh = table.take_fresh_words();
    CHECK(fresh.begin == 2);
    CHECK(fresh.end == 3);
    CHECK(table.written_in_word(2, 1U << index_of(small.body.id)) == 1U << 2U);
    CHECK(table.written_in_word(2, 1U << index_of(small.schema.position())) == 0);
    CHECK_FALSE(table.is_written(130));  // its position was not written
    std::vector<std::size_t> visited;
    fresh.for_each(table.dirty(small.body.id), [&](std::size_t i) { visited.push_back(i); });
    CHECK(visited == std::vector<std::size_t>{130});
}

TEST_CASE("world: a position that is written is no longer derived") {
    Schema schema;
    const Component<Position> position = add_position(schema, 0, 200);
    const KindId car = schema.kind("car", {position.id});
    schema.edit_kind(car).relative_position = true;
    REQUIRE(schema.problem().empty());
    EntityTable entities(schema, 10);
    ComponentTable table(entities);
    REQUIRE(table.has_relative_positions());
    const std::uint32_t index = index_of(entities.add(car));
    table.add(index, {1, 1, 0});
    CHECK_FALSE(table.is_derived(index));
    table.set_derived(index);
    table.put_position(index, {2, 2, 0});
    CHECK(table.is_derived(index));
    table.mark_dirty(index, position.id);
    CHECK_FALSE(table.is_derived(index));
}

}  // namespace purview::test
