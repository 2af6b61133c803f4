// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relations/minimum_relevance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "purview/interest.hpp"
#include "purview/rules.hpp"

namespace purview {

TEST_CASE("minimum relevance: periods of any length end in their tick") {
    struct Plain {
        Tick from, until;
    };
    SplitMix random(7);
    MinimumRelevance periods;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Plain> plain;
    for (Tick now = 1; now < 3000; ++now) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> ended, expected;
        periods.expire(now, [&](std::uint32_t observer, EntityId unit) {
            ended.emplace_back(observer, index_of(unit));
        });
        for (auto it = plain.begin(); it != plain.end();) {
            if (it->second.until > now) {
                ++it;
                continue;
            }
            expected.push_back(it->first);
            it = plain.erase(it);
        }
        std::sort(ended.begin(), ended.end());
        REQUIRE(ended == expected);
        for (std::uint32_t n = random.below(4); n > 0; --n) {
            const std::uint32_t observer = random.below(5), unit = random.below(20);
            const std::uint32_t ticks = 1 + random.below(random.chance(0.1F) ? 200 : 12);
            periods.begin(observer, make_entity_id(unit, 1), now, ticks);
            plain[{observer, unit}] = {now, now + ticks};
        }
        if (random.chance(0.1F)) {
            const std::uint32_t observer = random.below(5), unit = random.below(20);
            periods.end(observer, make_entity_id(unit, 1));
            plain.erase({observer, unit});
        }
        if (random.chance(0.02F)) {
            const std::uint32_t most = 1 + random.below(20);
            periods.shorten(most);
            for (auto& [pair, period] : plain)
                period.until = std::min(period.until, period.from + most);
        }
        REQUIRE(periods.size() == plain.size());
        periods.validate();
    }
}

namespace {

/// Two nodes with lazy leaves: one is evaluated every 40 ticks, one every 4.
struct LazyNodes {
    LazyNodes() {
        const FlagId far_flag = rules.flag("rare");
        NodeDef& rare = rules.node("rare").add(within(50)).require(far_flag);
        rare.every_ticks = 40;
        rare.lazy_leave = true;
        NodeDef& often = rules.node("often").add(within(20));
        often.every_ticks = 4;
        often.lazy_leave = true;
        flag = far_flag;
    }
    Rules rules;
    FlagId flag{};
};

}  // namespace

TEST_CASE("minimum relevance: a long wait to leave does not delay other leaves") {
    const LazyNodes lazy;
    InterestManager manager(lazy.rules);
    const EntityId viewpoint = manager.spawn({.position = {100, 100}});
    const ObserverId observer = manager.add_observer({.viewpoint = viewpoint});
    const EntityId rare = manager.spawn({.position = {130, 100}, .flags = {lazy.flag}});
    std::vector<EntityId> often;
    for (int i = 0; i < 4; ++i) often.push_back(manager.spawn({.position = {110, 100}}));
    for (int tick = 0; tick < 80; ++tick) manager.tick();
    REQUIRE(manager.is_relevant(observer, rare));
    // It may remain relevant for up to 40 ticks.
    CHECK(manager.move(rare, {500, 100}) == Status::ok);
    manager.tick();
    for (const EntityId entity : often) {
        REQUIRE(manager.is_relevant(observer, entity));
        CHECK(manager.move(entity, {500, 100}) == Status::ok);
    }
    int ticks = 0;
    while (manager.is_relevant(observer, often[0]) && ticks < 100) {
        manager.tick();
        ++ticks;
    }
    CHECK(ticks <= 5);
    for (const EntityId entity : often) CHECK_FALSE(manager.is_relevant(observer, entity));
}

TEST_CASE("minimum relevance: pending leaves end when the observer is not ready") {
    const LazyNodes lazy;
    InterestManager manager(lazy.rules);
    const EntityId viewpoint = manager.spawn({.position = {100, 100}});
    const ObserverId observer = manager.add_observer({.viewpoint = viewpoint});
    const EntityId rare = manager.spawn({.position = {130, 100}, .flags = {lazy.flag}});
    for (int tick = 0; tick < 85; ++tick) manager.tick();  // some ticks after the node's tick
    REQUIRE(manager.is_relevant(observer, rare));
    CHECK(manager.move(rare, {500, 100}) == Status::ok);
    manager.tick();
    REQUIRE(manager.is_relevant(observer, rare));
    CHECK(manager.set_ready(observer, false) == Status::ok);
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, rare));
    CHECK(manager.set_ready(observer, true) == Status::ok);
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, rare));
}

}  // namespace purview
