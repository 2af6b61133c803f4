// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the truth check with correct and incorrect claims, inline and on its own thread.
#include "truth_check.hpp"
#include "core/observer_ids.hpp"

#include <doctest/doctest.h>

namespace purview::test {

namespace {

constexpr std::uint32_t entities = 60;
constexpr Tick ticks = 40;
const ObserverId me = make_observer_id(0, 1);

EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

Rules within_ten_meters() {
    Rules rules;
    NodeDef node;
    node.name = "near";
    node.add(within(10));
    rules.nodes = {node};
    return rules;
}

/// Entities stand in a row, 1 m apart. The observer moves along it, 1 m per tick.
TruthRecord walk(Tick tick) {
    TruthRecord record;
    record.tick = tick;
    record.entities.resize(entities);
    check::TruthObserver observer;
    observer.id = me;
    observer.ready = true;
    observer.areas = {check::TruthArea(Vec3{static_cast<float>(tick), 0, 0})};
    record.observers = {observer};
    TruthClaim claim;
    claim.observer = me;
    for (std::uint32_t i = 0; i < entities; ++i) {
        check::TruthEntity& entity = record.entities[i];
        entity.id = entity.root = id(i);
        entity.position = {static_cast<float>(i), 0, 0};
        if (i + 10 >= tick && i <= tick + 10) claim.relevant.push_back(id(i));
    }
    claim.ghosts = claim.relevant;
    record.claims = {claim};
    return record;
}

/// Adds one wrong claim of each kind. Tick 5: an entity out of range is relevant. Tick 9: an entity
/// in range is not. Tick 20: a ghost is missing. Tick 30: a ghost is left over. Tick 35: one ghost
/// occurs twice, in place of another.
void add_wrong_claims(TruthRecord& record) {
    TruthClaim& claim = record.claims[0];
    if (record.tick == 5) claim.relevant.push_back(id(50));
    if (record.tick == 9) claim.relevant.erase(claim.relevant.begin());
    if (record.tick == 20) claim.ghosts.pop_back();
    if (record.tick == 30) claim.ghosts.push_back(id(0));
    if (record.tick == 35) claim.ghosts.back() = claim.ghosts.front();
}

TruthCheck::Reported report_of(bool apart, bool with_faults) {
    TruthCheck check(within_ten_meters(), 1, {});
    if (apart) check.check_apart({});
    for (Tick tick = 1; tick <= ticks; ++tick) {
        TruthRecord record = walk(tick);
        if (with_faults) add_wrong_claims(record);
        check.tick(std::move(record));
    }
    return check.reported();
}

}  // namespace

TEST_CASE("truth check: server claims are compared inline and on a separate thread") {
    for (const bool apart : {false, true}) {
        CAPTURE(apart);
        const TruthCheck::Reported right = report_of(apart, false);
        CHECK(right.counters.checked == ticks);
        CHECK(right.counters.pairs == ticks * entities);
        CHECK(right.counters.mismatches == 0);
        const TruthCheck::Reported wrong = report_of(apart, true);
        CHECK(wrong.counters.checked == ticks);
        REQUIRE(wrong.mismatches.size() == 6);
        CHECK(wrong.counters.mismatches == 6);
        CHECK(wrong.mismatches[0] ==
              "truth: observer 0, tick 5: entity 50#1 is relevant and must not be");
        CHECK(wrong.mismatches[1] ==
              "truth: observer 0, tick 9: entity 0#1 must be relevant and is not");
        CHECK(wrong.mismatches[2] ==
              "truth: observer 0, tick 20: entity 30#1 is relevant and has no ghost");
        CHECK(wrong.mismatches[3] ==
              "truth: observer 0, tick 30: entity 0#1 has a ghost, and is neither relevant nor "
              "leaving");
        CHECK(wrong.mismatches[4] == "truth: observer 0, tick 35: entity 25#1 has two ghosts");
        CHECK(wrong.mismatches[5] ==
              "truth: observer 0, tick 35: entity 45#1 is relevant and has no ghost");
    }
}

TEST_CASE("truth check: new rules apply from the tick that sets them") {
    TruthCheck check(within_ten_meters(), 1, {});
    check.check_apart({});
    for (Tick tick = 1; tick <= ticks; ++tick) {
        TruthRecord record = walk(tick);
        if (tick == 20) record.rules = Rules{};  // no rules: all entities are relevant
        if (tick >= 20) {
            record.claims[0].relevant.clear();
            for (std::uint32_t i = 0; i < entities; ++i) record.claims[0].relevant.push_back(id(i));
            record.claims[0].ghosts = record.claims[0].relevant;
        }
        check.tick(std::move(record));
    }
    CHECK(check.reported().counters.mismatches == 0);
}

}  // namespace purview::test
