// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/observer_views.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::observer_views_test {

namespace {

/// The view of an observer, computed from the public data of entities.
struct PlainView {
    std::vector<Vec3> positions;
    std::vector<Area> areas;
    std::vector<EntityId> owned;
    std::size_t owned_positions = 0;
    std::size_t main_positions = 0;
};

PlainView plain_view(const InterestParts& parts, const RandomEdits& edits, ObserverId id,
                     bool from_owned) {
    PlainView view;
    const Observer& observer = parts.stores.observers[index_of(id)];
    const EntityLookup& lookup = parts.lookup;
    const EntityId main =
        observer.main == EntityId::none ? EntityId::none : lookup.unit_of(observer.main);
    const auto has_position = [&](EntityId unit) {
        return parts.stores.table.will_be_positioned(parts.slot(unit));
    };
    if (from_owned) {
        for (const EntityId unit : edits.units()) {
            bool is_owned = false;
            lookup.for_each_member(unit, true,
                                   [&](EntityId one) { is_owned |= lookup.owner_of(one) == id; });
            if (!is_owned) continue;
            view.owned.push_back(unit);
            if (unit != main && has_position(unit))
                view.positions.push_back(lookup.position_of(unit));
        }
    }
    view.owned_positions = view.positions.size();
    if (main != EntityId::none && has_position(main)) {
        view.positions.push_back(lookup.position_of(main));
        view.main_positions = 1;
    }
    for (const KeyedArea& one : observer.areas) {
        if (one.ends != 0 && one.ends < parts.stores.tick) continue;
        Area area = one.area;
        if (area.follow != EntityId::none) {
            if (!lookup.is_known(area.follow) || !has_position(lookup.unit_of(area.follow)))
                continue;
            const Vec3 at = lookup.position_of(area.follow);
            area.center = {area.center.x + at.x, area.center.y + at.y, 0};
        }
        if (area.shape == AreaShape::position) {
            view.positions.push_back(area.center);
        } else {
            view.areas.push_back(area);
        }
    }
    return view;
}

}  // namespace

TEST_CASE("observer views: a view has the owned entities, the viewpoint and the areas") {
    for (const bool from_owned : {false, true}) {
        Rules rules = random_rules();
        if (from_owned) rules.nodes[0].steps[0].view_from = Viewpoints::owned;
        std::size_t owned = 0, mains = 0, points = 0, areas = 0;
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            CAPTURE(seed);
            InterestParts parts(rules);
            RandomEdits edits(parts, seed);
            Sight sight;
            for (int step = 0; step < 300; ++step) {
                edits.edit();
                if (step % 6 == 0) parts.tick();
                for (const ObserverId id : edits.live()) {
                    parts.observer_views.collect(index_of(id), sight);
                    const PlainView plain = plain_view(parts, edits, id, from_owned);
                    REQUIRE(sight.positions == plain.positions);
                    REQUIRE(sight.areas == plain.areas);
                    REQUIRE(sight.owned == plain.owned);
                    REQUIRE(sight.owned_positions == plain.owned_positions);
                    REQUIRE(sight.main_positions == plain.main_positions);
                    const ScanInput input = parts.observer_views.input_of(index_of(id), sight);
                    const Observer& observer = parts.stores.observers[index_of(id)];
                    REQUIRE(input.observer == id);
                    REQUIRE(input.context.main == observer.main);
                    REQUIRE(input.context.range == observer.range);
                    REQUIRE(input.context.tick == parts.stores.tick);
                    REQUIRE(input.is_forced == observer.needs_scan);
                    REQUIRE(input.any_cut == (parts.stores.counts.no_window > 0));
                    REQUIRE(input.views.of(Viewpoints::entity).size() == plain.main_positions);
                    owned += plain.owned_positions;
                    mains += plain.main_positions;
                    points += sight.positions.size() - plain.owned_positions - plain.main_positions;
                    areas += plain.areas.size();
                }
            }
        }
        CHECK((owned > 1'000) == from_owned);
        CHECK(std::min({mains, points, areas}) > 1'000);
    }
}

TEST_CASE("observer views: a view of a later tick omits areas that end before it") {
    InterestParts parts(random_rules());
    const ObserverId observer = parts.watch();
    Area timed = Area::at({1, 1, 0});
    timed.ticks = 2;
    REQUIRE(parts.observers.set_area(observer, 0, timed) == Status::ok);
    REQUIRE(parts.observers.set_area(observer, 1, Area::at({5, 5, 0})) == Status::ok);
    Sight sight;
    for (const Tick tick : {Tick{0}, Tick{2}, Tick{3}}) {
        parts.observer_views.collect(index_of(observer), sight, tick);
        CHECK(sight.positions.size() == (tick > 2 ? 1 : 2));
    }
}

TEST_CASE("observer views: custom kernels receive the caller's axes where y is up") {
    Rules rules = random_rules();
    rules.axes = Axes::xz;
    rules.max = {100, 0, 100};
    InterestParts parts(rules);
    EntityDef def;
    def.position = {10, 20, 30};
    const EntityId viewpoint = parts.spawn(0, def);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.observers.set_area(observer, 0, Area::at({1, 2, 3})) == Status::ok);
    Sight sight;
    parts.observer_views.collect(index_of(observer), sight);
    REQUIRE(sight.positions.size() == 2);
    CHECK(sight.positions[0].x == 10);
    CHECK(sight.positions[0].y == 30);
    REQUIRE(sight.outer.size() == 2);
    CHECK(sight.outer[0].z == 30);
    CHECK(sight.outer[1].x == 1);
    CHECK(sight.outer[1].z == 3);
    const ScanInput input = parts.observer_views.input_of(index_of(observer), sight);
    CHECK(input.context.outer_positions.data() == sight.outer.data());
}

}  // namespace purview::test::observer_views_test
