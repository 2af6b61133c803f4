// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A position source refers to an entity, not an index. It ends with that entity, even if another
// entity takes the index in the same tick.
#include <vector>

#include "support/line_support.hpp"

namespace purview::test::lines::position_source_reused_index {

namespace {

EntityDef standing(EntityId entity, float x) {
    EntityDef def;
    def.id = entity;
    def.position = {x, 50, 0};
    return def;
}

/// The entities within a meter of this position.
Set around(InterestManager& manager, float x) {
    Set found;
    std::vector<EntityId> out;
    manager.entities_in({x - 1, 0, 0}, {x + 1, 100, 0}, out);
    for (const EntityId entity : out) found.insert(index_of(entity));
    return found;
}

}  // namespace

TEST_CASE("position sources: a source ends with its entity when its index is reused" *
          doctest::test_suite("F12")) {
    for (const bool ticks_between : {false, true}) {
        CAPTURE(ticks_between);
        InterestManager manager = make(std::vector{node("near", {within(Combine::add, 5)})});
        spawn(manager, 0, 10);
        spawn(manager, 1, 30);
        const ObserverId observer = watch(manager);
        CHECK(manager.set_area(observer, 0, Area::at({10, 50, 0})) == Status::ok);
        CHECK(manager.set_position_source(id(0), id(1)) == Status::ok);
        CHECK(ticked(manager, observer).empty());
        CHECK(around(manager, 30) == Set{0, 1});
        CHECK(manager.despawn(id(1)) == Status::ok);
        if (ticks_between) CHECK(ticked(manager, observer) == Set{0});
        CHECK(manager.spawn(standing(make_entity_id(1, 2), 70)) == make_entity_id(1, 2));
        CHECK(ticked(manager, observer) == Set{0});
        CHECK(around(manager, 70) == Set{1});
        CHECK(manager.move(make_entity_id(1, 2), {90, 50, 0}) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0});
        CHECK(manager.set_position_source(id(0), id(1)) == Status::stale_id);
    }
}

TEST_CASE("position sources: a new entity at a reused index has no source" *
          doctest::test_suite("F12")) {
    for (const bool ticks_between : {false, true}) {
        CAPTURE(ticks_between);
        InterestManager manager = make(std::vector{node("near", {within(Combine::add, 5)})});
        spawn(manager, 0, 10);
        spawn(manager, 1, 30);
        const ObserverId observer = watch(manager);
        CHECK(manager.set_position_source(id(0), id(1)) == Status::ok);
        manager.tick();
        CHECK(manager.despawn(id(0)) == Status::ok);
        if (ticks_between) manager.tick();
        CHECK(manager.spawn(standing(make_entity_id(0, 2), 60)) == make_entity_id(0, 2));
        CHECK(manager.set_area(observer, 0, Area::at({60, 50, 0})) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0});
        CHECK(manager.entity(make_entity_id(0, 2)).position().x == 60);
        CHECK(manager.move(make_entity_id(0, 2), {62, 50, 0}) == Status::ok);
        manager.tick();
        CHECK(manager.entity(make_entity_id(0, 2)).position().x == 62);
    }
}

TEST_CASE("position sources: a chain links entities, not their reused indices" *
          doctest::test_suite("F12")) {
    // a -> b -> c. In one tick c is despawned and a new entity at its index follows a: no cycle.
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 5)})});
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 10 + static_cast<float>(i) * 20);
    CHECK(manager.set_position_source(id(0), id(1)) == Status::ok);
    CHECK(manager.set_position_source(id(1), id(2)) == Status::ok);
    manager.tick();
    CHECK(manager.entity(id(0)).position().x == 50);
    CHECK(manager.despawn(id(2)) == Status::ok);
    const EntityId next = make_entity_id(2, 2);
    CHECK(manager.spawn(standing(next, 90)) == next);
    CHECK(manager.set_position_source(next, id(0)) == Status::ok);
    for (int i = 0; i < 3; ++i) {
        manager.tick();
        CHECK(manager.entity(id(1)).position().x == 30);
        CHECK(manager.entity(id(0)).position().x == 30);
        CHECK(manager.entity(next).position().x == 30);
    }
}

}  // namespace purview::test::lines::position_source_reused_index
