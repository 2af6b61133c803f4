// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/engine.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::engine_test {

namespace {

struct World {
    explicit World(std::uint64_t seed, const Rules& rules = random_rules())
        : engine(rules, LogSink::none()), edits(engine, seed) {}
    void step(int count = 6) {
        edits.edit_all(count);
        engine.tick(visibility);
    }
    InterestEngine engine;
    EngineEdits edits;
    InterestManager visibility{Rules()};
};

using Sets = std::map<ObserverId, std::vector<EntityId>>;

Sets relevant_sets(const World& world) {
    Sets out;
    for (const ObserverId observer : world.edits.live()) {
        std::vector<EntityId>& its = out[observer];
        world.engine.relevance.for_each_relevant(index_of(observer),
                                                 [&](EntityId e) { its.push_back(e); });
        std::sort(its.begin(), its.end());
    }
    return out;
}

/// The events as text, without their order.
std::multiset<std::string> event_texts(const InterestEngine& engine) {
    std::multiset<std::string> out;
    for (const InterestEvent& event : engine.events()) {
        out.insert(std::to_string(static_cast<std::uint64_t>(event.entity)) + " " +
                   std::to_string(index_of(event.observer)) + " " +
                   std::string(to_string(event.reason)) + (event.enter ? " in" : " out"));
    }
    return out;
}

Rules other_rules() {
    Rules rules = random_rules();
    Kernel& near = rules.nodes[0].steps[0];
    near.enter = near.leave = 30;
    near.range = RangeFrom::kernel;
    rules.nodes[0].steps.resize(1);  // without the subtracted flag
    for (std::size_t n = 1; n < 4; ++n) rules.nodes[n].enabled = false;
    return rules;
}

}  // namespace

TEST_CASE("engine: a trial of rules leaves the engine as it is") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        World tries(seed), twin(seed);
        for (int tick = 0; tick < 30; ++tick) {
            tries.step();
            twin.step();
            const Sets before = relevant_sets(tries);
            const std::uint64_t scanned = tries.engine.counters().windows_scanned;
            const std::uint64_t queried = tries.engine.pairs_queried();
            (void)tries.engine.try_rules(other_rules(), tries.visibility, ~std::size_t{0});
            REQUIRE(relevant_sets(tries) == before);
            REQUIRE(tries.engine.counters().windows_scanned == scanned);
            REQUIRE(tries.engine.pairs_queried() == queried);
            const auto l = tries.engine.events(), r = twin.engine.events();
            REQUIRE(std::equal(l.begin(), l.end(), r.begin(), r.end()));
        }
        CHECK(tries.engine.rules().nodes[0].steps[0].enter == 20);
    }
}

TEST_CASE("engine: a trial lists the pairs that the rules would add and remove") {
    std::size_t gains = 0, losses = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        World wanted(seed), kept(seed);
        for (int tick = 0; tick < 10; ++tick) {
            wanted.step();
            kept.step();
        }
        wanted.edits.edit_all(4);  // edits since the last tick count as well
        kept.edits.edit_all(4);
        const RuleTrial trial =
            wanted.engine.try_rules(other_rules(), wanted.visibility, ~std::size_t{0});
        REQUIRE(trial.problem.empty());
        CHECK(trial.observers_skipped == 0);
        REQUIRE(wanted.engine.live_rules.set_rules(other_rules()).empty());
        wanted.step(0);
        kept.step(0);
        const Sets then = relevant_sets(wanted), now = relevant_sets(kept);
        std::set<std::pair<ObserverId, EntityId>> added, removed;
        std::size_t pairs_then = 0, pairs_now = 0;
        for (const auto& [observer, its] : then) {
            pairs_then += its.size();
            for (const EntityId entity : its) added.emplace(observer, entity);
        }
        for (const auto& [observer, its] : now) {
            pairs_now += its.size();
            for (const EntityId entity : its) {
                if (added.erase({observer, entity}) == 0) removed.emplace(observer, entity);
            }
        }
        CHECK(trial.pairs_then == pairs_then);
        CHECK(trial.pairs_now == pairs_now);
        for (const RuleTrial::Pair& pair : trial.gains)
            CHECK(added.erase({pair.observer, pair.entity}) == 1);
        for (const RuleTrial::Pair& pair : trial.losses)
            CHECK(removed.erase({pair.observer, pair.entity}) == 1);
        CHECK(added.empty());
        CHECK(removed.empty());
        gains += trial.gains.size();
        losses += trial.losses.size();
    }
    CHECK(gains > 10);
    CHECK(losses > 10);
}

