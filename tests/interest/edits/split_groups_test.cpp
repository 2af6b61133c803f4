// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Independently culled members: cull groups within a group. property_test.cpp compares random
// groups with the oracle.
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

constexpr KindId plain = id_at<KindId>(0), passenger = id_at<KindId>(1),
                 crew = id_at<KindId>(2);  ///< crew keeps its ancestors relevant

Rules train_def() {
    NodeDef near = node("near", {within(Combine::add, 10), flag(Combine::subtract, 0)});
    Rules def = def_of({near});
    def.kinds.resize(3);
    def.kinds[index_of(passenger)].culled_independently = true;
    def.kinds[index_of(crew)].culled_independently = true;
    def.kinds[index_of(crew)].keeps_ancestors = true;
    return def;
}

/// Entity 1 is the root and 2 its child. 3 is an independently culled child of 2, and 4 a child of
/// 3. The observer stands at 50.
struct Train {
    Train(float root_x, float split_x, KindId kind, Rules def = train_def()) : manager(make(def)) {
        spawn(manager, 0, 50);
        put_in(1, root_x, plain);
        put_in(2, root_x, plain);
        put_in(3, split_x, kind);
        put_in(4, root_x, plain);
        CHECK(manager.attach(id(2), id(1)) == Status::ok);
        CHECK(manager.attach(id(3), id(2)) == Status::ok);
        CHECK(manager.attach(id(4), id(3)) == Status::ok);
        me = watch(manager, id(0));
        other = watch(manager);
        manager.tick();
    }
    void put_in(std::uint32_t index, float x, KindId kind) {
        EntityDef def;
        def.position = {x, 50, 0};
        def.kind = kind;
        lines::spawn(manager, index, def);
    }
    Set seen_by_me() { return seen(manager, me); }
    Set next() { return ticked(manager, me); }
    Reason reason(std::uint32_t index) const {
        for (const InterestEvent& event : manager.events(me)) {
            if (event.entity == id(index)) return event.reason;
        }
        FAIL("no event of entity " << index);
        return Reason::left;
    }
    InterestManager manager;
    ObserverId me{}, other{};
};

}  // namespace

TEST_CASE("interest: an independently culled member uses its own position (O22)") {
    Train train(55, 90, passenger);
    CHECK(train.seen_by_me() == Set{0, 1, 2});
    put(train.manager, 3, 52);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.manager.entity(id(4)).position().x == 52);
    put(train.manager, 3, 90);
    CHECK(train.next() == Set{0, 1, 2});
    CHECK(train.manager.events(train.me)[0].entity == id(4));  // children first
    CHECK(train.reason(3) == Reason::left);
}

TEST_CASE("interest: a member is not relevant while its root is out of range (O35 O22)") {
    Train train(90, 52, passenger);
    CHECK(train.seen_by_me() == Set{0});
    const Explanation why = train.manager.explain(train.me, id(4));
    CHECK_FALSE(why.relevant);
    CHECK(why.unit == id(1));
    CHECK(why.stage == Stage::no_node);
    put(train.manager, 1, 52);
    train.manager.tick();
    CHECK(news(train.manager, train.me).in == Set{1, 2, 3, 4});
    std::vector<std::uint32_t> order;
    for (const InterestEvent& event : train.manager.events(train.me))
        order.push_back(index_of(event.entity));
    CHECK(order == std::vector<std::uint32_t>{1, 2, 3, 4});  // parents first
    put(train.manager, 1, 90);
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: a relevant crew member keeps its ancestors relevant (X10 O22)") {
    Train train(90, 90, crew);
    CHECK(train.seen_by_me() == Set{0});
    put(train.manager, 3, 52);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.reason(1) == Reason::promoted);
    CHECK(train.reason(2) == Reason::promoted);
    CHECK(train.reason(3) == Reason::entered);
    const Explanation why = train.manager.explain(train.me, id(2));
    CHECK(why.relevant);
    CHECK(why.stage == Stage::promoted);
    CHECK(why.text().find("promoted by entity 3") != std::string::npos);
    CHECK(seen(train.manager, train.other) == Set{});
    put(train.manager, 3, 90);
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: promotion that replaces own relevance in one tick causes no event (X10)") {
    Train train(90, 52, crew);
    CHECK(train.seen_by_me() == Set{0, 1, 2, 3, 4});
    put(train.manager, 1, 52);
    put(train.manager, 3, 90);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{}, {3, 4}});
    put(train.manager, 1, 90);
    put(train.manager, 3, 52);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{3, 4}, {}});
}

