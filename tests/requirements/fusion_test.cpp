// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Areas of interest and the three modes of an entity.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "purview/presets.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// The Fusion preset in a small world: areas decide, in three dimensions.
Rules areas_def() {
    Rules def = preset(Preset::fusion);
    def.max = {100, 100, 100};
    def.flag_names.resize(1);
    def.key_names.resize(1);
    return def;
}

EntityId stand(InterestManager& manager, std::uint32_t index, Vec3 position,
               EntityMode mode = EntityMode::nodes) {
    EntityDef def;
    def.position = position;
    def.mode = mode;
    return spawn(manager, index, def);
}

void look(InterestManager& manager, ObserverId observer, std::uint32_t key, const Area& area) {
    CHECK(manager.set_area(observer, key, area) == Status::ok);
}

}  // namespace

TEST_CASE("interest: an entity has exactly one mode, which may change (F3 F10 F11)") {
    InterestManager manager = make(areas_def());
    stand(manager, 0, {50, 50, 50});
    stand(manager, 1, {50, 50, 50}, EntityMode::global);
    stand(manager, 2, {50, 50, 50}, EntityMode::explicit_only);
    stand(manager, 3, {99, 99, 99}, EntityMode::global);
    const ObserverId inside = watch(manager), outside = watch(manager);
    look(manager, inside, 1, Area::sphere({50, 50, 50}, 5));
    manager.tick();
    CHECK(seen(manager, inside) == Set{0, 1, 3});
    CHECK(seen(manager, outside) == Set{1, 3});
    CHECK(manager.explain(outside, id(3)).stage == Stage::shown_to_all);
    CHECK(manager.explain(inside, id(2)).stage == Stage::explicit_only);
    const auto mode = [&](std::uint32_t index, EntityMode to) {
        CHECK(manager.set_mode(id(index), to) == Status::ok);
        manager.tick();
    };
    mode(0, EntityMode::global);
    CHECK(seen(manager, outside) == Set{0, 1, 3});
    mode(0, EntityMode::explicit_only);  // neither the area nor the old mode counts
    CHECK(seen(manager, inside) == Set{1, 3});
    CHECK(seen(manager, outside) == Set{1, 3});
    mode(0, EntityMode::nodes);
    CHECK(seen(manager, inside) == Set{0, 1, 3});
    CHECK(seen(manager, outside) == Set{1, 3});
}

TEST_CASE("interest: an explicit entity starts irrelevant, also to its owner (F11)") {
    InterestManager manager = make(areas_def());
    const ObserverId observer = watch(manager), owner = watch(manager);
    look(manager, observer, 1, Area::sphere({50, 50, 50}, 50));
    EntityDef def;
    def.position = {50, 50, 50};
    def.kind = id_at<KindId>(0);  // the preset does not show owned entities
    def.mode = EntityMode::explicit_only;
    spawn(manager, 0, def);
    CHECK(manager.set_owner(id(0), owner) == Status::ok);
    manager.tick();
    manager.tick();
    CHECK(seen(manager, observer).empty());
    CHECK(seen(manager, owner).empty());
    CHECK(manager.allow(observer, id(0), true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{0}, {}});
    CHECK(seen(manager, owner).empty());
}

TEST_CASE("interest: an entity in several areas is relevant once, borders included (F4)") {
    for (const Axes axes : {Axes::xyz, Axes::xy}) {
        Rules def = areas_def();
        def.axes = axes;
        InterestManager manager = make(def);
        stand(manager, 0, {50, 50, 50});
        stand(manager, 1, {55, 50, 50});  // on the border of the first area
        stand(manager, 2, {std::nextafter(55.0F, 56.0F), 50, 50});
        stand(manager, 3, {50, 50, 56});  // too high, where height counts
        stand(manager, 4, {62, 50, 50});  // in the second area only
        const ObserverId observer = watch(manager);
        look(manager, observer, 1, Area::sphere({50, 50, 50}, 5));
        look(manager, observer, 2, Area::sphere({58, 50, 50}, 4));
        const bool flat = axes == Axes::xy;
        const Set both = flat ? Set{0, 1, 2, 3, 4} : Set{0, 1, 2, 4};
        CHECK(ticked(manager, observer) == both);
        CHECK(manager.events(observer).size() == both.size());
        CHECK(manager.remove_area(observer, 2) == Status::ok);
        CHECK(ticked(manager, observer) == (flat ? Set{0, 1, 3} : Set{0, 1}));
        look(manager, observer, 2, Area::sphere({58, 50, 50}, 4));
        manager.tick();
        CHECK(manager.remove_area(observer, 1) == Status::ok);
        CHECK(ticked(manager, observer) == Set{1, 2, 4});  // these never left
        CHECK(news(manager, observer) == News{{}, flat ? Set{0, 3} : Set{0}});
    }
}

