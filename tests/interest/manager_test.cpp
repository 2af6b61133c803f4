// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "core/internal_access.hpp"
#include "core/observer_ids.hpp"
#include "interest/engine.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "purview/interest.hpp"
#include "support/print_set.hpp"
#include "support/steps.hpp"

namespace purview::test::behavior {

namespace {

using lines::flag, lines::same, lines::step;

Kernel within(Combine combine, float enter, float leave) {
    return step(combine, purview::within(enter).leave_at(leave));
}

InterestManager make(std::vector<Kernel> steps, bool with_node = true) {
    Rules def;
    def.max = {100, 100, 0};
    def.flag_names.resize(1);
    def.key_names.resize(1);
    if (with_node) def.nodes.push_back({.name = "node", .steps = std::move(steps)});
    return InterestManager(def);
}

EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

EntityId spawn(InterestManager& manager, std::uint32_t index, float x, std::uint16_t flags = 0,
               Key key = Key::none) {
    EntityDef def;
    def.id = id(index);
    def.position = {x, 50, 0};
    def.flags = FlagSet(flags);
    def.keys = std::span(&key, 1);
    CHECK(manager.spawn(def) == id(index));
    return id(index);
}

ObserverId watch(InterestManager& manager, EntityId main) {
    const ObserverId observer = manager.add_observer({.is_ready = false});
    CHECK(manager.set_viewpoint(observer, main) == Status::ok);
    CHECK(manager.set_ready(observer, true) == Status::ok);
    return observer;
}

std::set<std::uint32_t> seen(const InterestManager& manager, ObserverId observer) {
    std::vector<EntityId> out;
    manager.relevant(observer, out);
    std::set<std::uint32_t> indices;
    for (const EntityId entity : out) indices.insert(index_of(entity));
    CHECK(indices.size() == out.size());
    return indices;
}

using Set = std::set<std::uint32_t>;

}  // namespace

TEST_CASE("interest: without rules a ready observer receives all entities (N2 M1)") {
    InterestManager manager = make({}, false);
    for (std::uint32_t i = 0; i < 50; ++i) spawn(manager, i, static_cast<float>(i) * 1000);
    const ObserverId observer = manager.add_observer({.is_ready = false});
    manager.tick();
    CHECK(seen(manager, observer).empty());
    CHECK(manager.set_ready(observer, true) == Status::ok);
    manager.tick();
    CHECK(seen(manager, observer).size() == 50);
    CHECK(manager.events().size() == 50);
    spawn(manager, 50, 7);
    CHECK(manager.despawn(id(3)) == Status::ok);
    manager.tick();
    REQUIRE(manager.events().size() == 2);
    CHECK(seen(manager, observer).size() == 50);
}

TEST_CASE("interest: becoming ready twice changes nothing (M32)") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(manager.events().size() == 2);
    const auto scanned = internal(manager).counters().windows_scanned;
    for (int i = 0; i < 100; ++i) CHECK(manager.set_ready(observer, true) == Status::ok);
    manager.tick();
    CHECK(manager.events().empty());
    CHECK(internal(manager).counters().windows_scanned == scanned);  // it is idle
}

TEST_CASE("interest: an observer that is no longer ready loses all entities (M7)") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    CHECK(manager.set_ready(observer, false) == Status::ok);
    CHECK_FALSE(manager.is_relevant(observer, id(0)));
    manager.tick();
    REQUIRE(manager.events().size() == 1);
    CHECK(manager.events()[0].reason == Reason::hidden);
}

TEST_CASE("interest: a late observer has the same relevant set as an earlier one (M4)") {
    InterestManager manager =
        make({within(Combine::add, 20, 25), same(Combine::add, 0), flag(Combine::subtract, 0)});
    for (std::uint32_t i = 0; i < 90; ++i) {
        spawn(manager, i, static_cast<float>(i), i % 7 == 0 ? 1 : 0,
              Key{static_cast<std::uint16_t>(i % 3)});
    }
    const ObserverId early = watch(manager, id(40));
    manager.tick();
    manager.tick();
    const ObserverId late = watch(manager, id(40));
    manager.tick();
    CHECK(seen(manager, early) == seen(manager, late));
    CHECK(seen(manager, early).size() > 40);
}

