// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Numbers at the limits of a float, and invalid calls.
#include <array>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

constexpr float float_most = std::numeric_limits<float>::max();

bool names_move(const Explanation& why) {
    return std::any_of(why.single.begin(), why.single.end(),
                       [](const WhatIf& change) { return change.type == WhatIfType::move; });
}

}  // namespace

TEST_CASE("interest: bounds and cells beyond the range of a float are refused") {
    Rules def = def_of({});
    def.min = {-float_most, -float_most, -float_most};
    def.max = {float_most, float_most, float_most};
    CHECK(problem_of(def).find("too far") != std::string::npos);
    struct Cells {
        float side_m;
        std::uint16_t rings;
        bool is_sound;
    };
    for (const Cells& one :
         {Cells{1e13F, 65'535, true}, Cells{1e15F, 65'535, false}, Cells{1e17F, 5, true},
          Cells{4e18F, 5, false}, Cells{1e19F, 1, false}}) {
        CAPTURE(one.side_m);
        Rules wide = def_of({node("cells", {cells(one.side_m, one.side_m, one.rings)})});
        CHECK(problem_of(wide).empty() == one.is_sound);
        if (one.is_sound) CHECK(InterestManager(wide).problem().empty());
    }
}

TEST_CASE("interest: an area at an overflowing position matches nothing") {
    for (const Area& area :
         {Area::box({float_most, 0, 0}, {5, 5, 5}), Area::sphere({float_most, 0, 0}, 5)}) {
        InterestManager manager = make({node("areas", {in_area()})});
        spawn(manager, 0, float_most);
        spawn(manager, 1, 50);
        const ObserverId observer = watch(manager);
        Area follows = area;
        CHECK(manager.set_area(observer, 1, follows.following(id(0))) == Status::ok);
        CHECK(ticked(manager, observer) == Set{});
        Area here = Area::sphere({1, 0, 0}, 5);
        CHECK(manager.set_area(observer, 1, here.following(id(0))) == Status::ok);
        put(manager, 0, 49);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: an unlimited minimum relevance time never ends") {
    for (const std::uint32_t ticks : {300U, std::numeric_limits<std::uint32_t>::max() - 3,
                                      std::numeric_limits<std::uint32_t>::max()}) {
        CAPTURE(ticks);
        Rules def = def_of({node("near", {within(Combine::add, 10)})});
        def.minimum_relevance_ticks = ticks;
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, 90);
        for (int tick = 0; tick < 400; ++tick) manager.tick();
        CHECK(seen(manager, observer) == (ticks == 300 ? Set{0} : Set{0, 1}));
    }
}

TEST_CASE("interest: scores beyond the output span are not written") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    const std::array<EntityId, 3> client{id(0), id(1), id(2)};
    std::array<float, 3> score{-1, -1, -1};
#ifdef NDEBUG  // debug builds assert
    std::array<Replication, 1> settings;
    internal(manager).answers.score(observer, client, std::span(score).first(2), settings);
    CHECK(score[0] > 0);
    CHECK(score[1] > 0);
    CHECK(score[2] == -1);
#endif
    manager.scores(observer, client, score);
    CHECK(score[2] > 0);
}

TEST_CASE("interest: the id of a removed observer is not reused") {
    InterestManager manager = make({node("all", {})});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.remove_observer(observer) == Status::ok);
    CHECK(manager.remove_observer(observer) == Status::stale_id);
    CHECK(watch(manager) != observer);
}

TEST_CASE("interest: explain proposes a move unless the viewpoint would move along") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 10);
    spawn(manager, 1, 60);
    spawn(manager, 2, 90);
    const ObserverId me = watch(manager, id(0)), other = watch(manager, id(2));
    manager.tick();
    CHECK(names_move(manager.explain(me, id(1))));
    // Areas of other observers and position sources of other entities have no effect.
    Area eyes;
    CHECK(manager.set_area(other, 1, eyes.following(id(1))) == Status::ok);
    spawn(manager, 3, 90);
    CHECK(manager.set_position_source(id(3), id(1)) == Status::ok);
    manager.tick();
    CHECK(names_move(manager.explain(me, id(1))));
    // If the observer views from that entity or its position, no move is proposed.
    CHECK(manager.set_viewpoint(me, id(3)) == Status::ok);
    manager.tick();
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(manager.set_viewpoint(me, id(0)) == Status::ok);
    CHECK(manager.set_area(me, 1, Area().following(id(1))) == Status::ok);
    manager.tick();
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(names_move(manager.explain(me, id(2))));
}

TEST_CASE("interest: explain proposes no move to an area that ends with the next tick") {
    NodeDef near = node("near", {within(Combine::add, 10)});
    near.steps[0].view_from = Viewpoints::points;
    InterestManager manager = make({near});
    spawn(manager, 1, 60);
    spawn(manager, 2, 20);
    const ObserverId me = watch(manager);
    CHECK(manager.set_area(me, 1, Area::at({20, 50, 0}).lasting(2)) == Status::ok);
    CHECK(ticked(manager, me) == Set{2});
    CHECK(names_move(manager.explain(me, id(1))));
    CHECK_FALSE(manager.explain(me, id(2)).changes_by_itself);
    CHECK(ticked(manager, me) == Set{2});
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(manager.explain(me, id(2)).changes_by_itself);  // it is about to leave
    CHECK(manager.explain(me, id(2)).relevant);
    CHECK(ticked(manager, me) == Set{});
}

TEST_CASE("limits: a group has at most 65,535 members beside its root") {
    InterestManager manager{Rules()};
    const ObserverId observer = manager.add_observer({});
    const std::function<EntityId(std::uint32_t)> group_of = [&](std::uint32_t entities) {
        if (entities == 1) return manager.spawn({.owner = observer});
        const EntityId root = group_of(entities / 2);
        REQUIRE(manager.attach(group_of(entities / 2), root) == Status::ok);
        return root;
    };
    const EntityId root = group_of(65'536);
    CHECK(manager.attach(manager.spawn({.owner = observer}), root) == Status::too_large);
    manager.tick();
    CHECK(manager.is_relevant(observer, root));
}

}  // namespace purview::test::lines
