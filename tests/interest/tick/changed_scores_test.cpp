// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/changed_scores.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::changed_scores_test {

namespace {

Rules measuring(Rules rules) {
    rules.measure_scores = true;
    return rules;
}

/// Scores depend on the distance to one position only: computed for many observers together.
Rules by_distance() {
    Rules rules = random_rules();
    rules.nodes.clear();
    rules.node("near").add(within(30));
    rules.node("all").members = Members::bound;
    rules.kinds[2].nodes = {id_at<NodeId>(1)};
    return rules;
}

/// Compares every score of the tick with a query. Every relevant cull group that moved must be
/// among them. Returns the number of scores.
std::size_t check_scores(InterestParts& parts, const RandomEdits& edits,
                         const std::set<EntityId>& changed) {
    std::size_t count = 0;
    for (const ObserverId id : edits.live()) {
        const Scores scores = parts.changed_scores.changed_scores(id);
        REQUIRE(scores.entities.size() == scores.score.size());
        std::map<std::uint32_t, float> found;
        for (std::size_t i = 0; i < scores.entities.size(); ++i)
            REQUIRE(found.emplace(scores.entities[i], scores.score[i]).second);
        const std::vector<EntityId> relevant = parts.relevant(id);
        std::vector<float> score(relevant.size());
        parts.answers.score(id, relevant, score);
        std::size_t listed = 0;
        for (std::size_t i = 0; i < relevant.size(); ++i) {
            CAPTURE(index_of(relevant[i]));
            const auto at = found.find(index_of(relevant[i]));
            if (changed.contains(parts.lookup.unit_of(relevant[i]))) REQUIRE(at != found.end());
            if (at == found.end()) continue;
            ++listed;
            REQUIRE(at->second == doctest::Approx(score[i]).epsilon(1e-5));
        }
        REQUIRE(listed == found.size());  // no others have a score
        count += listed;
    }
    return count;
}

void check_random(const Rules& rules, bool splits) {
    std::size_t count = 0;
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        CAPTURE(seed);
        InterestParts parts(rules);
        RandomEdits edits(parts, seed, splits);
        for (int tick = 0; tick < 60; ++tick) {
            if (rules.nodes.size() > 2) edits.edit_all(4);
            std::set<EntityId> changed;
            for (const EntityId unit : edits.units()) {
                if (!edits.random.chance(0.3F)) continue;
                // A cull group without a position does not move.
                if (!parts.stores.table.will_be_positioned(parts.slot(unit))) continue;
                REQUIRE(parts.positions.move(unit, edits.place()) == Status::ok);
                changed.insert(unit);
            }
            parts.tick();
            count += check_scores(parts, edits, changed);
        }
    }
    CHECK(count > 1'000);
}

}  // namespace

TEST_CASE("changed scores: scores of a tick equal a query after random edits") {
    check_random(measuring(random_rules()), false);
}

TEST_CASE("changed scores: scores by distance, computed together, equal a query") {
    const Rules rules = measuring(by_distance());
    InterestParts parts(rules);
    REQUIRE(parts.stores.program.nearness_m > 0);
    check_random(rules, false);
}

TEST_CASE("changed scores: scores of partly split groups equal a query") {
    check_random(measuring(random_rules()), true);
}

TEST_CASE("changed scores: with a minimum relevance time they are computed late") {
    Rules rules = measuring(random_rules());
    rules.minimum_relevance_ticks = 5;
    InterestParts parts(rules);
    parts.changed_scores.begin_changed();
    CHECK(parts.changed_scores.is_late());
    check_random(rules, false);
}

TEST_CASE("changed scores: there are none without a change or without measuring") {
    for (const bool measures : {true, false}) {
        InterestParts parts(measures ? measuring(by_distance()) : by_distance());
        const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 55);
        const ObserverId observer = parts.watch(viewpoint);
        parts.tick();
        CHECK(parts.changed_scores.changed_scores(observer).entities.size() == (measures ? 2 : 0));
        parts.tick();
        CHECK(parts.changed_scores.changed_scores(observer).entities.empty());
        REQUIRE(parts.positions.move(one, {65, 50, 0}) == Status::ok);
        parts.tick();
        const Scores scores = parts.changed_scores.changed_scores(observer);
        REQUIRE(scores.entities.size() == (measures ? 1 : 0));
        if (measures)
            CHECK(scores.score[0] == doctest::Approx(0.75));  // halfway to 0 at twice the radius
        CHECK(parts.changed_scores.changed_scores(make_observer_id(9, 1)).entities.empty());
    }
}

}  // namespace purview::test::changed_scores_test
