// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A large vehicle counts by the bounds of its group: on a server, with its explanation.
#include <cmath>

#include "support/stage.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

struct LinerSchema {
    LinerSchema() {
        place = add_place(schema, 0, 4000);
        liner = schema.kind("liner", {place.id});
        cabin = schema.kind("cabin", {place.id});
        schema.edit_kind(cabin).relative_place = true;
        REQUIRE(schema.status() == Status::ok);
    }
    ServerDef def(bool by_bounds) const {
        ServerDef def;
        def.rules.bounds_max = {4000, 4000, 0};
        def.rules.nodes = {lines::node("near", {add(within(100, 120))})};
        def.rules.group_bounds_max_m = 300;
        def.kinds.resize(2);
        def.kinds[index_of(liner)].by_bounds = by_bounds;
        return def;
    }
    Schema schema;
    Component<Place> place;
    KindId liner{}, cabin{};
};

}  // namespace

TEST_CASE(
    "server: who stands at the stern of a long ship sees it, where it counts by its bounds "
    "(O22)") {
    for (const bool by_bounds : {true, false}) {
        CAPTURE(by_bounds);
        LinerSchema is;
        Stage stage(is.schema, 1, is.def(by_bounds));
        REQUIRE(stage.interest().set_area(stage.observers[0], 0, Vec3{1000, 1000, 0}) ==
                Status::ok);
        const EntityId liner = stage.spawn(is.liner, {1300, 1000, 0});
        const EntityId stern = stage.spawn(is.cabin, {1090, 1000, 0});  // 210 m behind its bridge
        stage.step(4);
        CHECK(stage.ghost(0, liner) == no_ghost);
        CHECK(stage.ghost(0, stern) != no_ghost);
        REQUIRE(stage.world().attach(stern, liner) == Status::ok);
        stage.step(4);
        CHECK((stage.ghost(0, liner) != no_ghost) == by_bounds);
        CHECK((stage.ghost(0, stern) != no_ghost) == by_bounds);
        if (!by_bounds) continue;
        const Explanation why = stage.interest().explain(stage.observers[0], liner);
        CHECK(why.relevant);
        std::string text;
        for (const ExplainedNode& node : why.nodes) {
            for (const ExplainedStep& step : node.steps) text += step.what + "\n";
        }
        CHECK(text.find("distance 90.0 of 100.0 (to its bounds: 300.0 less 210.0)") !=
              std::string::npos);
        const std::array<EntityId, 1> asked{liner};
        std::array<float, 1> strength{};
        stage.interest().strength(stage.observers[0], asked, strength);
        CHECK(strength[0] == doctest::Approx(1 - 90 / 240.0));
        // It steams on: once in, up to 120 m from the stern.
        REQUIRE(stage.world().move(liner, {1325, 1000, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != no_ghost);
        REQUIRE(stage.world().move(liner, {1335, 1000, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == no_ghost);
        // The bounds grow and shrink with who is where on board.
        REQUIRE(stage.world().set_local_place(stern, {-290, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != no_ghost);
        REQUIRE(stage.world().set_local_place(stern, {-10, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == no_ghost);
        REQUIRE(stage.world().set_local_place(stern, {-290, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != no_ghost);
        REQUIRE(stage.world().detach(stern) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == no_ghost);
        CHECK(stage.ghost(0, stern) != no_ghost);
    }
}

TEST_CASE(
    "interest: bounds reach into a narrow cone where they touch it, not behind its tip (O22 F26)") {
    InterestDef def;
    def.rules.bounds_max = {1000, 1000, 0};
    def.rules.nodes = {lines::node("inside", {lines::inside_areas()})};
    def.rules.group_bounds_max_m = 60;
    def.kinds.resize(1);
    def.kinds[0].by_bounds = true;
    InterestManager manager = std::move(InterestManager::create(def)).value();
    const ObserverId observer = *manager.add_observer();
    REQUIRE(manager.set_ready(observer, true) == Status::ok);
    REQUIRE(manager.set_area(observer, 0, Area::cone({500, 500, 0}, {1, 0, 0}, 12, 30)) ==
            Status::ok);
    EntityDef ship;
    ship.kind = KindId{0};
    const EntityId entity = make_entity_id(1, 1);
    REQUIRE(manager.spawn(entity, ship) == Status::ok);
    REQUIRE(manager.set_bounds(entity, 50) == Status::ok);
    const auto sees_at = [&](float x, float y) {
        REQUIRE(manager.move(entity, {500 + x, 500 + y, 0}) == Status::ok);
        manager.tick();
        const bool sees = manager.is_relevant(observer, entity);
        CHECK(manager.explain(observer, entity).relevant == sees);
        return sees;
    };
    CHECK(sees_at(-49, 0));
    CHECK_FALSE(sees_at(-51, 0));
    CHECK_FALSE(sees_at(-70, 0));
    CHECK(sees_at(79, 0));
    CHECK_FALSE(sees_at(81, 0));
    CHECK(sees_at(29.3F, 56));  // from the rim, 6.2 m off the axis
    CHECK_FALSE(sees_at(29.3F, 57));
    CHECK_FALSE(sees_at(60, 48));  // 51.4 m from the rim
}

TEST_CASE("interest: bounds are refused where they mean nothing") {
    InterestDef def;
    def.kinds.resize(2);
    def.kinds[0].by_bounds = true;
    CHECK_FALSE(InterestManager::create(def));  // how large they may be is not said
    def.rules.group_bounds_max_m = 50;
    InterestManager manager = std::move(InterestManager::create(def)).value();
    EntityDef ship, man;
    ship.kind = KindId{0};
    man.kind = KindId{1};
    const EntityId a = make_entity_id(1, 1), b = make_entity_id(2, 1), c = make_entity_id(3, 1);
    REQUIRE(manager.spawn(a, ship) == Status::ok);
    REQUIRE(manager.spawn(b, man) == Status::ok);
    REQUIRE(manager.spawn(c, ship) == Status::ok);
    CHECK(manager.set_bounds(a, 1e9F) == Status::ok);  // as far as they count
    CHECK(manager.set_bounds(a, -1) == Status::bad_argument);
    CHECK(manager.set_bounds(a, std::nanf("")) == Status::bad_argument);
    CHECK(manager.set_bounds(b, 1) == Status::bad_argument);
    CHECK(manager.set_bounds(make_entity_id(9, 1), 1) == Status::stale_id);
    REQUIRE(manager.join_unit(c, a) == Status::ok);
    CHECK(manager.set_bounds(c, 1) == Status::refused);
    def.rules.group_bounds_max_m = -1;
    CHECK_FALSE(problem_of(def.rules).empty());
}

}  // namespace purview::test