TEST_CASE("interest: a promotion does not override hides of an ancestor (X10 O22)") {
    Train train(90, 52, crew);
    const Set all{0, 1, 2, 3, 4};
    CHECK(train.seen_by_me() == all);
    for (const std::uint32_t above : {1U, 2U}) {
        CAPTURE(above);
        // A denied root hides the whole group. A denied member prevents the promotion of the root.
        CHECK(train.manager.deny(train.me, id(above), true) == Status::ok);
        CHECK(train.next() == Set{0});
        CHECK(train.reason(3) == Reason::hidden);
        CHECK(train.manager.deny(train.me, id(above), false) == Status::ok);
        CHECK(train.next() == all);
        CHECK(train.manager.set_hidden(id(above), true) == Status::ok);
        CHECK(train.next() == Set{0});
        CHECK(train.manager.set_hidden(id(above), false) == Status::ok);
        CHECK(train.next() == all);
        CHECK(train.manager.set_mode(id(above), EntityMode::explicit_only) == Status::ok);
        CHECK(train.next() == Set{0});
        CHECK(train.manager.set_mode(id(above), EntityMode::nodes) == Status::ok);
        CHECK(train.next() == all);
    }
    // Crew does not make a cloaked ship relevant.
    CHECK(train.manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(train.next() == Set{0});
    CHECK(train.reason(1) == Reason::hidden);
    CHECK(train.manager.set_flag(id(1), id_at<FlagId>(0), false) == Status::ok);
    CHECK(train.next() == all);
    // A denial of the independently culled member ends its promotion.
    CHECK(train.manager.deny(train.me, id(3), true) == Status::ok);
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: a promotion does not override a node that subtracts an ancestor") {
    Rules def = train_def();
    NodeDef cloak = node("cloak", {flag(Combine::add, 0), flag(Combine::subtract, 1)});
    cloak.combine = Combine::subtract;
    def.nodes = {node("near", {within(Combine::add, 10)}), cloak};
    Train train(90, 52, crew, def);
    const Set all{0, 1, 2, 3, 4};
    CHECK(train.seen_by_me() == all);
    CHECK(train.manager.set_flag(id(1), id_at<FlagId>(1), true) == Status::ok);
    CHECK(train.next() == all);
    CHECK(train.manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(train.next() == all);
    CHECK(train.manager.set_flag(id(1), id_at<FlagId>(1), false) == Status::ok);
    CHECK(train.next() == Set{0});
    CHECK(train.reason(1) == Reason::hidden);
}

TEST_CASE("interest: an explicitly relevant member includes its ancestors (O22 F9)") {
    Train train(90, 90, passenger);
    const Set all{0, 1, 2, 3, 4};
    for (const std::uint32_t of : {3U, 4U}) {
        CAPTURE(of);
        CHECK(train.manager.allow(train.me, id(of), true) == Status::ok);
        CHECK(train.next() == all);
        CHECK(train.reason(1) == Reason::forced);
        CHECK(train.manager.allow(train.me, id(of), false) == Status::ok);
        CHECK(train.next() == Set{0});
        CHECK(train.manager.set_owner(id(of), train.me) == Status::ok);
        CHECK(train.next() == all);
        CHECK(train.reason(2) == Reason::owned);
        CHECK(train.manager.set_owner(id(of), ObserverId::none) == Status::ok);
        CHECK(train.next() == Set{0});
        CHECK(train.manager.set_mode(id(of), EntityMode::global) == Status::ok);
        CHECK(train.next() == all);
        CHECK(seen(train.manager, train.other) == Set{1, 2, 3, 4});
        CHECK(train.manager.set_mode(id(of), EntityMode::nodes) == Status::ok);
        CHECK(train.next() == Set{0});
    }
}

TEST_CASE("interest: a member's owner receives a hidden root, not a denied one (O35 O22)") {
    Train train(52, 52, passenger);
    CHECK(train.manager.set_hidden(id(1), true) == Status::ok);
    CHECK(train.manager.allow(train.me, id(3), true) == Status::ok);
    CHECK(train.next() == Set{0});
    CHECK(train.manager.set_owner(id(4), train.me) == Status::ok);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    // The owner also sees it below a hidden member.
    CHECK(train.manager.set_hidden(id(2), true) == Status::ok);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.manager.deny(train.me, id(1), true) == Status::ok);
    CHECK(train.next() == Set{0});
    CHECK(internal(train.manager).answers.is_denied(train.me, id(4)));
    // Everything below a denied member is denied, independently culled or not.
    CHECK(train.manager.deny(train.me, id(1), false) == Status::ok);
    CHECK(train.manager.deny(train.me, id(2), true) == Status::ok);
    for (const std::uint32_t below : {2, 3, 4})
        CHECK(internal(train.manager).answers.is_denied(train.me, id(below)));
    CHECK_FALSE(internal(train.manager).answers.is_denied(train.me, id(1)));
}

TEST_CASE("interest: a nested crew member keeps all ancestors relevant (X10)") {
    Train train(90, 90, crew);
    train.put_in(5, 52, passenger);
    train.put_in(6, 90, crew);
    CHECK(train.manager.attach(id(5), id(4)) == Status::ok);
    CHECK(train.manager.attach(id(6), id(5)) == Status::ok);
    CHECK(train.next() == Set{0});  // a passenger does not promote
    put(train.manager, 6, 52);
    CHECK(train.next() == Set{0, 1, 2, 3, 4, 5, 6});
    CHECK(train.manager.explain(train.me, id(1)).promoted_by == id(6));
    // A promotion does not pass a denied member.
    CHECK(train.manager.deny(train.me, id(4), true) == Status::ok);
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: a relevant member joins and leaves a group without an event (O4 X10)") {
    Train train(90, 52, crew);
    CHECK(train.seen_by_me() == Set{0, 1, 2, 3, 4});
    CHECK(train.manager.detach(id(3), {}) == Status::ok);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{}, {1, 2}});
    CHECK(train.seen_by_me() == Set{0, 3, 4});
    CHECK(train.manager.detach(id(3), {}) == Status::not_found);
    CHECK(train.manager.attach(id(3), id(1)) == Status::ok);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{1, 2}, {}});
    // Refused: a parent below the child, and the despawn of an entity that has members.
    CHECK(train.manager.attach(id(3), id(4)) == Status::bad_argument);
    CHECK(train.manager.attach(id(1), id(4)) == Status::bad_argument);
    CHECK(train.manager.despawn(id(1)) == Status::refused);
    CHECK(train.manager.despawn(id(3)) == Status::refused);
    CHECK(train.manager.detach(id(4), {.position = {90, 50, 0}}) == Status::ok);
    train.put_in(5, 90, passenger);
    CHECK(train.manager.attach(id(5), id(3)) == Status::ok);
    CHECK(train.manager.despawn(id(3)) == Status::refused);
    CHECK(train.manager.despawn(id(5)) == Status::ok);
    CHECK(train.manager.despawn(id(3)) == Status::ok);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{}, {1, 2, 3, 4}});
    CHECK(train.reason(3) == Reason::despawned);
    CHECK(train.seen_by_me() == Set{0});
}

