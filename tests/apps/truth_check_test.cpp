// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The truth check itself, with claims that are right and claims that are not: at once and on a
// thread of its own.
#include "truth_check.hpp"

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

/// Entities stand in a row, a metre apart, and the observer walks along it.
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

/// One wrong claim of each sort: tick 5 tells of whom nobody may know, tick 9 keeps somebody back,
/// tick 20 lacks a ghost, tick 30 has one too many, tick 35 has one twice in place of another.
void spoil(TruthRecord& record) {
    TruthClaim& claim = record.claims[0];
    if (record.tick == 5) claim.relevant.push_back(id(50));
    if (record.tick == 9) claim.relevant.erase(claim.relevant.begin());
    if (record.tick == 20) claim.ghosts.pop_back();
    if (record.tick == 30) claim.ghosts.push_back(id(0));
    if (record.tick == 35) claim.ghosts.back() = claim.ghosts.front();
}

TruthCheck::Told told_of(bool apart, bool spoiled) {
    TruthCheck check(within_ten_meters(), 1, {});
    if (apart) check.check_apart({});
    for (Tick tick = 1; tick <= ticks; ++tick) {
        TruthRecord record = walk(tick);
        if (spoiled) spoil(record);
        check.tick(std::move(record));
    }
    return check.told();
}

}  // namespace

TEST_CASE("truth check: what a server says is compared, at once and on a thread of its own") {
    for (const bool apart : {false, true}) {
        CAPTURE(apart);
        const TruthCheck::Told right = told_of(apart, false);
        CHECK(right.counters.checked == ticks);
        CHECK(right.counters.pairs == ticks * entities);
        CHECK(right.counters.mismatches == 0);
        const TruthCheck::Told wrong = told_of(apart, true);
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

TEST_CASE("truth check: rules count from the tick that changes them") {
    TruthCheck check(within_ten_meters(), 1, {});
    check.check_apart({});
    for (Tick tick = 1; tick <= ticks; ++tick) {
        TruthRecord record = walk(tick);
        if (tick == 20) record.rules = Rules{};  // everybody knows everything
        if (tick >= 20) {
            record.claims[0].relevant.clear();
            for (std::uint32_t i = 0; i < entities; ++i) record.claims[0].relevant.push_back(id(i));
            record.claims[0].ghosts = record.claims[0].relevant;
        }
        check.tick(std::move(record));
    }
    CHECK(check.told().counters.mismatches == 0);
}

}  // namespace purview::test
