// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relations/row_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/hash.hpp"

namespace purview::test {

TEST_CASE("row store: a shared group without members and observers is freed") {
    RowStore store;
    SplitMix random(3);
    constexpr std::uint32_t entities = 20, observers = 5;
    std::vector<std::set<std::uint64_t>> keys_of(entities);
    std::vector<std::uint64_t> looks_into(observers, 0);
    std::vector<std::uint32_t> row_of(observers, no_row);
    for (int step = 0; step < 5'000; ++step) {
        const std::uint32_t e = random.below(entities);
        const auto entity = make_entity_id(e, 1);
        std::vector<std::uint32_t> rows;
        keys_of[e].clear();
        for (std::uint32_t n = random.below(4); n > 0; --n) {
            // Mostly new keys, as in an endless world, and a few that repeat.
            const std::uint64_t key = random.chance(0.5F)   ? random.below(8)
                                      : random.chance(0.1F) ? ~std::uint64_t{0}
                                                            : 100U + static_cast<unsigned>(step);
            if (!keys_of[e].insert(key).second) continue;
            rows.push_back(store.row_of(key));
            if (key >= 100 && key != ~std::uint64_t{0}) {  // a new key
                CHECK(store.row(rows.back()).members.empty());
                CHECK(store.row(rows.back()).observers.empty());
            }
        }
        std::sort(rows.begin(), rows.end());
        store.set_memberships(entity, rows, true);
        CHECK(store.has_memberships(entity, rows, true));
        CHECK(rows.empty() == store.has_memberships(entity, {}, true));
        const std::uint32_t o = random.below(observers);
        if (row_of[o] != no_row) store.unsubscribe(row_of[o], o);
        looks_into[o] = random.below(8);
        row_of[o] = store.row_of(looks_into[o]);
        store.subscribe(row_of[o], o);

        std::set<std::uint64_t> used;
        for (const auto& keys : keys_of) used.insert(keys.begin(), keys.end());
        for (std::uint32_t i = 0; i < observers; ++i)
            if (row_of[i] != no_row) used.insert(looks_into[i]);
        REQUIRE(store.size() == used.size());
        for (std::uint32_t i = 0; i < entities; ++i) {
            const auto in = store.memberships(make_entity_id(i, 1));
            REQUIRE(in.size() == keys_of[i].size());
            for (const auto at : in) REQUIRE(keys_of[i].count(store.row(at.row).key) == 1);
        }
    }
}

}  // namespace purview::test
