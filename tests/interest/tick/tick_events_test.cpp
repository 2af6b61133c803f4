// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/tick_events.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::tick_events_test {

TEST_CASE("tick events: applying the events of each tick gives the relevant sets") {
    for (const std::uint32_t minimum : {0U, 3U}) {
        Rules rules = random_rules();
        rules.minimum_relevance_ticks = minimum;
        std::set<Reason> reasons;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            CAPTURE(seed);
            InterestParts parts(rules);
            RandomEdits edits(parts, seed);
            std::map<ObserverId, std::vector<EntityId>> mirror;
            for (int tick = 0; tick < 60; ++tick) {
                edits.edit_all(6);
                parts.tick();
                std::uint32_t last_observer = 0;
                bool was_enter = false;
                for (const InterestEvent& event : parts.stores.events.all()) {
                    // Ordered by observer, leaves before enters.
                    const std::uint32_t o = index_of(event.observer);
                    REQUIRE(last_observer <= o);
                    if (o != last_observer) was_enter = false;
                    REQUIRE((event.enter || !was_enter));
                    last_observer = o;
                    was_enter = event.enter;
                    reasons.insert(event.reason);
                    std::vector<EntityId>& its = mirror[event.observer];
                    if (event.enter) {
                        REQUIRE(std::find(its.begin(), its.end(), event.entity) == its.end());
                        its.push_back(event.entity);
                    } else {
                        REQUIRE(std::erase(its, event.entity) == 1);
                    }
                }
                std::map<ObserverId, std::vector<EntityId>> expected = parts.all_relevant();
                std::erase_if(expected, [](const auto& one) { return one.second.empty(); });
                for (auto& [observer, its] : mirror) std::sort(its.begin(), its.end());
                std::erase_if(mirror, [](const auto& one) { return one.second.empty(); });
                REQUIRE(mirror == expected);
                REQUIRE(parts.stores.changes.empty());
                REQUIRE(parts.stores.events.pending().empty());
            }
        }
        for (const Reason reason :
             {Reason::entered, Reason::spawned, Reason::owned, Reason::forced, Reason::left,
              Reason::hidden, Reason::despawned, Reason::disconnected}) {
            CAPTURE(to_string(reason));
            CHECK(reasons.contains(reason));
        }
    }
}

namespace {

struct Near {
    explicit Near(const Rules& rules = random_rules()) : parts(rules) {
        viewpoint = parts.spawn(0, 50);
        one = parts.spawn(1, 55);
        observer = parts.watch(viewpoint);
        REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
        parts.tick();
    }
    void move_to(float x) { REQUIRE(parts.positions.move(one, {x, 50, 0}) == Status::ok); }
    std::size_t events() {
        parts.tick();
        return parts.stores.events.all().size();
    }
    InterestParts parts;
    EntityId viewpoint{}, one{};
    ObserverId observer{};
};

}  // namespace

TEST_CASE("tick events: opposite changes of spatial and explicit relevance cancel") {
    Near near;
    // Leaving the range and an allow in the same tick cause no event. The reverse causes none
    // either.
    near.move_to(95);
    Overrides& overrides = near.parts.overrides;
    REQUIRE(overrides.edit_pair(near.observer, near.one, PairMark::allow, true) == Status::ok);
    CHECK(near.events() == 0);
    CHECK(near.parts.relevant(near.observer).size() == 2);
    near.move_to(55);
    REQUIRE(overrides.edit_pair(near.observer, near.one, PairMark::allow, false) == Status::ok);
    CHECK(near.events() == 0);
    CHECK(near.parts.relevant(near.observer).size() == 2);
    // Attached and detached within one tick.
    near.parts.attach(near.one, near.viewpoint);
    REQUIRE(near.parts.groups.leave_unit(near.one, {.position = {55, 50, 0}}, false) == Status::ok);
    CHECK(near.events() == 0);
}

TEST_CASE("tick events: a range change of an explicitly relevant entity has no event") {
    Near near;
    REQUIRE(near.parts.overrides.show_to_all(near.one, true) == Status::ok);
    CHECK(near.events() == 0);
    near.move_to(95);
    CHECK(near.events() == 0);
    near.move_to(55);
    CHECK(near.events() == 0);
    CHECK(near.parts.explicit_relevance.in_window(index_of(near.observer), near.one));
}

TEST_CASE("tick events: a despawned entity and a new one at its index have one event each") {
    Near near;
    REQUIRE(near.parts.entities.despawn(near.one) == Status::ok);
    EntityDef def;
    def.position = {52, 50, 0};
    const EntityId next = near.parts.spawn(1, def, 2);
    REQUIRE(near.events() == 2);
    const auto events = near.parts.stores.events.all();
    CHECK(events[0].entity == near.one);
    CHECK(events[0].reason == Reason::despawned);
    CHECK(events[1].entity == next);
    CHECK(events[1].reason == Reason::spawned);
}

TEST_CASE("tick events: the minimum relevance time starts only for matches of nodes") {
    Rules rules = random_rules();
    rules.minimum_relevance_ticks = 10;
    Near near(rules);
    const MinimumRelevance& minimum = near.parts.stores.minimum_relevance;
    CHECK(minimum.find(index_of(near.observer), near.one) != nullptr);
    // An allowed entity starts none.
    const EntityId far = near.parts.spawn(2, 95, 95);
    REQUIRE(near.parts.overrides.edit_pair(near.observer, far, PairMark::allow, true) ==
            Status::ok);
    CHECK(near.events() == 1);
    CHECK(minimum.find(index_of(near.observer), far) == nullptr);
    Near without;
    CHECK(without.parts.stores.minimum_relevance.size() == 0);
}

}  // namespace purview::test::tick_events_test
