// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The table of pairs beside a std::map: lists of an entity's observers that are looked through, and
// those that are longer.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/interest_data.hpp"
#include "interest/relations/pair_table.hpp"

namespace purview::test {

namespace {

/// What a pair's entry says: allow, deny, members that are allowed.
using Said = std::array<unsigned, 3>;
using Pairs = std::map<std::pair<std::uint32_t, EntityId>, Said>;

Said said_of(const PairEntry& pair) {
    return {pair.allow, pair.deny, pair.member_allows};
}

Pairs by_observer(const PairTable& table, std::uint32_t observers) {
    Pairs pairs;
    for (std::uint32_t o = 0; o < observers; ++o) {
        std::size_t count = 0;
        table.for_each_of_observer(o, [&](EntityId entity, const PairEntry& pair) {
            pairs[{o, entity}] = said_of(pair);
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
            pairs[{o, entity}] = said_of(pair);
            ++count;
        });
        REQUIRE(table.has_any(entity) == (count > 0));
        REQUIRE(table.has_denial(entity) == is_denied);
        if (count > 0) REQUIRE(table.find(table.any_observer(entity), entity) != nullptr);
    }
    return pairs;
}

}  // namespace

TEST_CASE("interest: a table of pairs answers like std::map, by observer and by entity") {
    constexpr std::uint32_t observers = 300, entity_count = 8;
    std::vector<EntityId> entities;
    for (std::uint32_t i = 0; i < entity_count; ++i) entities.push_back(make_entity_id(i, 1 + i));
    SplitMix random(3);
    PairTable table;
    Pairs twin;
    std::size_t longest = 0, shortest = ~std::size_t{0};
    // More and more pairs, then fewer and fewer, twice: lists grow long, and short again.
    for (int i = 0; i < 100'000; ++i) {
        const bool grows = i / 25'000 % 2 == 0;
        const std::uint32_t o = random.below(observers);
        const EntityId entity = entities[random.below(entity_count)];
        const bool value = random.below(100) < (grows ? 60U : 1U);
        PairEntry& pair = table.edit(o, entity);
        Said& said = twin[{o, entity}];
        switch (random.below(3)) {
            case 0:
                table.set(pair, PairMark::allow, value);
                said[0] = value;
                REQUIRE(pair.has(PairMark::allow) == value);
                break;
            case 1:
                table.set(pair, PairMark::deny, value);
                said[1] = value;
                REQUIRE(pair.has(PairMark::deny) == value);
                break;
            default:
                pair.member_allows = value ? 9 : 0;
                said[2] = value ? 9 : 0;
        }
        table.settle(o, entity);
        if (said == Said{}) twin.erase({o, entity});
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

TEST_CASE("interest: who is denied an entity asks nothing of others who are denied it") {
    const auto pairs_asked = [](std::uint32_t observers) {
        InterestData data(Rules{}, {});
        const EntityId entity = make_entity_id(0, 1);
        CHECK(data.spawn(entity, {}) == Status::ok);
        std::vector<ObserverId> all;
        for (std::uint32_t o = 0; o < observers; ++o) {
            all.push_back(*data.add_observer());
            CHECK(data.set_ready(all.back(), true) == Status::ok);
            CHECK(data.edit_pair(all.back(), entity, PairMark::deny, true) == Status::ok);
        }
        const std::uint64_t before = data.pairs_asked;
        CHECK(data.edit_pair(all[0], entity, PairMark::deny, false) == Status::ok);
        CHECK(data.edit_pair(all[0], entity, PairMark::deny, true) == Status::ok);
        CHECK(data.remove_observer(all[1]) == Status::ok);
        CHECK(data.is_denied(all[0], entity));
        return data.pairs_asked - before;
    };
    CHECK(pairs_asked(10) > 0);
    CHECK(pairs_asked(200) == pairs_asked(10));
}

}  // namespace purview::test
