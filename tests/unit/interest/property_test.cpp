// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "random_world.hpp"

namespace purview::test {

namespace {

void run_worlds(std::uint64_t first_seed, std::uint32_t worlds, std::uint32_t ticks,
                std::uint32_t shuffle_cells) {
    std::uint64_t compared = 0;
    std::uint64_t relevant = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + worlds; ++seed) {
        SplitMix random(seed);
        RandomWorldDef def;
        def.seed = seed;
        def.rules = random_rules(random, def.flags, def.keys);
        def.entities = 20 + random.below(200);
        def.observers = 2 + random.below(8);
        def.step_m = random.chance(0.3F) ? 60.0F : 3.0F;
        def.shuffle_cells = shuffle_cells;
        def.window_update = static_cast<WindowUpdate>(random.below(3));
        def.groups = random.chance(0.5F);
        def.move_chance = random.chance(0.5F) ? 0.4F : 0.05F;
        RandomWorld world(def);
        // Some long enough for blocks that were given up to come back.
        const std::uint32_t end = random.chance(0.1F) ? ticks + 100 : ticks;
        for (std::uint32_t t = 0; t < end; ++t) {
            const std::string wrong = world.step();
            REQUIRE_MESSAGE(wrong.empty(), wrong, ", operations:", world.trace);
        }
        compared += world.pairs_compared;
        relevant += world.pairs_relevant;
    }
    MESSAGE(worlds << " worlds, " << compared << " pairs compared, "
                   << 100.0 * static_cast<double>(relevant) / static_cast<double>(compared)
                   << " % relevant");
    CHECK(relevant > compared / 100);
}

}  // namespace

TEST_CASE("interest: sets and events of random worlds equal the oracle in every tick") {
    run_worlds(1, 300, 60, 0);
}

TEST_CASE(
    "interest: explain agrees with the set, and every change that it suggests turns the answer") {
    std::uint64_t explained = 0, without = 0, by_pair = 0;
    std::map<ChangeType, std::uint64_t> turned;
    for (std::uint64_t seed = 5001; seed < 5101; ++seed) {
        SplitMix random(seed);
        RandomWorldDef def;
        def.seed = seed;
        def.rules = random_rules(random, def.flags, def.keys);
        def.entities = 20 + random.below(60);
        def.observers = 2 + random.below(6);
        RandomWorld world(def);
        for (std::uint32_t t = 0; t < 30; ++t) {
            const std::string wrong = world.step();
            REQUIRE_MESSAGE(wrong.empty(), wrong);
            const std::string other = world.check_explain(3);
            REQUIRE_MESSAGE(other.empty(), other, "seed ", seed, ", tick ", t);
        }
        explained += world.explained;
        without += world.explained_without_change;
        by_pair += world.turned_by_pair;
        for (const auto& [type, count] : world.turned_by) turned[type] += count;
    }
    MESSAGE(explained << " explained, " << by_pair << " turned by a pair, " << without
                      << " without a change");
    CHECK(turned.size() == 11);  // every type of change turned some answer
    for (const auto& [type, count] : turned) CHECK(count >= 10);
    CHECK(by_pair >= 10);
}

TEST_CASE("interest: shuffling lanes of random cells every tick changes no answer") {
    run_worlds(1001, 60, 40, 50);
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
        def.rules.nodes = {
            {"near", NodeType::grid, {{StepOp::add, {KernelType::distance, near, near}}}}};
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
    def.rules.nodes = {{"near", NodeType::grid, {{StepOp::add, {KernelType::distance, 45, 45}}}}};
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
