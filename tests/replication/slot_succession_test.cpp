// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/slot_succession.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace purview::test {

TEST_CASE("slot succession: removing a slot links its neighbors") {
    SlotSuccession succession;
    CHECK(succession.is_empty());
    CHECK(succession.older_of(3) == no_local_id);
    succession.supersede(3, 7);
    succession.supersede(7, 1);
    CHECK(succession.superseded_count() == 2);
    CHECK(succession.older_of(1) == 7);
    CHECK(succession.remove(7) == 3);
    CHECK(succession.older_of(1) == 3);
    CHECK(succession.superseded_count() == 1);
    CHECK(succession.remove(1) == 3);
    CHECK(succession.is_empty());
    CHECK(succession.superseded_count() == 0);
    CHECK(succession.remove(3) == no_local_id);
}

TEST_CASE("slot succession: it matches a list of slots under random edits") {
    SplitMix random(5);
    SlotSuccession succession;
    std::vector<LocalId> slots{0};  // from the oldest to the newest
    LocalId next = 1;
    std::size_t most = 0;
    for (int round = 0; round < 5'000; ++round) {
        if (slots.empty() || random.chance(0.5F)) {
            if (!slots.empty()) succession.supersede(slots.back(), next);
            slots.push_back(next++);
        } else {
            const std::size_t at = random.below(static_cast<std::uint32_t>(slots.size()));
            const LocalId older = at == 0 ? no_local_id : slots[at - 1];
            REQUIRE(succession.remove(slots[at]) == older);
            slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(at));
        }
        for (std::size_t i = 0; i < slots.size(); ++i)
            REQUIRE(succession.older_of(slots[i]) == (i == 0 ? no_local_id : slots[i - 1]));
        REQUIRE(succession.superseded_count() == (slots.empty() ? 0 : slots.size() - 1));
        most = std::max(most, slots.size());
    }
    CHECK(most > 10);
}

}  // namespace purview::test
