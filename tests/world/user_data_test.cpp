// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/user_data.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace purview::test {

TEST_CASE("world: user data does not pass to the next entity with the same index") {
    WorldUserData data;
    const EntityId old = make_entity_id(3, 1), next = make_entity_id(3, 2);
    data.set(old, 0);  // the default
    CHECK(data.edits().empty());
    data.set(old, 7);
    data.set(old, 7);
    CHECK(data.edits().size() == 1);
    CHECK(data.get(old) == 7);
    CHECK(data.get(next) == 0);
    CHECK(data.get(make_entity_id(900, 1)) == 0);
    data.clear_edits();
    data.set(next, 8);
    CHECK(data.get(next) == 8);
    CHECK(data.get(old) == 0);
    REQUIRE(data.edits().size() == 1);
    CHECK(data.edits()[0] == next);
}

}  // namespace purview::test
