// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/observer_edits.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::observer_edits_test {

namespace {

constexpr KeyId key0 = id_at<KeyId>(0), key1 = id_at<KeyId>(1), key_out = id_at<KeyId>(2);

/// The observer's keys of domain 0: the key of its viewpoint or its own, and extra keys.
std::set<std::uint64_t> keys_of(const InterestParts& parts, ObserverId id) {
    const Observer& observer = parts.stores.observers[index_of(id)];
    std::set<std::uint64_t> out;
    const Key first = observer.main == EntityId::none ? observer.own_keys[0]
                                                      : parts.lookup.key_of(observer.main, key0);
    if (first != Key::none) out.insert(index_of(first));
    for (const DomainKey& more : parts.stores.observers.more_keys(index_of(id))) {
        if (more.domain == key0) out.insert(index_of(more.key));
    }
    if (observer.main == EntityId::none) return out;
    for (const DomainKey& more : parts.stores.facts_table.more_keys.of(index_of(observer.main))) {
        if (more.domain == key0) out.insert(index_of(more.key));
    }
    return out;
}

}  // namespace

TEST_CASE("observer edits: each observer reads the shared groups of its keys") {
    std::size_t rows_read = 0;
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int step = 0; step < 400; ++step) {
            edits.edit();
            if (step % 10 == 0) parts.tick();
            for (const ObserverId id : edits.live()) {
                const std::uint32_t o = index_of(id);
                std::set<std::uint64_t> found;
                for (const SourceRow at : parts.stores.observers[o].rows) {
                    REQUIRE(at.source == 0);
                    const Row& row = parts.stores.rows[0].row(at.row);
                    REQUIRE(found.insert(row.key).second);
                    REQUIRE(std::count(row.observers.begin(), row.observers.end(), o) == 1);
                }
                REQUIRE(found == keys_of(parts, id));
                for (std::uint16_t key = 1; key < 4; ++key)
                    REQUIRE(parts.observers.has_key(id, key0, Key{key}) == found.contains(key));
                rows_read += found.size();
            }
        }
    }
    CHECK(rows_read > 10'000);
}

TEST_CASE("observer edits: unknown ids, keys and numbers out of range are refused") {
    Rules rules = random_rules();
    rules.observers_max = 2;
    InterestParts parts(rules);
    ObserverEdits& observers = parts.observers;
    const ObserverId one = parts.watch(), other = parts.watch();
    CHECK(observers.add_observer().error() == Status::capacity);
    REQUIRE(observers.remove_observer(other) == Status::ok);
    const EntityId gone = make_entity_id(3, 1);
    CHECK(observers.set_viewpoint(one, gone) == Status::stale_id);
    CHECK(observers.set_observer_key(one, key_out, Key{1}) == Status::bad_argument);
    CHECK(observers.edit_more_observer_keys(one, key_out, Key{1}, true) == Status::bad_argument);
    CHECK(observers.edit_more_observer_keys(one, key0, Key::none, true) == Status::bad_argument);
    CHECK(observers.edit_more_observer_keys(one, key0, Key{1}, false) == Status::not_found);
    CHECK(observers.set_observer_range(one, 61) == Status::bad_argument);
    CHECK(observers.set_observer_range(one, NAN) == Status::bad_argument);
    CHECK(observers.set_lookahead(one, 11) == Status::bad_argument);
    CHECK(observers.set_lookahead(one, -1) == Status::bad_argument);
    CHECK_FALSE(observers.has_key(one, key_out, Key{1}));
    CHECK_FALSE(observers.has_key(one, key0, Key::none));
    CHECK(observers.remove_observer(other) == Status::stale_id);
    CHECK(observers.set_ready(other, true) == Status::stale_id);
    CHECK(observers.set_viewpoint(other, EntityId::none) == Status::stale_id);
    CHECK(observers.set_area(other, 0, Area::at({})) == Status::stale_id);
    CHECK(observers.set_areas(other, {}) == Status::stale_id);
    CHECK(observers.remove_area(other, 0) == Status::stale_id);
    CHECK(observers.set_observer_key(other, key0, Key{1}) == Status::stale_id);
    CHECK(observers.edit_more_observer_keys(other, key0, Key{1}, true) == Status::stale_id);
    CHECK(observers.set_observer_range(other, 1) == Status::stale_id);
    CHECK(observers.set_lookahead(other, 1) == Status::stale_id);
    CHECK(observers.set_unculled(other, true) == Status::stale_id);
    CHECK(observers.rescan(other) == Status::stale_id);
    CHECK(observers.viewpoint(other) == EntityId::none);
    CHECK(observers.keys_revision(other) == 0);
    // The index is free after the tick, with another generation.
    parts.tick();
    const ObserverId next = parts.watch();
    CHECK(index_of(next) == index_of(other));
    CHECK(next != other);
}

