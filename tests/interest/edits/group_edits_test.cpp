// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups: hidden roots, hidden members, and members that make their group relevant. Random groups
// are compared with the oracle (property_test.cpp).
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// Entity 1 is the root, 2 and 3 are its children, 4 is a child of 2. All stand at `x`.
struct Group {
    explicit Group(float x) : manager(make(std::vector{node("near", {within(Combine::add, 10)})})) {
        spawn(manager, 0, 50);
        for (std::uint32_t i = 1; i <= 4; ++i) spawn(manager, i, x);
        CHECK(manager.attach(id(2), id(1)) == Status::ok);
        CHECK(manager.attach(id(3), id(1)) == Status::ok);
        CHECK(manager.attach(id(4), id(2)) == Status::ok);
        me = watch(manager, id(0));
        other = watch(manager);
        manager.tick();
    }
    InterestManager manager;
    ObserverId me{}, other{};
};

}  // namespace

TEST_CASE("interest: a hidden root hides its group despite member overrides (O35 O22 X6)") {
    Group g(55);
    CHECK(seen(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(g.manager.set_hidden(id(1), true) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0});
    // An override of a member has no effect.
    CHECK(g.manager.allow(g.me, id(3), true) == Status::hidden_by_root);
    CHECK(g.manager.show_to_all(id(4), true) == Status::hidden_by_root);
    CHECK(ticked(g.manager, g.me) == Set{0});
    CHECK(ticked(g.manager, g.other) == Set{});
    const Explanation why = g.manager.explain(g.me, id(4));
    CHECK(why.unit == id(1));
    CHECK(why.stage == Stage::force_hidden);
    // The group stays relevant to the owner of a member.
    CHECK(g.manager.set_owner(id(4), g.me) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    // A denied root hides the group from owners too.
    CHECK(g.manager.deny(g.me, id(1), true) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0});
    CHECK(g.manager.allow(g.me, id(2), true) == Status::hidden_by_root);
    CHECK(g.manager.deny(g.me, id(1), false) == Status::ok);
    CHECK(g.manager.set_hidden(id(1), false) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(ticked(g.manager, g.other) == Set{1, 2, 3, 4});  // 4 is still shown to all
}

TEST_CASE("interest: a hidden member hides only its subtree, in that tick (O35 X6 O22)") {
    Group g(55);
    CHECK(g.manager.set_hidden(id(2), true) == Status::ok);
    g.manager.tick();
    const News gone = news(g.manager, g.me);
    CHECK(gone.out == Set{2, 4});
    CHECK(g.manager.events(g.me)[0].entity == id(4));  // children first
    CHECK(g.manager.events(g.me)[0].reason == Reason::hidden);
    CHECK(seen(g.manager, g.me) == Set{0, 1, 3});
    const Explanation why = g.manager.explain(g.me, id(4));
    CHECK_FALSE(why.relevant);
    CHECK(why.hidden_member == id(2));
    CHECK(why.stage == Stage::force_hidden);
    CHECK(why.text().find("entity 2 is hidden") != std::string::npos);
    // An owner of the root or of an entity in the subtree still sees it. Other owners do not.
    CHECK(g.manager.set_owner(id(3), g.me) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 3});
    CHECK(g.manager.set_owner(id(4), g.me) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(g.manager.deny(g.me, id(2), true) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 3});
    CHECK(g.manager.deny(g.me, id(2), false) == Status::ok);
    CHECK(g.manager.set_hidden(id(2), false) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(g.manager.deny(g.me, id(2), true) == Status::ok);
    for (const std::uint32_t of : {2, 4})
        CHECK(internal(g.manager).answers.is_denied(g.me, id(of)));
    for (const std::uint32_t of : {0, 1, 3})
        CHECK_FALSE(internal(g.manager).answers.is_denied(g.me, id(of)));
    CHECK(g.manager.deny(g.me, id(2), false) == Status::ok);
    CHECK_FALSE(internal(g.manager).answers.is_denied(g.me, id(4)));
    // Attaching below a hidden member hides; moving away from it reveals.
    CHECK(g.manager.set_hidden(id(2), true) == Status::ok);
    CHECK(g.manager.set_owner(id(4), ObserverId::none) == Status::ok);
    CHECK(g.manager.set_owner(id(3), ObserverId::none) == Status::ok);
    CHECK(g.manager.attach(id(3), id(2)) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1});
    CHECK(g.manager.attach(id(4), id(1)) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 4});
}

