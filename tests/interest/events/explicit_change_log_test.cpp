// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/events/explicit_change_log.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/hash.hpp"

namespace purview {

namespace {

using ObserverUnit = std::pair<std::uint32_t, EntityId>;

/// The remaining changes of each pair, in order. Adjacent opposite changes cancel.
struct PlainLog {
    std::map<ObserverUnit, std::vector<bool>> changes;
    void add(const ObserverUnit& pair, bool enter) {
        auto& list = changes[pair];
        if (!list.empty() && list.back() != enter) {
            list.pop_back();
        } else {
            list.push_back(enter);
        }
    }
};

}  // namespace

TEST_CASE("explicit change log: opposite changes of a pair cancel") {
    constexpr std::uint32_t observers = 5, entities = 6;
    SplitMix random(3);
    ExplicitChangeLog log;
    std::uint32_t canceled = 0, counted = 0, reused = 0;
    for (int tick = 0; tick < 400; ++tick) {
        PlainLog plain;
        std::map<ObserverUnit, bool> is_in;  // a pair enters, then leaves, then enters
        const std::uint32_t changes = random.below(40);
        for (std::uint32_t i = 0; i < changes; ++i) {
            // An index is reused within a tick by another generation.
            const std::uint32_t generation = 1 + random.below(2);
            reused += generation - 1;
            const ObserverUnit pair{random.below(observers),
                                    make_entity_id(random.below(entities), generation)};
            const auto [at, is_first] = is_in.try_emplace(pair, random.below(2) == 0);
            const bool enter = at->second;
            at->second = !enter;
            log.add(pair.first, pair.second, enter);
            plain.add(pair, enter);
            if (random.below(8) == 0) log.settle(observers);
        }
        for (std::uint32_t i = 0; i < 3; ++i) {
            const ObserverUnit pair{random.below(observers),
                                    make_entity_id(random.below(entities), 1)};
            const bool enter = random.below(2) == 0;
            auto& list = plain.changes[pair];
            const bool is_contrary = !list.empty() && list.back() != enter;
            REQUIRE(log.cancel(pair.first, pair.second, enter, observers) == is_contrary);
            if (is_contrary) list.pop_back();
        }
        log.settle(observers);
        log.validate();
        std::map<ObserverUnit, std::vector<bool>> found;
        for (const ExplicitChange& change : log) {
            canceled += change.canceled ? 1 : 0;
            if (!change.canceled) found[{change.observer, change.entity}].push_back(change.enter);
        }
        for (const auto& [pair, list] : plain.changes) {
            REQUIRE(found[pair] == list);
            counted += static_cast<std::uint32_t>(list.size());
            const ExplicitChange* newest = log.find(pair.first, pair.second, observers);
            REQUIRE((newest != nullptr) == !list.empty());
            if (newest != nullptr) REQUIRE(newest->enter == list.back());
        }
        log.clear();
        REQUIRE(log.empty());
    }
    CHECK(canceled > 1'000);
    CHECK(counted > 1'000);
    CHECK(reused > 1'000);
}

}  // namespace purview
