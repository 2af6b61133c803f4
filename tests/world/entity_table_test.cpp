// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/entity_table.hpp"

#include <doctest/doctest.h>

#include "small_game.hpp"

namespace purview::test {

TEST_CASE("world: an index is reused only after the table is recycled") {
    const SmallSchema small;
    EntityTable table(small.schema, 2);
    const EntityId a = table.add(small.animal);
    const EntityId b = table.add(small.tree);
    CHECK(table.add(small.tree) == EntityId::none);
    CHECK(table.count() == 2);
    table.remove(a);
    CHECK_FALSE(table.is_alive(a));
    CHECK(table.at_index(index_of(a)) == EntityId::none);
    CHECK(table.kind_at(index_of(a)) == small.animal);  // until the tick ends
    const EntityId c = table.add(small.tree);
    CHECK(index_of(c) != index_of(a));
    table.remove(c);
    table.recycle();
    const EntityId d = table.add(small.tree);
    CHECK(index_of(d) == index_of(a));
    CHECK(generation_of(d) == generation_of(a) + 1);
    CHECK(table.at_index(index_of(b)) == b);
    table.validate();
}

TEST_CASE("world: spawn numbers ascend, and a new entity has no owner") {
    const SmallSchema small;
    EntityTable table(small.schema, 10);
    const EntityId a = table.add(small.animal);
    const EntityId b = table.add(small.animal);
    CHECK(table.spawn_number_at(index_of(a)) < table.spawn_number_at(index_of(b)));
    table.set_owner(index_of(a), ObserverId{7});
    CHECK(table.owner_at(index_of(a)) == ObserverId{7});
    table.remove(a);
    table.recycle();
    const EntityId c = table.add(small.animal);
    REQUIRE(index_of(c) == index_of(a));
    CHECK(table.owner_at(index_of(c)) == ObserverId::none);
    CHECK(table.spawn_number_at(index_of(c)) > table.spawn_number_at(index_of(b)));
}

TEST_CASE("world: an entity has the components of its kind") {
    const SmallSchema small;
    EntityTable table(small.schema, 10);
    const std::uint32_t animal = index_of(table.add(small.animal));
    const std::uint32_t tree = index_of(table.add(small.tree));
    CHECK(table.has(animal, small.body.id));
    CHECK_FALSE(table.has(tree, small.body.id));
    CHECK(table.has_position(animal));
    CHECK_FALSE(table.has_orientation(animal));
    CHECK(&table.kind_def_at(tree) == &small.schema.kinds()[index_of(small.tree)]);
}

}  // namespace purview::test