TEST_CASE("interest: an explicitly relevant member includes its distant group (O22 X10)") {
    Group g(90);
    CHECK(seen(g.manager, g.me) == Set{0});
    CHECK(g.manager.allow(g.me, id(4), true) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(seen(g.manager, g.other) == Set{});
    CHECK(g.manager.allow(g.me, id(4), false) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0});
    CHECK(g.manager.show_to_all(id(3), true) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(ticked(g.manager, g.other) == Set{1, 2, 3, 4});
    CHECK(g.manager.show_to_all(id(3), false) == Status::ok);
    CHECK(g.manager.set_mode(id(2), EntityMode::global) == Status::ok);
    CHECK(ticked(g.manager, g.other) == Set{1, 2, 3, 4});
    // A member that leaves keeps its mode; its former group loses the effect.
    CHECK(g.manager.detach(id(2), {.position = {90, 50, 0}}) == Status::ok);
    CHECK(ticked(g.manager, g.other) == Set{2});
    CHECK(g.manager.set_mode(id(2), EntityMode::nodes) == Status::ok);
    CHECK(ticked(g.manager, g.other) == Set{});
}

TEST_CASE("interest: hides and denials survive joining and leaving a group (O35)") {
    Group g(55);
    spawn(g.manager, 5, 55);
    spawn(g.manager, 6, 55);
    CHECK(g.manager.set_hidden(id(5), true) == Status::ok);
    CHECK(g.manager.deny(g.me, id(6), true) == Status::ok);
    CHECK(g.manager.attach(id(5), id(3)) == Status::ok);
    CHECK(g.manager.attach(id(6), id(3)) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(g.manager.detach(id(5), {.position = {55, 50, 0}}) == Status::ok);
    CHECK(g.manager.detach(id(6), {.position = {55, 50, 0}}) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4});
    CHECK(g.manager.set_hidden(id(5), false) == Status::ok);
    CHECK(g.manager.deny(g.me, id(6), false) == Status::ok);
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("interest: a passenger views from its vehicle but uses its own keys (O11 O22)") {
    constexpr KeyId team = id_at<KeyId>(0), room = id_at<KeyId>(1);
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)}),
                                               node("team", {same(Combine::add, 0)}),
                                               node("room", {same(Combine::add, 1)})});
    const std::array<Key, 2> red{Key{1}, Key{0}}, blue{Key{2}, Key{0}}, cellar{Key{0}, Key{7}};
    const auto far_away = [&](std::uint32_t index, Vec3 position, std::span<const Key> keys) {
        spawn(manager, index, {.position = position, .keys = keys});
    };
    EntityDef def{.position = {10, 10, 0}, .keys = red};
    spawn(manager, 0, def);
    def.keys = blue;
    spawn(manager, 1, def);  // a cart of the other team
    spawn(manager, 2, def);  // its passenger
    far_away(3, {95, 95, 0}, red);
    far_away(4, {95, 78, 0}, blue);
    far_away(5, {78, 95, 0}, cellar);
    const ObserverId me = watch(manager, id(0));
    CHECK(ticked(manager, me) == Set{0, 1, 2, 3});
    CHECK(manager.attach(id(2), id(1)) == Status::ok);
    CHECK(manager.attach(id(0), id(2)) == Status::ok);
    CHECK(ticked(manager, me) == Set{0, 1, 2, 3});
    put(manager, 1, 95, 86);
    CHECK(ticked(manager, me) == Set{0, 1, 2, 3, 4});  // viewed from the position of the cart
    put(manager, 1, 10, 10);
    CHECK(ticked(manager, me) == Set{0, 1, 2, 3});
    // The passenger's keys count for its observer; those of the cart do not.
    CHECK(manager.set_key(id(0), team, Key{2}) == Status::ok);
    CHECK(tick_news(manager, me) == News{{4}, {3}});
    CHECK(manager.set_key(id(1), team, Key{1}) == Status::ok);
    CHECK(tick_news(manager, me) == News{});
    CHECK(manager.add_key(id(0), room, Key{7}) == Status::ok);
    CHECK(tick_news(manager, me) == News{{5}, {}});
    // The cart is evaluated with its own keys: its team sees it with all passengers.
    const ObserverId reds = watch(manager, id(3));
    CHECK(ticked(manager, reds) == Set{0, 1, 2, 3});
    // A detached passenger has the keys of its new definition.
    def.keys = cellar;
    CHECK(manager.detach(id(0), def) == Status::ok);
    CHECK(ticked(manager, me) == Set{0, 1, 2, 5});
    CHECK(manager.remove_key(id(0), room, Key{7}) == Status::ok);
    CHECK(manager.remove_key(id(0), room, Key{7}) == Status::not_found);
    CHECK(manager.attach(id(0), id(1)) == Status::ok);
    CHECK(manager.despawn(id(0)) == Status::ok);
    spawn(manager, 0, 10, 10);  // the new entity inherits no keys
    CHECK(manager.attach(id(0), id(1)) == Status::ok);
    CHECK(manager.set_viewpoint(me, id(0)) == Status::ok);
    CHECK(ticked(manager, me) == Set{0, 1, 2});
}

