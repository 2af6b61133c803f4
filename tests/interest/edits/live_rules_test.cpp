// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/live_rules.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::live_rules_test {

namespace {

Rules other_rules() {
    Rules rules = random_rules();
    rules.nodes[0].steps[0].enter = rules.nodes[0].steps[0].leave = 10;
    rules.nodes[2].enabled = false;
    rules.nodes.erase(rules.nodes.begin() + 3);
    rules.node("flagged").add(id_at<FlagId>(2));
    return rules;
}

/// Rules without hysteresis: the relevant set depends on the present alone.
Rules without_memory(Rules rules) {
    rules.nodes[0].steps[0].leave = rules.nodes[0].steps[0].enter;
    for (NodeDef& node : rules.nodes) {
        if (!node.steps.empty() && node.steps[0].type == KernelType::area) node.steps[0].leave = 0;
    }
    return rules;
}

}  // namespace

TEST_CASE("live rules: changing rules and restoring them gives the same relevant sets") {
    std::size_t different = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        const Rules first = without_memory(random_rules()), second = without_memory(other_rules());
        InterestParts parts(first);
        RandomEdits edits(parts, seed);
        for (int round = 0; round < 10; ++round) {
            edits.edit_all(10);
            parts.tick();
            parts.tick();  // timed areas end
            const auto before = parts.all_relevant();
            const Tick tick = parts.stores.tick;
            REQUIRE(parts.live_rules.set_rules(second).empty());
            // No area ends in these ticks.
            for (Observer& observer : parts.stores.observers) {
                for (KeyedArea& area : observer.areas) area.ends = area.ends == 0 ? 0 : tick + 9;
            }
            parts.tick();
            different += parts.all_relevant() != before ? 1 : 0;
            REQUIRE(parts.live_rules.set_rules(first).empty());
            parts.tick();
            REQUIRE(parts.all_relevant() == before);
        }
    }
    CHECK(different > 50);
}

TEST_CASE("live rules: relevant sets equal those of a new engine with the same rules") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        const Rules second = without_memory(other_rules());
        InterestParts live(without_memory(random_rules())), fresh(second);
        RandomEdits live_edits(live, seed), fresh_edits(fresh, seed);
        for (int round = 0; round < 6; ++round) {
            live_edits.edit_all(15);
            fresh_edits.edit_all(15);
            live.tick();
            fresh.tick();
            if (round == 2) REQUIRE(live.live_rules.set_rules(second).empty());
            if (round > 2) REQUIRE(live.all_relevant() == fresh.all_relevant());
        }
        CHECK(live.stores.rules_revision == 2);
        CHECK(fresh.stores.rules_revision == 1);
    }
}

TEST_CASE("live rules: the next tick reports the difference as events") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        edits.edit_all(60);
        parts.tick();
        for (const Rules& rules : {other_rules(), random_rules()}) {
            auto mirror = parts.all_relevant();
            REQUIRE(parts.live_rules.set_rules(rules).empty());
            parts.tick();
            for (const InterestEvent& event : parts.stores.events.all()) {
                std::vector<EntityId>& its = mirror[event.observer];
                if (event.enter) {
                    its.push_back(event.entity);
                } else {
                    REQUIRE(std::erase(its, event.entity) == 1);
                }
            }
            for (auto& [observer, its] : mirror) std::sort(its.begin(), its.end());
            REQUIRE(mirror == parts.all_relevant());
        }
    }
}

TEST_CASE("live rules: invalid rules are refused with a message and change nothing") {
    InterestParts parts(random_rules());
    RandomEdits edits(parts, 3);
    parts.tick();
    const auto before = parts.all_relevant();
    Rules unsound = random_rules();
    unsound.nodes[0].steps[0].enter = -1;
    CHECK_FALSE(parts.live_rules.set_rules(unsound).empty());
    CHECK(parts.stores.rules_revision == 1);
    CHECK(parts.all_relevant() == before);
    parts.tick();
    CHECK(parts.stores.events.all().empty());
}

TEST_CASE("live rules: settings that are fixed at creation do not change") {
    InterestParts parts(random_rules());
    Rules wanted = other_rules();
    wanted.axes = Axes::xyz;
    wanted.max = {5, 5, 5};
    wanted.flag_names.clear();
    wanted.kinds.clear();
    wanted.observers_max = 1;
    wanted.minimum_relevance_ticks = 7;
    wanted.level = InterestLevel::replication;
    const Rules rules = parts.live_rules.with_fixed(wanted);
    CHECK(rules.nodes.size() == wanted.nodes.size());
    CHECK(rules.nodes[0].steps == wanted.nodes[0].steps);
    CHECK(rules.minimum_relevance_ticks == 7);
    CHECK(rules.level == InterestLevel::replication);
    const Rules fixed = random_rules();
    CHECK(rules.axes == fixed.axes);
    CHECK(rules.max == fixed.max);
    CHECK(rules.flag_names.size() == fixed.flag_names.size());
    CHECK(rules.kinds.size() == fixed.kinds.size());
    CHECK(rules.observers_max == fixed.observers_max);
}

TEST_CASE("live rules: below the full level, all that is not hidden is relevant") {
    InterestParts parts(without_memory(random_rules()));
    const EntityId viewpoint = parts.spawn(0, 10), far = parts.spawn(1, 90);
    const EntityId hidden = parts.spawn(2, 90), denied = parts.spawn(3, 90);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.overrides.force_hide(hidden, true) == Status::ok);
    REQUIRE(parts.overrides.edit_pair(observer, denied, PairMark::deny, true) == Status::ok);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{viewpoint});
    for (const InterestLevel level : {InterestLevel::none, InterestLevel::replication}) {
        parts.live_rules.set_level(level);
        parts.tick();
        CHECK(parts.relevant(observer) == std::vector{viewpoint, far});
    }
    parts.live_rules.set_level(InterestLevel::full);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{viewpoint});
    CHECK(parts.stores.events.all().size() == 1);
}

}  // namespace purview::test::live_rules_test