TEST_CASE("interest: children of a member that leaves move to its parent (O4)") {
    Train train(52, 52, passenger);
    CHECK(train.manager.detach(id(2), {.position = {90, 50, 0}}) == Status::ok);
    CHECK(train.next() == Set{0, 1, 3, 4});
    CHECK(train.manager.deny(train.me, id(1), true) == Status::ok);
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: an observer that is removed or not ready loses the whole group") {
    Train train(90, 52, crew);
    CHECK(train.manager.set_ready(train.me, false) == Status::ok);
    train.manager.tick();
    CHECK(news(train.manager, train.me) == News{{}, {0, 1, 2, 3, 4}});
    CHECK(train.reason(1) == Reason::hidden);
    CHECK(train.manager.set_ready(train.me, true) == Status::ok);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.manager.remove_observer(train.me) == Status::ok);
    train.manager.tick();
    std::size_t gone = 0;
    for (const InterestEvent& event : train.manager.events())
        gone += event.reason == Reason::disconnected && !event.enter ? 1 : 0;
    CHECK(gone == 5);
}

TEST_CASE("interest: minimum relevance of a member keeps its ancestors relevant (X10)") {
    Rules def = train_def();
    def.minimum_relevance_ticks = 4;
    Train train(90, 52, crew, def);
    put(train.manager, 3, 90);
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.next() == Set{0, 1, 2, 3, 4});
    CHECK(train.next() == Set{0});
}

TEST_CASE("interest: joining a group starts no minimum relevance time") {
    Rules def = train_def();
    def.minimum_relevance_ticks = 4;
    Train train(55, 90, passenger, def);
    train.put_in(5, 90, passenger);
    CHECK(train.manager.show_to_all(id(5), true) == Status::ok);
    CHECK(train.next() == Set{0, 1, 2, 5});
    // In the same tick, the entity is no longer shown to all and a node begins to match it. This
    // causes no event.
    CHECK(train.manager.show_to_all(id(5), false) == Status::ok);
    CHECK(train.manager.attach(id(5), id(2)) == Status::ok);
    put(train.manager, 5, 52);
    CHECK(train.next() == Set{0, 1, 2, 5});
    CHECK(train.manager.events(train.me).empty());
    put(train.manager, 5, 90);
    CHECK(train.next() == Set{0, 1, 2});
}

}  // namespace purview::test::lines
