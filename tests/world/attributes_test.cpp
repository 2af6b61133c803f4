// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/attributes.hpp"

#include <doctest/doctest.h>

#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

TEST_CASE("world: an entity in a reused index does not inherit attributes") {
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    WorldData data(def);
    const auto cloak = [&](EntityId entity) {
        auto* const body =
            reinterpret_cast<Body*>(data.components.component_at(index_of(entity), small.body.id));
        body->cloaked = true;
        data.components.mark_dirty(index_of(entity), small.body.id);
    };
    const EntityId a = data.spawn({.kind = small.animal}).value();
    cloak(a);
    data.settle();
    CHECK(data.attributes.flags_at(index_of(a)) == 1);
    CHECK(data.attributes.changes().empty());  // part of its spawn
    CHECK(data.despawn(a) == Status::ok);
    data.settle();
    CHECK(data.attributes.flags_at(index_of(a)) == 1);  // readable until the tick ends
    data.clear_changes();
    const EntityId b = data.spawn({.kind = small.animal}).value();
    REQUIRE(index_of(b) == index_of(a));
    CHECK(data.attributes.flags_at(index_of(b)) == 0);
    data.settle();
    (void)data.summary.track();
    data.clear_changes();
    cloak(b);
    data.settle(true);
    REQUIRE(data.attributes.changes().size() == 1);
    CHECK(data.attributes.changes()[0].flag == small.cloaked);
    CHECK(data.attributes.track_changes().size() == 1);
    CHECK(data.attributes.track_changes().empty());
    CHECK(data.attributes.changes().size() == 1);
    data.clear_changes();
    CHECK(data.attributes.changes().empty());
    data.attributes.validate();
}

}  // namespace purview::test