TEST_CASE("engine: a trial with a low pair limit leaves observers out") {
    World world(4);
    world.step();
    std::uint32_t ready = 0;
    for (const ObserverId observer : world.edits.live())
        ready += world.engine.answers.is_ready(observer) ? 1 : 0;
    REQUIRE(ready > 1);
    const RuleTrial one = world.engine.try_rules(other_rules(), world.visibility, 1);
    CHECK(one.observers_evaluated == 1);
    CHECK(one.observers_skipped == ready - 1);
    Rules unsound = other_rules();
    unsound.nodes[0].steps[0].enter = -1;
    CHECK_FALSE(world.engine.try_rules(unsound, world.visibility, 100).problem.empty());
}

TEST_CASE("engine: results do not depend on the lanes of entities") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        World plain(seed), shuffled(seed);
        shuffled.engine.shuffle.cells = 20;
        for (int tick = 0; tick < 40; ++tick) {
            plain.step();
            shuffled.step();
            REQUIRE(relevant_sets(plain) == relevant_sets(shuffled));
            REQUIRE(event_texts(plain.engine) == event_texts(shuffled.engine));
        }
    }
}

TEST_CASE("engine: a tick equals the tick of the parts that other tests use") {
    for (const bool measures : {false, true}) {
        Rules rules = random_rules();
        rules.measure_scores = measures;
        rules.count_observers = true;
        World world(6, rules);
        InterestParts parts(rules);
        RandomEdits edits(parts, 6);
        for (int tick = 0; tick < 60; ++tick) {
            world.step();
            edits.edit_all(6);
            parts.tick();
            REQUIRE(relevant_sets(world) == parts.all_relevant());
            const std::span<const InterestEvent> l = world.engine.events(),
                                                 r = parts.stores.events.all();
            REQUIRE(std::equal(l.begin(), l.end(), r.begin(), r.end()));
            const auto rebound = world.engine.rebound();
            const auto& of_parts = parts.stores.rebound.last;
            REQUIRE(std::equal(rebound.begin(), rebound.end(), of_parts.begin(), of_parts.end()));
        }
    }
}

TEST_CASE("engine: events are found by observer, and counts of relevant entities agree") {
    World world(8);
    std::size_t events = 0;
    for (int tick = 0; tick < 40; ++tick) {
        world.step();
        std::map<ObserverId, std::size_t> by_observer;
        for (const InterestEvent& event : world.engine.events()) ++by_observer[event.observer];
        for (const ObserverId observer : world.edits.live()) {
            for (const InterestEvent& event : world.engine.events_of(observer))
                REQUIRE(event.observer == observer);
            REQUIRE(world.engine.events_of(observer).size() == by_observer[observer]);
            REQUIRE(relevant_count(world.engine, observer) ==
                    relevant_sets(world).at(observer).size());
        }
        events += world.engine.events().size();
    }
    CHECK(events > 50);
    const ObserverId unknown = make_observer_id(40, 1);
    CHECK(world.engine.events_of(unknown).empty());
    CHECK(relevant_count(world.engine, unknown) == 0);
}

TEST_CASE("engine: events have the user data of their entity and observer") {
    World world(2);
    world.step(0);
    for (const EntityId entity : world.edits.known())
        world.engine.caller.user_data.entities.set(entity, 100 + index_of(entity));
    for (const ObserverId observer : world.edits.live())
        world.engine.caller.user_data.observers.set(observer, 200 + index_of(observer));
    REQUIRE(world.engine.overrides.show_to_all(world.edits.any(), true) == Status::ok);
    for (const ObserverId observer : world.edits.live())
        REQUIRE(world.engine.observers.set_unculled(observer, true) == Status::ok);
    world.step(0);
    REQUIRE_FALSE(world.engine.events().empty());
    for (const InterestEvent& event : world.engine.events()) {
        CHECK(event.entity_data == 100 + index_of(event.entity));
        CHECK(event.observer_data == 200 + index_of(event.observer));
    }
}

}  // namespace purview::test::engine_test
