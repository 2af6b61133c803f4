// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/retained_ghosts.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace purview::test {

namespace {

EntityId entity_of(LocalId slot) {
    return make_entity_id(slot + 100, 1);
}

std::vector<LocalId> ended(RetainedGhosts& retained, Tick now, std::size_t many) {
    std::vector<LocalId> slots;
    retained.end_expired(now, many, [&](LocalId slot) { slots.push_back(slot); });
    REQUIRE(retained.is_sound());
    return slots;
}

}  // namespace

TEST_CASE("retained ghosts: an entity finds its slot until the retention ends") {
    RetainedGhosts retained;
    CHECK(retained.policy(70) == Retention::despawn);
    retained.begin(70, entity_of(70), {Retention::freeze, 20}, 10);
    CHECK(retained.count() == 1);
    CHECK(retained.policy(70) == Retention::freeze);
    CHECK(retained.find(entity_of(70)) == 70);
    CHECK(!retained.is_retained(make_entity_id(170, 2)));  // its index, but another entity
    CHECK(ended(retained, 19, 0).empty());
    CHECK(ended(retained, 20, 0) == std::vector<LocalId>{70});
    CHECK(!retained.is_retained(entity_of(70)));
    CHECK(retained.count() == 0);
}

TEST_CASE("retained ghosts: expired ones end by slot, then the oldest until there is room") {
    RetainedGhosts retained;
    for (LocalId slot = 0; slot < RetainedGhosts::count_max; ++slot) {
        const Tick since = 1 + (slot * 7) % RetainedGhosts::count_max;  // each tick once
        const Tick until = slot < 3 ? 5'000U : 9'000U;
        retained.begin(slot, entity_of(slot), {Retention::freeze, until}, since);
    }
    CHECK(!retained.has_room());
    CHECK(ended(retained, 4'999, 0).empty());
    const std::vector<LocalId> oldest = ended(retained, 4'999, 2);
    REQUIRE(oldest.size() == 2);
    CHECK(oldest[0] == 0);                                           // since tick 1
    CHECK((oldest[1] * 7) % RetainedGhosts::count_max == 1);         // since tick 2
    CHECK(ended(retained, 5'000, 4) == std::vector<LocalId>{1, 2});  // these make enough room
    CHECK(retained.count() == RetainedGhosts::count_max - 4);
}

TEST_CASE("retained ghosts: a copy outlasts the retention until it is dropped") {
    RetainedGhosts retained;
    CHECK(retained.copy(1) == nullptr);
    retained.begin(1, entity_of(1), {Retention::freeze, 20}, 10);
    retained.set_copy(1, {FieldMask{4}, {1, 2, 3}});
    const std::size_t bytes = retained.memory_bytes();
    retained.end(1);
    REQUIRE(retained.copy(1) != nullptr);
    CHECK(retained.copy(1)->unknown == 4);
    CHECK(retained.has_copies());
    retained.drop_copy(1);
    CHECK(retained.copy(1) == nullptr);
    CHECK(retained.memory_bytes() < bytes);
}

}  // namespace purview::test
