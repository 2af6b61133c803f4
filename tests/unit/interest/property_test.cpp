// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "oracle_run.hpp"

namespace purview::test {

namespace {

// Sanitizers make everything some thirty times as slow; a build with them looks at less.
#ifdef PURVIEW_SANITIZED
constexpr std::uint32_t part = 25;
#else
constexpr std::uint32_t part = 1;
#endif

constexpr std::uint32_t worlds = 1'000;
constexpr std::uint64_t compared_min = 100'000'000;
constexpr std::uint64_t each_operation_min = 1'000;
constexpr std::size_t rule_trees_min = 300;

void report_failure(const RunResult& result) {
    REQUIRE_MESSAGE(result.failure.empty(), result.failure,
                    "\nto see it again, and smaller: ", "purview_property --seed ",
                    result.failed_seed, " --reduce");
}

}  // namespace

TEST_CASE(
    "interest: sets, events, reasons, counts, strengths and explanations of random worlds equal "
    "the oracle in every tick (N14 N15 N16 N17 N39 N40 N41 N46 N48 N50 N51 N54 F4 F12 P21 M11 "
    "M34)") {
    RunDef def;
    def.worlds = worlds / part;
    def.compared_min = compared_min / part;
    const RunResult result = run_worlds(def);
    report_failure(result);
    MESSAGE(result.text());
    REQUIRE(result.worlds >= worlds / part);
    REQUIRE(result.compared >= compared_min / part);
    REQUIRE(result.shapes.size() >= rule_trees_min / part);
    REQUIRE(result.relevant_percent() >= 10);
    REQUIRE(result.relevant_percent() <= 90);
    for (const auto& done : result.operations)
        REQUIRE_MESSAGE(done.second >= each_operation_min / part, "too few of ", done.first);
}

TEST_CASE(
    "interest: explain agrees with the set, and every change that it suggests turns the answer") {
    RunDef def;
    def.first_seed = 500'001;
    def.worlds = 130 / part + 1;
    def.ticks = 30;
    def.explain_pairs = 3;
    const RunResult result = run_worlds(def);
    report_failure(result);
    MESSAGE(result.explained << " explained, " << result.turned_by_pair << " turned by a pair, "
                             << result.explained_without_change << " without a change; "
                             << result.turned_mixed << " in groups with split members, "
                             << result.turned_mixed_by_pair << " of them by a pair");
    CHECK(result.turned_by.size() >= 10);  // every type of change turned some answer
    for (const auto& [type, count] : result.turned_by) CHECK(count >= 10 / part);
    CHECK(result.turned_by_pair >= 10 / part);
    CHECK(result.turned_mixed >= 100 / part);
    CHECK(result.turned_mixed_by_pair >= 3 / part);
}

TEST_CASE(
    "interest: push equals pull while crowds come and go, and blocks with them, around "
    "observers that rest") {
    constexpr std::uint32_t crowds = 10, each = 120, observers = 300;
    constexpr float side = 400, near = 45;
    const auto make = [](WindowUpdate update) {
        InterestDef def;
        def.window_update = update;
        def.rules.bounds_max = {side, side, 0};
        def.rules.cell_m = 40;
        def.rules.nodes = {{"near", NodeType::grid, {add(within(near))}}};
        return InterestManager(std::move(InterestManager::create(def)).value());
    };
    InterestManager pull = make(WindowUpdate::pull), push = make(WindowUpdate::push);
    SplitMix random(77);
    const auto anywhere = [&] { return Vec3{random.between(0, side), random.between(0, side), 0}; };
    std::vector<Vec3> places;
    for (std::uint32_t i = 0; i < crowds * each; ++i) {
        places.push_back(anywhere());
        for (InterestManager* manager : {&pull, &push})
            REQUIRE(manager->spawn(make_entity_id(i, 1), {.place = places[i]}) == Status::ok);
    }
    std::vector<ObserverId> ids;
    std::vector<Vec3> looks_from;
    for (std::uint32_t o = 0; o < observers; ++o) {
        const Vec3 at = anywhere();
        looks_from.push_back(at);
        for (InterestManager* manager : {&pull, &push}) {
            const ObserverId id = *manager->add_observer();
            REQUIRE(manager->set_area(id, 0, at) == Status::ok);
            REQUIRE(manager->set_ready(id, true) == Status::ok);
            if (manager == &push) ids.push_back(id);
        }
    }
    std::vector<EntityId> expected, got;
    std::uint64_t relevant = 0;
    for (std::uint32_t tick = 0; tick < 400; ++tick) {
        // One crowd at a time gathers in a spot of its own, for a while.
        const std::uint32_t crowd = random.below(crowds);
        const Vec3 spot{random.between(30, side - 30), random.between(30, side - 30), 0};
        for (std::uint32_t i = crowd * each; i < (crowd + 1) * each; ++i) {
            places[i] = {spot.x + random.between(-25, 25), spot.y + random.between(-25, 25), 0};
            for (InterestManager* manager : {&pull, &push})
                REQUIRE(manager->move(make_entity_id(i, 1), places[i]) == Status::ok);
        }
        // Some look from nearby: most of their windows stay as they are, cells at the rim come
        // near.
        for (std::uint32_t o = tick % 10; o < observers; o += 10) {
            Vec3& at = looks_from[o];
            at.x += random.between(-4, 4);
            at.y += random.between(-4, 4);
            for (InterestManager* manager : {&pull, &push})
                REQUIRE(manager->set_area(ids[o], 0, at) == Status::ok);
        }
        pull.tick();
        push.tick();
        for (const ObserverId id : ids) {
            expected.clear();
            got.clear();
            pull.relevant(id, expected);
            push.relevant(id, got);
            std::sort(expected.begin(), expected.end());
            std::sort(got.begin(), got.end());
            REQUIRE_MESSAGE(got == expected, "tick ", tick, ", observer ", index_of(id));
            relevant += got.size();
        }
    }
    CHECK(relevant > 100'000);
}

TEST_CASE(
    "interest: push wakes an observer whose window holds a cell that is out of reach only from "
    "where it stands now") {
    InterestDef def;
    def.window_update = WindowUpdate::push;
    def.rules.bounds_max = {400, 400, 0};
    def.rules.cell_m = 40;
    def.rules.nodes = {{"near", NodeType::grid, {add(within(45))}}};
    InterestManager manager(std::move(InterestManager::create(def)).value());
    // The block of cell [0, 40) x [0, 40) is full.
    for (std::uint32_t i = 0; i < 16; ++i)
        REQUIRE(manager.spawn(make_entity_id(i, 1), {.place = {5, 5, 0}}) == Status::ok);
    const ObserverId observer = *manager.add_observer();
    REQUIRE(manager.set_area(observer, 0, {74, 74, 0}) == Status::ok);
    REQUIRE(manager.set_ready(observer, true) == Status::ok);
    for (int tick = 0; tick < 3; ++tick) manager.tick();
    // The next gets another block, 48.8 m away; the observer's box begins 43.1 m away.
    const EntityId late = make_entity_id(16, 1);
    REQUIRE(manager.spawn(late, {.place = {39.5F, 39.5F, 0}}) == Status::ok);
    manager.tick();
    CHECK(!manager.is_relevant(observer, late));
    REQUIRE(manager.set_area(observer, 0, {70.5F, 70.5F, 0}) == Status::ok);
    manager.tick();
    CHECK(manager.is_relevant(observer, late));
}

}  // namespace purview::test
