// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A large vehicle is relevant by the bounds of its group: on a server, with its explanation.
#include <cmath>

#include "support/stage.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

struct LinerSchema {
    LinerSchema() {
        position = add_position(schema, 0, 4000);
        liner = schema.kind("liner", {position.id});
        cabin = schema.kind("cabin", {position.id});
        schema.edit_kind(cabin).relative_position = true;
        REQUIRE(schema.problem().empty());
    }
    ServerDef def(bool uses_group_radius) const {
        ServerDef def;
        def.rules.max = {4000, 4000, 0};
        def.rules.node("near").add(within(100).leave_at(120));
        def.rules.group_radius_max = 300;
        def.rules.kinds.resize(2);
        def.rules.kinds[index_of(liner)].uses_group_radius = uses_group_radius;
        return def;
    }
    Schema schema;
    Component<Position> position;
    KindId liner{}, cabin{};
};

}  // namespace

TEST_CASE("server: an observer at the stern of a ship with group bounds sees it (O22)") {
    for (const bool uses_group_radius : {true, false}) {
        CAPTURE(uses_group_radius);
        LinerSchema setup;
        Stage stage(setup.schema, 1, setup.def(uses_group_radius));
        REQUIRE(stage.visibility().set_area(stage.observers[0], 0, Area::at({1000, 1000, 0})) ==
                Status::ok);
        const EntityId liner = stage.spawn(setup.liner, {1300, 1000, 0});
        const EntityId stern =
            stage.spawn(setup.cabin, {1090, 1000, 0});  // 210 m behind its bridge
        stage.step(4);
        CHECK(stage.ghost(0, liner) == GhostId::none);
        CHECK(stage.ghost(0, stern) != GhostId::none);
        REQUIRE(stage.world().attach(stern, liner) == Status::ok);
        stage.step(4);
        CHECK((stage.ghost(0, liner) != GhostId::none) == uses_group_radius);
        CHECK((stage.ghost(0, stern) != GhostId::none) == uses_group_radius);
        if (!uses_group_radius) continue;
        const Explanation why = stage.visibility().explain(stage.observers[0], liner);
        CHECK(why.relevant);
        std::string text;
        for (const ExplainedNode& node : why.nodes) {
            for (const ExplainedStep& step : node.steps) text += step.what + "\n";
        }
        CHECK(text.find("distance 90.0 of 100.0 (to its bounds: 300.0 less 210.0)") !=
              std::string::npos);
        const std::array<EntityId, 1> queried{liner};
        std::array<float, 1> score{};
        stage.visibility().scores(stage.observers[0], queried, score);
        CHECK(score[0] == doctest::Approx(1 - 90 / 240.0));
        // The ship moves on: the leave radius is 120 m from the stern.
        REQUIRE(stage.world().move(liner, {1325, 1000, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != GhostId::none);
        REQUIRE(stage.world().move(liner, {1335, 1000, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == GhostId::none);
        // The bounds grow and shrink with the positions of members.
        REQUIRE(stage.world().set_local_position(stern, {-290, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != GhostId::none);
        REQUIRE(stage.world().set_local_position(stern, {-10, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == GhostId::none);
        REQUIRE(stage.world().set_local_position(stern, {-290, 0, 0}) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) != GhostId::none);
        REQUIRE(stage.world().detach(stern) == Status::ok);
        stage.step(4);
        CHECK(stage.ghost(0, liner) == GhostId::none);
        CHECK(stage.ghost(0, stern) != GhostId::none);
    }
}

TEST_CASE("interest: bounds match a narrow cone where they touch it (O22 F26)") {
    Rules def;
    def.max = {1000, 1000, 0};
    def.nodes = {lines::node("inside", {in_area()})};
    def.group_radius_max = 60;
    def.kinds.resize(1);
    def.kinds[0].uses_group_radius = true;
    InterestManager manager(def);
    const ObserverId observer = manager.add_observer({.is_ready = false});
    REQUIRE(manager.set_ready(observer, true) == Status::ok);
    REQUIRE(manager.set_area(observer, 0, Area::cone({500, 500, 0}, {1, 0, 0}, 12, 30)) ==
            Status::ok);
    const EntityId entity = make_entity_id(1, 1);
    REQUIRE(manager.spawn({.id = entity, .kind = id_at<KindId>(0)}) == entity);
    REQUIRE(manager.set_group_radius(entity, 50) == Status::ok);
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

TEST_CASE("interest: a group radius is refused where the kind does not use it") {
    Rules def;
    def.kinds.resize(2);
    def.kinds[0].uses_group_radius = true;
    CHECK(problem_of(def) != "");  // `group_radius_max` is not set
    def.group_radius_max = 50;
    InterestManager manager(def);
    const EntityId a = make_entity_id(1, 1), b = make_entity_id(2, 1), c = make_entity_id(3, 1);
    REQUIRE(manager.spawn({.id = a, .kind = id_at<KindId>(0)}) == a);
    REQUIRE(manager.spawn({.id = b, .kind = id_at<KindId>(1)}) == b);
    REQUIRE(manager.spawn({.id = c, .kind = id_at<KindId>(0)}) == c);
    CHECK(manager.set_group_radius(a, 1e9F) == Status::ok);  // clamped to the maximum
    CHECK(manager.set_group_radius(a, -1) == Status::bad_argument);
    CHECK(manager.set_group_radius(a, std::nanf("")) == Status::bad_argument);
    CHECK(manager.set_group_radius(b, 1) == Status::bad_argument);
    CHECK(manager.set_group_radius(make_entity_id(9, 1), 1) == Status::stale_id);
    REQUIRE(manager.attach(c, a) == Status::ok);
    CHECK(manager.set_group_radius(c, 1) == Status::refused);
    def.group_radius_max = -1;
    CHECK_FALSE(problem_of(def).empty());
}

}  // namespace purview::test