TEST_CASE("interest: set_areas replaces all areas, a keyed area stays until replaced (F5)") {
    InterestManager manager = make(areas_def());
    for (std::uint32_t i = 0; i < 10; ++i) stand(manager, i, {static_cast<float>(i) * 10, 50, 50});
    const ObserverId observer = watch(manager);
    for (std::uint32_t i = 0; i < 10; ++i) {
        const std::array areas{Area::sphere({static_cast<float>(i) * 10, 50, 50}, 4)};
        CHECK(manager.set_areas(observer, areas) == Status::ok);
        CHECK(ticked(manager, observer) == Set{i});
    }
    CHECK(manager.set_areas(observer, {}) == Status::ok);
    CHECK(ticked(manager, observer).empty());
    look(manager, observer, 7, Area::sphere({20, 50, 50}, 4));
    for (int i = 0; i < 3; ++i) CHECK(ticked(manager, observer) == Set{2});
    look(manager, observer, 7, Area::sphere({30, 50, 50}, 4));  // replaced, not added
    CHECK(ticked(manager, observer) == Set{3});
    CHECK(manager.set_area(observer, 8, Area::sphere({30, 50, 50}, 0)) == Status::bad_argument);
    CHECK(manager.set_area(observer, 8, Area::sphere({30, 50, 50}, -1)) == Status::bad_argument);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(manager.set_area(observer, 7, Area::sphere({nan, 50, 50}, 4)) == Status::bad_position);
    CHECK(ticked(manager, observer) == Set{3});  // refused: nothing was changed
}

TEST_CASE("interest: the number of areas has a limit, optionally of one (F6)") {
    Rules def = areas_def();
    def.areas_max = 3;
    for (const bool single : {false, true}) {
        def.single_area = single;
        InterestManager manager = make(def);
        for (std::uint32_t i = 0; i < 5; ++i)
            stand(manager, i, {static_cast<float>(i) * 10, 50, 50});
        const ObserverId observer = watch(manager);
        const auto at = [](std::uint32_t i) {
            return Area::sphere({static_cast<float>(i) * 10, 50, 50}, 2);
        };
        for (std::uint32_t i = 0; i < 3; ++i) look(manager, observer, i, at(i));
        CHECK(ticked(manager, observer) == (single ? Set{2} : Set{0, 1, 2}));
        const Status fourth = manager.set_area(observer, 9, at(3));
        CHECK(fourth == (single ? Status::ok : Status::capacity));
        CHECK(ticked(manager, observer) == (single ? Set{3} : Set{0, 1, 2}));
        const std::array two{at(0), at(4)};
        CHECK(manager.set_areas(observer, two) == (single ? Status::capacity : Status::ok));
        CHECK(ticked(manager, observer) == (single ? Set{3} : Set{0, 4}));
    }
}

TEST_CASE("interest: below the full level areas are ignored, overrides still apply (F7 F29)") {
    for (const InterestLevel level : {InterestLevel::none, InterestLevel::replication}) {
        Rules def = areas_def();
        def.level = level;
        InterestManager manager = make(def);
        stand(manager, 0, {50, 50, 50});
        stand(manager, 1, {90, 50, 50});
        stand(manager, 2, {50, 50, 50});
        stand(manager, 3, {50, 50, 50});
        stand(manager, 4, {50, 50, 50}, EntityMode::explicit_only);
        stand(manager, 5, {90, 50, 50}, EntityMode::global);
        const ObserverId observer = watch(manager),
                         unready = manager.add_observer({.is_ready = false});
        look(manager, observer, 1, Area::sphere({50, 50, 50}, 5));
        CHECK(manager.deny(observer, id(2), true) == Status::ok);
        CHECK(manager.set_hidden(id(3), true) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 1, 5});
        CHECK(seen(manager, unready).empty());
        manager.set_level(InterestLevel::full);
        CHECK(tick_news(manager, observer) == News{{}, {1}});
        CHECK(manager.allow(observer, id(4), true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{4}, {}});
        manager.set_level(level);
        CHECK(tick_news(manager, observer) == News{{1}, {}});
        CHECK(manager.set_unculled(observer, true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{});
    }
}