TEST_CASE("interest: enter and leave radius are inclusive, with hysteresis between") {
    InterestManager manager = make({within(Combine::add, 10, 12.5F)});
    spawn(manager, 0, 50);
    spawn(manager, 1, 60);  // exactly at the radius
    spawn(manager, 2, 60.01F);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1});
    CHECK(manager.move(id(1), {62.5F, 50, 0}) == Status::ok);  // exactly at the leave radius
    manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1});
    CHECK(manager.events().empty());
    CHECK(manager.move(id(1), {62.6F, 50, 0}) == Status::ok);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    CHECK(manager.move(id(1), {61, 50, 0}) == Status::ok);  // between: not in, so it stays out
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
}

TEST_CASE("interest: the order of steps counts (N15)") {
    const auto sees_cloaked_mate = [&](std::vector<Kernel> steps) {
        InterestManager manager = make(std::move(steps));
        spawn(manager, 0, 50, 0, Key{1});
        spawn(manager, 1, 55, 1, Key{1});  // near, cloaked, same team
        const ObserverId observer = watch(manager, id(0));
        manager.tick();
        return seen(manager, observer).count(1) == 1;
    };
    CHECK_FALSE(sees_cloaked_mate(
        {within(Combine::add, 10, 10), same(Combine::add, 0), flag(Combine::subtract, 0)}));
    CHECK(sees_cloaked_mate(
        {within(Combine::add, 10, 10), flag(Combine::subtract, 0), same(Combine::add, 0)}));
    CHECK(sees_cloaked_mate({flag(Combine::subtract, 0), within(Combine::add, 10, 10)}));
    CHECK(sees_cloaked_mate({within(Combine::add, 10, 10), same(Combine::require, 0)}));
    CHECK_FALSE(sees_cloaked_mate({flag(Combine::subtract, 0)}));
}

TEST_CASE("interest: team key 0 matches nothing") {
    InterestManager manager = make({same(Combine::add, 0)});
    spawn(manager, 0, 10, 0, Key{0});
    spawn(manager, 1, 20, 0, Key{0});
    spawn(manager, 2, 30, 0, Key{2});
    spawn(manager, 3, 90, 0, Key{2});
    const ObserverId none = watch(manager, id(0));
    const ObserverId two = watch(manager, id(2));
    manager.tick();
    CHECK(seen(manager, none).empty());
    CHECK(seen(manager, two) == Set{2, 3});
    // The observer changes team with its main entity.
    CHECK(manager.set_key(id(0), id_at<KeyId>(0), Key{2}) == Status::ok);
    manager.tick();
    CHECK(seen(manager, none) == Set{0, 2, 3});
    CHECK(seen(manager, two) == Set{0, 2, 3});
}

TEST_CASE("interest: the first fixed stage that applies decides (M8 M9 O1)") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, 50 + static_cast<float>(i));
    spawn(manager, 4, 99);
    const ObserverId observer = watch(manager, id(0));
    CHECK(manager.set_hidden(id(1), true) == Status::ok);
    CHECK(manager.set_owner(id(1), observer) == Status::ok);  // owner before force hidden
    CHECK(manager.set_hidden(id(2), true) == Status::ok);
    CHECK(manager.show_to_all(id(2), true) == Status::ok);  // force hidden before shown to all
    CHECK(manager.allow(observer, id(4), true) == Status::ok);
    CHECK(manager.set_owner(id(3), observer) == Status::ok);
    CHECK(manager.deny(observer, id(3), true) == Status::ok);  // deny before owner
    manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1, 4});
    CHECK(manager.deny(observer, id(3), false) == Status::ok);
    CHECK(manager.set_hidden(id(2), false) == Status::ok);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1, 2, 3, 4});
}