TEST_CASE("interest: attach refuses a parent outside the group or below its child (O4)") {
    Group g(55);
    spawn(g.manager, 5, 55);
    CHECK(internal(g.manager).groups.join_unit(id(5), id(1), id(0)) == Status::bad_argument);
    CHECK(g.manager.attach(id(2), id(4)) == Status::bad_argument);
    CHECK(internal(g.manager).groups.join_unit(id(5), id(2), EntityId::none) ==
          Status::bad_argument);  // no cull group
    CHECK(ticked(g.manager, g.me) == Set{0, 1, 2, 3, 4, 5});
}

TEST_CASE("interest: an override of one observer evaluates no other observers") {
    const auto pairs_queried = [](std::uint32_t observers) {
        InterestEngine data(def_of({node("near", {within(Combine::add, 10)})}), {});
        for (std::uint32_t i = 0; i < 20; ++i) CHECK(data.entities.spawn(id(i), {}) == Status::ok);
        for (std::uint32_t i = 1; i < 20; ++i)
            CHECK(data.groups.join_unit(id(i), id(0), id(0)) == Status::ok);
        CHECK(data.overrides.show_to_all(id(0), true) == Status::ok);
        std::vector<ObserverId> all;
        for (std::uint32_t o = 0; o < observers; ++o) {
            all.push_back(*data.observers.add_observer());
            CHECK(data.observers.set_ready(all.back(), true) == Status::ok);
            CHECK(data.overrides.edit_pair(all.back(), id(1), PairMark::deny, true) == Status::ok);
            CHECK(data.overrides.edit_pair(all.back(), id(2), PairMark::allow, true) == Status::ok);
        }
        const std::uint64_t before = data.pairs_queried();
        CHECK(data.overrides.edit_pair(all[0], id(1), PairMark::deny, false) == Status::ok);
        CHECK(data.overrides.edit_pair(all[0], id(2), PairMark::allow, false) == Status::ok);
        CHECK(data.overrides.set_owner(id(3), all[1]) == Status::ok);
        CHECK(data.overrides.set_owner(id(3), all[2]) == Status::ok);
        CHECK(data.observers.remove_observer(all[3]) == Status::ok);
        CHECK(data.answers.is_relevant(all[0], id(1)));
        CHECK_FALSE(data.answers.is_relevant(all[1], id(1)));
        return data.pairs_queried() - before;
    };
    CHECK(pairs_queried(10) > 0);
    CHECK(pairs_queried(200) == pairs_queried(10));
}

}  // namespace purview::test::lines