TEST_CASE("observer edits: areas are validated together before any of them changes") {
    Rules rules = random_rules();
    rules.areas_max = 2;
    InterestParts parts(rules);
    ObserverEdits& observers = parts.observers;
    const ObserverId one = parts.watch();
    const auto status = [&](const Area& area) { return observers.set_area(one, 0, area); };
    CHECK(status(Area::at({NAN, 0, 0})) == Status::bad_position);
    CHECK(status(Area::sphere({}, 0)) == Status::bad_argument);
    CHECK(status(Area::sphere({}, 2e18F)) == Status::bad_argument);
    CHECK(status(Area::box({}, {-1, 1, 0})) == Status::bad_argument);
    CHECK(status(Area::box({}, {1, 1, -1})) == Status::ok);  // that axis is not in use
    CHECK(status(Area::cone({}, {0, 0, 1}, 30, 10)) == Status::bad_argument);
    CHECK(status(Area::cone({}, {1, 0, 0}, 180, 10)) == Status::bad_argument);
    CHECK(status(Area::at({}).following(make_entity_id(5, 1))) == Status::stale_id);
    const auto& areas = parts.stores.observers[index_of(one)].areas;
    REQUIRE(areas.size() == 1);
    const std::array good{Area::at({1, 2, 0}), Area::sphere({3, 4, 0}, 5)};
    const std::array bad{Area::at({9, 9, 0}), Area::sphere({3, 4, 0}, -5)};
    const std::array many{good[0], good[1], good[0]};
    REQUIRE(observers.set_areas(one, good) == Status::ok);
    const auto before = areas;
    CHECK(observers.set_areas(one, bad) == Status::bad_argument);
    CHECK(observers.set_areas(one, many) == Status::capacity);
    CHECK(observers.set_area(one, 7, good[0]) == Status::capacity);
    CHECK(areas == before);
    CHECK(observers.set_areas(one, std::span(good).first(1)) == Status::ok);
    CHECK(areas.size() == 1);
    CHECK(observers.remove_area(one, 1) == Status::not_found);
    CHECK(observers.remove_area(one, 0) == Status::ok);
}

TEST_CASE("observer edits: an area ends after its ticks, or with the entity it follows") {
    InterestParts parts(random_rules());
    const EntityId leader = parts.spawn(0, 50);
    const ObserverId one = parts.watch();
    Area timed = Area::at({1, 1, 0});
    timed.ticks = 3;
    REQUIRE(parts.observers.set_area(one, 0, timed) == Status::ok);
    REQUIRE(parts.observers.set_area(one, 1, Area::at({}).following(leader)) == Status::ok);
    const auto& areas = parts.stores.observers[index_of(one)].areas;
    for (int tick = 0; tick < 3; ++tick) {
        parts.tick();
        CHECK(areas.size() == 2);
    }
    parts.tick();
    REQUIRE(areas.size() == 1);
    CHECK(areas[0].key == 1);
    REQUIRE(parts.entities.despawn(leader) == Status::ok);
    parts.tick();
    CHECK(areas.empty());
}