TEST_CASE("interest: an entity that crosses many cells in one tick is exact (P21)") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    spawn(manager, 0, 50);
    spawn(manager, 1, 0);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    for (const float x : {45.0F, -1000.0F, 55.0F, 1e9F, 50.0F}) {
        CHECK(manager.move(id(1), {x, 50, 0}) == Status::ok);
        manager.tick();
        CHECK(manager.is_relevant(observer, id(1)) == (std::fabs(x - 50) <= 10));
    }
    CHECK(manager.move(id(0), {95, 95, 0}) == Status::ok);  // the observer jumps
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
}

TEST_CASE("interest: invalid input returns an error and changes nothing") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(internal(manager).entities.spawn(id(0), {}) == Status::duplicate);
    CHECK(internal(manager).entities.spawn(make_entity_id(0, 2), {}) == Status::duplicate);
    CHECK(internal(manager).entities.spawn(EntityId::none, {}) == Status::bad_argument);
    CHECK(internal(manager).entities.spawn(id(9), {.position = {nan, 0, 0}}) ==
          Status::bad_position);
    CHECK(manager.move(id(0), {inf, 0, 0}) == Status::bad_position);
    CHECK(manager.move(id(7), {1, 1, 0}) == Status::stale_id);
    CHECK(manager.despawn(id(7)) == Status::stale_id);
    CHECK(manager.set_flag(id(0), id_at<FlagId>(5), true) == Status::bad_argument);
    CHECK(manager.set_key(id(0), id_at<KeyId>(3), Key{1}) == Status::bad_argument);
    CHECK(manager.set_area(observer, 1, Area::at({nan, 0, 0})) == Status::bad_position);
    CHECK(manager.remove_area(observer, 1) == Status::not_found);
    CHECK(manager.set_ready(make_observer_id(3, 1), true) == Status::stale_id);
    CHECK(internal(manager).counters().bad_positions == 1);
    CHECK(internal(manager).counters().stale_ids == 1);
    for (std::uint32_t i = 0; i < 16; ++i)
        CHECK(manager.set_area(observer, i, Area::at({1, 1, 0})) == Status::ok);
    CHECK(manager.set_area(observer, 99, Area::at({1, 1, 0})) == Status::capacity);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    Rules def;
    def.nodes.push_back({.name = "n", .steps = {within(Combine::add, -1, 3)}});
    CHECK(problem_of(def) != "");
}

TEST_CASE("interest: a group enters parents first and leaves children first") {
    InterestManager manager = make({within(Combine::add, 10, 10)});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i <= 3; ++i) spawn(manager, i, 80);
    CHECK(manager.attach(id(2), id(1)) == Status::ok);
    CHECK(manager.attach(id(3), id(1)) == Status::ok);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    CHECK(manager.move(id(1), {55, 50, 0}) == Status::ok);
    manager.tick();
    REQUIRE(manager.events().size() == 3);
    CHECK(index_of(manager.events()[0].entity) == 1);
    CHECK(seen(manager, observer) == Set{0, 1, 2, 3});
    CHECK(manager.move(id(1), {80, 50, 0}) == Status::ok);
    manager.tick();
    REQUIRE(manager.events().size() == 3);
    CHECK(index_of(manager.events()[2].entity) == 1);
    // One is detached next to the observer.
    CHECK(manager.detach(id(2), {.position = {51, 50, 0}}) == Status::ok);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0, 2});
}