TEST_CASE("interest: areas skip entities without a position and explain why (F8 F30)") {
    InterestManager manager = make(areas_def());
    EntityDef abstract;
    abstract.has_position = false;
    abstract.position = {50, 50, 50};
    spawn(manager, 0, abstract);
    stand(manager, 1, {50, 50, 50});
    const ObserverId observer = watch(manager);
    look(manager, observer, 1, Area::sphere({50, 50, 50}, 50));
    look(manager, observer, 2, Area::box({0, 0, 0}, {1000, 1000, 1000}));
    CHECK(ticked(manager, observer) == Set{1});
    const Explanation why = manager.explain(observer, id(0));
    CHECK_FALSE(why.relevant);
    CHECK(why.stage == Stage::no_node);
    CHECK(why.nodes.at(0).steps.at(0).unknown);
    CHECK(why.text().find("the entity has no position") != std::string::npos);
    CHECK(manager.set_mode(id(0), EntityMode::global) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: allow adds to areas and works before the observer is ready (F9)") {
    InterestManager manager = make(areas_def());
    stand(manager, 0, {90, 50, 50});
    stand(manager, 1, {90, 50, 50}, EntityMode::explicit_only);
    const ObserverId observer = manager.add_observer({.is_ready = false}), other = watch(manager);
    CHECK(manager.allow(observer, id(0), true) == Status::ok);  // before it is ready
    CHECK(manager.allow(observer, id(1), true) == Status::ok);
    CHECK(ticked(manager, observer).empty());
    CHECK(manager.set_ready(observer, true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{0, 1}, {}});
    CHECK(manager.events(observer)[0].reason == Reason::forced);
    CHECK(seen(manager, other).empty());
    look(manager, observer, 1, Area::sphere({90, 50, 50}, 5));
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.allow(observer, id(0), false) == Status::ok);
    CHECK(manager.allow(observer, id(1), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});  // the area keeps entity 0 relevant
}

TEST_CASE("interest: a global entity is relevant to every ready observer, anywhere (F10)") {
    InterestManager manager = make(areas_def());
    stand(manager, 0, {1e6F, -1e6F, 50}, EntityMode::global);
    const ObserverId first = watch(manager), second = watch(manager);
    look(manager, second, 1, Area::sphere({0, 0, 0}, 1));
    manager.tick();
    CHECK(seen(manager, first) == Set{0});
    CHECK(seen(manager, second) == Set{0});
    CHECK(manager.move(id(0), {0, 0, 0}) == Status::ok);
    manager.tick();
    CHECK(manager.events().empty());
    const ObserverId late = watch(manager);
    CHECK(tick_news(manager, late) == News{{0}, {}});
}

TEST_CASE("interest: a position source replaces the position, not mode or range (F12)") {
    Rules def = areas_def();
    Kernel near = within(Combine::add, 5);
    near.range = RangeFrom::entity;
    def.nodes.push_back(node("near", {near}));
    def.range_classes = {5, 50};
    InterestManager manager = make(def);
    stand(manager, 0, {10, 50, 50});                             // the rider
    stand(manager, 1, {90, 50, 50});                             // the horse
    stand(manager, 2, {10, 50, 50}, EntityMode::explicit_only);  // another rider, explicit only
    CHECK(manager.set_range(id(1), 50) == Status::ok);           // the horse has a long range
    const ObserverId at_rider = watch(manager), at_horse = watch(manager), afar = watch(manager);
    look(manager, at_rider, 1, Area::sphere({10, 50, 50}, 3));
    look(manager, at_horse, 1, Area::sphere({90, 50, 50}, 3));
    CHECK(manager.set_area(afar, 1, Area::at(Vec3{60, 50, 50})) == Status::ok);
    manager.tick();
    CHECK(seen(manager, at_rider) == Set{0});
    CHECK(seen(manager, at_horse) == Set{1});
    CHECK(seen(manager, afar) == Set{1});
    for (const std::uint32_t rider : {0U, 2U})
        CHECK(manager.set_position_source(id(rider), id(1)) == Status::ok);
    manager.tick();
    CHECK(seen(manager, at_rider).empty());
    CHECK(seen(manager, at_horse) == Set{0, 1});  // the explicit rider stays explicit
    CHECK(seen(manager, afar) == Set{1});         // and the rider keeps its own range
    CHECK(manager.move(id(1), {10, 52, 50}) == Status::ok);
    CHECK(manager.move(id(0), {70, 50, 50}) == Status::ok);  // stored, not used
    manager.tick();
    CHECK(seen(manager, at_rider) == Set{0, 1});
    CHECK(manager.set_position_source(id(0), EntityId::none) == Status::ok);
    look(manager, at_horse, 1, Area::sphere({70, 50, 50}, 3));
    manager.tick();
    CHECK(seen(manager, at_rider) == Set{1});
    CHECK(seen(manager, at_horse) == Set{0});
}

