// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <cstdlib>

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
        def.refresh = static_cast<Refresh>(random.below(3));
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
    CHECK(turned.size() == 10);  // every type of change turned some answer
    for (const auto& [type, count] : turned) CHECK(count >= 10);
    CHECK(by_pair >= 10);
}

TEST_CASE("interest: shuffling lanes of random cells every tick changes no answer") {
    run_worlds(1001, 60, 40, 50);
}

}  // namespace purview::test