TEST_CASE("interest: a kernel with memory tests only undecided entities that exist") {
    /// Matches every entity that it receives in `requested`, and counts them.
    class Taking final : public InterestKernel {
      public:
        void test(const KernelQuery& q, std::span<Mask> out,
                  std::span<Mask>) const noexcept override {
            wrong += q.requested.size() != q.blocks.size() ? 1 : 0;
            for (std::size_t i = 0; i < q.requested.size(); ++i) {
                wrong += (q.requested[i] & ~q.slots.occupied()[q.blocks[i]]) != 0 ? 1 : 0;
                tested += static_cast<unsigned>(std::popcount(q.requested[i]));
                out[i] = q.requested[i];
            }
        }
        std::string describe(const KernelQuery&, unsigned) const override { return "taking"; }
        bool remembers() const noexcept override { return true; }
        bool uses_requested() const noexcept override { return true; }
        DependsOn depends_on() const noexcept override { return depends; }
        DependsOn depends = DependsOn::pair;
        mutable unsigned wrong = 0, tested = 0;
    };
    const auto evaluated_as = [](Combine combine, std::vector<Kernel> before) {
        const auto taking = std::make_shared<Taking>();
        before.push_back(step(combine, Kernel(taking)));
        InterestManager manager = make(before);
        for (std::uint32_t i = 0; i < 20; ++i) spawn(manager, i, static_cast<float>(i) * 5);
        const ObserverId observer = watch(manager, id(0));
        manager.tick();
        for (std::uint32_t i = 1; i < 20; ++i)  // some lanes become empty
            CHECK(manager.move(id(i), {static_cast<float>(i) * 5, 20, 0}) == Status::ok);
        CHECK(manager.despawn(id(19)) == Status::ok);
        taking->tested = 0;
        manager.tick();
        const unsigned tested = taking->tested;
        CHECK(!manager.explain(observer, id(1)).text().empty());
        CHECK(taking->wrong == 0);
        return tested;
    };
    CHECK(evaluated_as(Combine::add, {}) == 19);
    // Within 41 m of id(0) at (0, 50), the others at y = 20: x = 0, 5, ... 25.
    CHECK(evaluated_as(Combine::require, {within(Combine::add, 41, 41)}) == 6);
    CHECK(evaluated_as(Combine::subtract, {within(Combine::add, 41, 41)}) == 6);
    CHECK(evaluated_as(Combine::add, {within(Combine::add, 41, 41)}) == 13);

    // Enters and leaves wait, hides do not: a kernel that depends on the entity alone still runs.
    const auto taking = std::make_shared<Taking>();
    taking->depends = DependsOn::entity;
    Rules def;
    def.max = {100, 100, 0};
    def.nodes.push_back({.name = "node",
                         .steps = {within(Combine::add, 41, 41), step(Combine::subtract, taking)},
                         .every_ticks = 4,
                         .lazy_leave = true});
    InterestManager manager(def);
    for (std::uint32_t i = 0; i < 20; ++i) spawn(manager, i, static_cast<float>(i) * 5);
    watch(manager, id(0));
    for (int tick = 0; tick < 8; ++tick) {
        taking->tested = 0;
        CHECK(manager.move(id(0), {static_cast<float>(tick), 50, 0}) == Status::ok);
        manager.tick();
        CHECK(taking->wrong == 0);
    }
}

TEST_CASE("interest: each event has the reason of its change") {
    InterestManager manager = make({within(Combine::add, 10, 10), flag(Combine::subtract, 0)});
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    const auto only = [&] {
        manager.tick();
        REQUIRE(manager.events().size() == 1);
        return manager.events()[0].reason;
    };
    spawn(manager, 1, 52);
    CHECK(only() == Reason::spawned);
    CHECK(manager.move(id(1), {90, 50, 0}) == Status::ok);
    CHECK(only() == Reason::left);
    CHECK(manager.move(id(1), {52, 50, 0}) == Status::ok);
    CHECK(only() == Reason::entered);
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(only() == Reason::hidden);
    CHECK(manager.set_owner(id(1), observer) == Status::ok);
    CHECK(only() == Reason::owned);
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(only() == Reason::despawned);
    CHECK(manager.remove_observer(observer) == Status::ok);
    CHECK(only() == Reason::disconnected);
}

}  // namespace purview::test::behavior
