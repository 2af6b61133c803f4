// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Numbers at the end of what a float holds, and calls that are the caller's mistake.
#include <array>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "interest/interest_data.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

constexpr float float_most = std::numeric_limits<float>::max();

bool names_move(const Explanation& why) {
    return std::any_of(why.single.begin(), why.single.end(),
                       [](const WhatIf& change) { return change.type == WhatIfType::move; });
}

}  // namespace

TEST_CASE("interest: a space or cells whose extent is no float are refused in words") {
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

TEST_CASE("interest: an area that follows somebody out of all numbers shows nothing") {
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

TEST_CASE("interest: who stays for ever stays") {
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

TEST_CASE("interest: strengths into too little room are those that fit") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    const std::array<EntityId, 3> who{id(0), id(1), id(2)};
    std::array<float, 3> score{-1, -1, -1};
#ifdef NDEBUG  // elsewhere it is asserted
    std::array<Replication, 1> settings;
    internal(manager).score(observer, who, std::span(score).first(2), settings);
    CHECK(score[0] > 0);
    CHECK(score[1] > 0);
    CHECK(score[2] == -1);
#endif
    manager.scores(observer, who, score);
    CHECK(score[2] > 0);
}

TEST_CASE("interest: the id of an observer that was removed is not used again") {
    InterestManager manager = make({node("all", {})});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.remove_observer(observer) == Status::ok);
    CHECK(manager.remove_observer(observer) == Status::stale_id);
    CHECK(watch(manager) != observer);
}

TEST_CASE("interest: a move is named as a change unless what is looked from goes along") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 10);
    spawn(manager, 1, 60);
    spawn(manager, 2, 90);
    const ObserverId me = watch(manager, id(0)), other = watch(manager, id(2));
    manager.tick();
    CHECK(names_move(manager.explain(me, id(1))));
    // Areas that others have, and places that others take, are nothing to him.
    Area eyes;
    CHECK(manager.set_area(other, 1, eyes.following(id(1))) == Status::ok);
    spawn(manager, 3, 90);
    CHECK(manager.set_position_source(id(3), id(1)) == Status::ok);
    manager.tick();
    CHECK(names_move(manager.explain(me, id(1))));
    // Where he looks from there himself, or from who stands there, it is out of the question.
    CHECK(manager.set_viewpoint(me, id(3)) == Status::ok);
    manager.tick();
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(manager.set_viewpoint(me, id(0)) == Status::ok);
    CHECK(manager.set_area(me, 1, Area().following(id(1))) == Status::ok);
    manager.tick();
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(names_move(manager.explain(me, id(2))));
}

TEST_CASE("interest: a move to an area that ends with the next tick is not named as a change") {
    NodeDef near = node("near", {within(Combine::add, 10)});
    near.steps[0].view_from = Viewpoints::points;
    InterestManager manager = make({near});
    spawn(manager, 1, 60);
    spawn(manager, 2, 20);
    const ObserverId me = watch(manager);
    CHECK(manager.set_area(me, 1, Area::at({20, 50, 0}).lasting(2)) == Status::ok);
    CHECK(ticked(manager, me) == Set{2});
    CHECK(names_move(manager.explain(me, id(1))));
    CHECK_FALSE(manager.explain(me, id(2)).turns_by_itself);
    CHECK(ticked(manager, me) == Set{2});
    CHECK_FALSE(names_move(manager.explain(me, id(1))));
    CHECK(manager.explain(me, id(2)).turns_by_itself);  // it is about to leave
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
