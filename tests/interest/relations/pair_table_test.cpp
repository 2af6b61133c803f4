// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares the table of per-observer overrides with a std::map. The observers of an entity are in
// short lists, which are searched, and in longer ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/engine.hpp"
#include "interest/relations/pair_table.hpp"

namespace purview::test {

namespace {

/// An override as numbers: allow, deny, allowed members.
using PairState = std::array<unsigned, 3>;
using Pairs = std::map<std::pair<std::uint32_t, EntityId>, PairState>;

PairState sent_by(const PairEntry& pair) {
    return {pair.allow, pair.deny, pair.member_allows};
}

Pairs by_observer(const PairTable& table, std::uint32_t observers) {
    Pairs pairs;
    for (std::uint32_t o = 0; o < observers; ++o) {
        std::size_t count = 0;
        table.for_each_of_observer(o, [&](EntityId entity, const PairEntry& pair) {
            pairs[{o, entity}] = sent_by(pair);
            ++count;
        });
        REQUIRE(count == table.count_of_observer(o));
    }
    return pairs;
}

Pairs by_entity(const PairTable& table, std::span<const EntityId> entities) {
    Pairs pairs;
    for (const EntityId entity : entities) {
        std::size_t count = 0;
        bool is_denied = false;
        table.for_each_of_entity(entity, [&](std::uint32_t o, const PairEntry& pair) {
            REQUIRE(pair.entity == index_of(entity));
            is_denied = is_denied || pair.deny != 0;
            pairs[{o, entity}] = sent_by(pair);
            ++count;
        });
        REQUIRE(table.has_any(entity) == (count > 0));
        REQUIRE(table.has_denial(entity) == is_denied);
        if (count > 0) REQUIRE(table.find(table.any_observer(entity), entity) != nullptr);
    }
    return pairs;
}

}  // namespace

TEST_CASE("interest: the table of overrides equals a std::map by observer and by entity") {
    constexpr std::uint32_t observers = 300, entity_count = 8;
    std::vector<EntityId> entities;
    for (std::uint32_t i = 0; i < entity_count; ++i) entities.push_back(make_entity_id(i, 1 + i));
    SplitMix random(3);
    PairTable table;
    Pairs twin;
    std::size_t longest = 0, shortest = ~std::size_t{0};
    // The number of overrides grows and shrinks twice, and so do the lists.
    for (int i = 0; i < 100'000; ++i) {
        const bool grows = i / 25'000 % 2 == 0;
        const std::uint32_t o = random.below(observers);
        const EntityId entity = entities[random.below(entity_count)];
        const bool value = random.below(100) < (grows ? 60U : 1U);
        PairEntry& pair = table.edit(o, entity);
        PairState& state = twin[{o, entity}];
        switch (random.below(3)) {
            case 0:
                table.set(pair, PairMark::allow, value);
                state[0] = value;
                REQUIRE(pair.has(PairMark::allow) == value);
                break;
            case 1:
                table.set(pair, PairMark::deny, value);
                state[1] = value;
                REQUIRE(pair.has(PairMark::deny) == value);
                break;
            default:
                pair.member_allows = value ? 9 : 0;
                state[2] = value ? 9 : 0;
        }
        table.settle(o, entity);
        if (state == PairState{}) twin.erase({o, entity});
        REQUIRE(table.size() == twin.size());
        if (i % 1'000 != 0) continue;
        REQUIRE(by_observer(table, observers) == twin);
        REQUIRE(by_entity(table, entities) == twin);
        longest = std::max(longest, twin.size() / entity_count);
        if (!grows) shortest = std::min(shortest, twin.size() / entity_count);
    }
    CHECK(longest > 100);
    CHECK(shortest < 30);
    while (!twin.empty()) {
        const auto [o, entity] = twin.begin()->first;
        table.drop(o, entity);
        twin.erase(twin.begin());
    }
    CHECK(table.size() == 0);
    for (const EntityId entity : entities) {
        CHECK_FALSE(table.has_any(entity));
        CHECK_FALSE(table.has_denial(entity));
    }
}

TEST_CASE("interest: a denial evaluates no other observers that are denied the entity") {
    const auto pairs_queried = [](std::uint32_t observers) {
        InterestEngine data(Rules{}, {});
        const EntityId entity = make_entity_id(0, 1);
        CHECK(data.entities.spawn(entity, {}) == Status::ok);
        std::vector<ObserverId> all;
        for (std::uint32_t o = 0; o < observers; ++o) {
            all.push_back(*data.observers.add_observer());
            CHECK(data.observers.set_ready(all.back(), true) == Status::ok);
            CHECK(data.overrides.edit_pair(all.back(), entity, PairMark::deny, true) == Status::ok);
        }
        const std::uint64_t before = data.pairs_queried();
        CHECK(data.overrides.edit_pair(all[0], entity, PairMark::deny, false) == Status::ok);
        CHECK(data.overrides.edit_pair(all[0], entity, PairMark::deny, true) == Status::ok);
        CHECK(data.observers.remove_observer(all[1]) == Status::ok);
        CHECK(data.answers.is_denied(all[0], entity));
        return data.pairs_queried() - before;
    };
    CHECK(pairs_queried(10) > 0);
    CHECK(pairs_queried(200) == pairs_queried(10));
}

}  // namespace purview::test