TEST_CASE("interest: chains of position sources have a depth limit and no cycles (F12)") {
    InterestManager manager = make(areas_def());
    for (std::uint32_t i = 0; i < 12; ++i) stand(manager, i, {static_cast<float>(i) * 8, 50, 50});
    const ObserverId observer = watch(manager);
    look(manager, observer, 1, Area::sphere({24, 50, 50}, 3));  // where 3 stands
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(manager.set_position_source(id(i), id(i + 1)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(manager.set_position_source(id(3), id(0)) == Status::would_cycle);
    CHECK(manager.set_position_source(id(3), id(3)) == Status::would_cycle);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(manager.despawn(id(3)) == Status::ok);
    look(manager, observer, 1, Area::sphere({16, 50, 50}, 3));  // where 2 stands
    manager.tick();
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    Status status = Status::ok;
    for (std::uint32_t i = 11; i > 4 && status == Status::ok; --i)
        status = manager.set_position_source(id(i - 1), id(i));
    CHECK(status == Status::ok);                                           // a chain of seven
    CHECK(manager.set_position_source(id(1), id(4)) == Status::too_deep);  // nine with 0 behind 1
    CHECK(manager.set_position_source(id(0), EntityId::none) == Status::ok);
    CHECK(manager.set_position_source(id(1), id(4)) == Status::ok);
    CHECK(manager.set_position_source(id(0), id(1)) == Status::too_deep);
    CHECK(manager.set_position_source(id(2), id(4)) == Status::ok);
    CHECK(manager.set_position_source(id(2), EntityId::none) == Status::ok);
    CHECK(manager.set_position_source(id(2), id(99)) == Status::stale_id);
}

TEST_CASE("interest: dependents follow in the tick in which a position source ends (F12)") {
    for (const bool despawned : {true, false}) {
        CAPTURE(despawned);
        InterestManager manager = make(areas_def());
        stand(manager, 0, {10, 50, 50});
        stand(manager, 1, {50, 50, 50});
        stand(manager, 2, {90, 50, 50});
        const ObserverId observer = watch(manager);
        look(manager, observer, 1, Area::sphere({50, 50, 50}, 3));  // where 1 stands
        CHECK(manager.set_position_source(id(0), id(1)) == Status::ok);
        CHECK(manager.set_position_source(id(1), id(2)) == Status::ok);
        CHECK(ticked(manager, observer).empty());
        if (despawned) {
            CHECK(manager.despawn(id(2)) == Status::ok);
        } else {
            CHECK(manager.set_position_source(id(1), EntityId::none) == Status::ok);
        }
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: areas are spheres, boxes or cones that can follow and expire (F26)") {
    Rules def = areas_def();
    Kernel near = within(Combine::add, 5);
    near.view_from = Viewpoints::entity;
    def.nodes.push_back(node("by default", {near}));
    InterestManager manager = make(def);
    stand(manager, 0, {50, 50, 50});  // the player
    stand(manager, 1, {90, 90, 50});  // a tower
    stand(manager, 2, {96, 96, 50});  // in the corner of the box, outside the sphere
    stand(manager, 3, {96, 90, 50});  // ahead
    stand(manager, 4, {84, 90, 50});  // behind
    const ObserverId observer = watch(manager, id(0));
    const auto with = [&](const Area& area) {
        look(manager, observer, 1, area.following(id(1)));
        return ticked(manager, observer);
    };
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(with(Area::sphere({}, 7)) == Set{0, 1, 3, 4});
    CHECK(with(Area::box({}, {7, 7, 7})) == Set{0, 1, 2, 3, 4});
    CHECK(with(Area::box({}, {7, 1, 1})) == Set{0, 1, 3, 4});
    CHECK(with(Area::cone({}, {2, 0, 0}, 30, 7)) == Set{0, 1, 3});
    CHECK(with(Area::cone({}, {-1, 0, 0}, 30, 7)) == Set{0, 1, 4});
    CHECK(with(Area::cone({}, {0, 0, 1}, 30, 7)) == Set{0, 1});
    CHECK(with(Area::sphere({6, 6, 0}, 1)) == Set{0, 2});  // an offset from the tower
    CHECK(manager.move(id(1), {78, 84, 50}) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 4});
    CHECK(manager.despawn(id(1)) == Status::ok);  // the tower despawns
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.remove_area(observer, 1) == Status::not_found);
    look(manager, observer, 2, Area::sphere({96, 96, 50}, 2).lasting(3));
    for (int i = 0; i < 3; ++i) CHECK(ticked(manager, observer) == Set{0, 2});
    CHECK(ticked(manager, observer) == Set{0});
    // An area replaces the viewpoint: the player watches through a camera.
    look(manager, observer, 3, Area::sphere({96, 90, 50}, 2));
    CHECK(manager.set_viewpoint(observer, EntityId::none) == Status::ok);
    CHECK(ticked(manager, observer) == Set{3});
}

TEST_CASE("interest: a temporary area shows a shooter to its victim (F27)") {
    InterestManager manager = make(areas_def());
    stand(manager, 0, {10, 50, 50});  // the victim
    stand(manager, 1, {90, 50, 50});  // the shooter, far away
    const ObserverId victim = watch(manager, id(0)), other = watch(manager);
    look(manager, victim, 0, Area::sphere({10, 50, 50}, 20));
    CHECK(ticked(manager, victim) == Set{0});
    look(manager, victim, 1, Area::sphere({}, 5).following(id(1)).lasting(4));
    for (int i = 0; i < 4; ++i) {
        CHECK(manager.move(id(1), {90, 50.0F + static_cast<float>(i) * 9, 50}) == Status::ok);
        CHECK(ticked(manager, victim) == Set{0, 1});
        CHECK(seen(manager, other).empty());
    }
    CHECK(tick_news(manager, victim) == News{{}, {1}});
}

TEST_CASE("interest: cell squares have any size, and outer rings are sent less often (F28)") {
    for (const std::uint32_t rings : {0U, 1U, 4U, 10U}) {
        Rules def = def_of({node("square", {cells(2, 2, static_cast<std::uint16_t>(rings))})});
        InterestManager manager = make(def);
        for (std::uint32_t i = 0; i < 25; ++i) spawn(manager, i, 1 + static_cast<float>(i) * 2, 51);
        const ObserverId observer = watch(manager, id(12));
        Set expected;
        for (std::uint32_t i = 12 - rings; i <= 12 + rings; ++i) expected.insert(i);
        CHECK(ticked(manager, observer) == expected);
        CHECK(expected.size() == 2 * rings + 1);
    }
    std::vector<NodeDef> rings;
    for (std::uint32_t ring = 0; ring < 3; ++ring) {  // the interval doubles from ring to ring
        rings.push_back(node("ring", {within(Combine::add, 10.0F * static_cast<float>(ring + 1))}));
        rings.back().replication.every_ticks = 1U << ring;
    }
    InterestManager manager = make(rings);
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, 50.0F + static_cast<float>(i) * 9.5F);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(internal(manager).explainer.settings(observer, id(1)).every_ticks == 1);
    CHECK(internal(manager).explainer.settings(observer, id(2)).every_ticks == 2);
    CHECK(internal(manager).explainer.settings(observer, id(3)).every_ticks == 4);
    put(manager, 3, 55);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(internal(manager).explainer.settings(observer, id(3)).every_ticks == 1);
    // At level `replication` nodes do not cull, but still set send intervals. At level `none` they
    // do neither.
    manager.set_level(InterestLevel::replication);
    put(manager, 3, 95);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(internal(manager).explainer.settings(observer, id(2)).every_ticks == 2);
    CHECK(internal(manager).explainer.settings(observer, id(3)).every_ticks == 1);
    manager.set_level(InterestLevel::none);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3});
    CHECK(internal(manager).explainer.settings(observer, id(2)).every_ticks == 1);
}

}  // namespace purview::test::lines