TEST_CASE("observer edits: with single areas an area replaces all others") {
    Rules rules = random_rules();
    rules.single_area = true;
    InterestParts parts(rules);
    const ObserverId one = parts.watch();
    REQUIRE(parts.observers.set_area(one, 3, Area::at({1, 1, 0})) == Status::ok);
    REQUIRE(parts.observers.set_area(one, 5, Area::at({2, 2, 0})) == Status::ok);
    const auto& areas = parts.stores.observers[index_of(one)].areas;
    REQUIRE(areas.size() == 1);
    CHECK(areas[0].key == 5);
}

TEST_CASE("observer edits: readiness waits for a viewpoint where the rules require one") {
    Rules rules = random_rules();
    rules.ready_requires_viewpoint = true;
    InterestParts parts(rules);
    const EntityId viewpoint = parts.spawn(0, 50);
    const ObserverId one = parts.watch();
    CHECK_FALSE(parts.answers.is_ready(one));
    REQUIRE(parts.observers.set_viewpoint(one, viewpoint) == Status::ok);
    CHECK(parts.answers.is_ready(one));
    parts.tick();
    CHECK(parts.relevant(one) == std::vector{viewpoint});
    // A despawned viewpoint counts as none.
    REQUIRE(parts.entities.despawn(viewpoint) == Status::ok);
    CHECK(parts.observers.viewpoint(one) == EntityId::none);
    CHECK_FALSE(parts.answers.is_ready(one));
    parts.tick();
    REQUIRE(parts.stores.events.all().size() == 1);
    CHECK_FALSE(parts.stores.events.all()[0].enter);
}

TEST_CASE("observer edits: own keys count only without a viewpoint, extra keys always") {
    InterestParts parts(random_rules());
    EntityDef def;
    const std::array keys{Key{5}, Key{6}};
    def.keys = keys;
    const EntityId viewpoint = parts.spawn(0, def);
    const ObserverId one = parts.watch();
    const auto has = [&](KeyId domain, std::uint16_t key) {
        return parts.observers.has_key(one, domain, Key{key});
    };
    REQUIRE(parts.observers.set_observer_key(one, key0, Key{1}) == Status::ok);
    REQUIRE(parts.observers.edit_more_observer_keys(one, key1, Key{2}, true) == Status::ok);
    CHECK(has(key0, 1));
    CHECK(has(key1, 2));
    REQUIRE(parts.observers.set_viewpoint(one, viewpoint) == Status::ok);
    CHECK_FALSE(has(key0, 1));
    CHECK(has(key0, 5));
    CHECK(has(key1, 6));
    CHECK(has(key1, 2));
    REQUIRE(parts.observers.set_viewpoint(one, EntityId::none) == Status::ok);
    CHECK(has(key0, 1));
    CHECK_FALSE(has(key0, 5));
}

TEST_CASE("observer edits: a removed observer has a leave event for each entity") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int tick = 0; tick < 10; ++tick) {
            edits.edit_all(8);
            parts.tick();
        }
        const ObserverId one = edits.observer();
        const std::vector<EntityId> had = parts.relevant(one);
        REQUIRE(parts.observers.remove_observer(one) == Status::ok);
        CHECK(parts.stores.pairs.count_of_observer(index_of(one)) == 0);
        CHECK(parts.stores.observers[index_of(one)].rows.empty());
        parts.tick();
        std::vector<EntityId> left;
        for (const InterestEvent& event : parts.stores.events.all()) {
            if (event.observer != one) continue;
            CHECK_FALSE(event.enter);
            CHECK(event.reason == Reason::disconnected);
            left.push_back(event.entity);
        }
        std::sort(left.begin(), left.end());
        CHECK(left == had);
    }
}

}  // namespace purview::test::observer_edits_test
