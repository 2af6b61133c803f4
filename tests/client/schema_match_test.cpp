// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/schema_match.hpp"

#include <doctest/doctest.h>

#include "support/written_snapshot.hpp"

namespace purview::test {

TEST_CASE("schema match: the received schema decides, not its hash") {
    const Schema server = schema_of_things();
    const Schema own = schema_of_things();
    Schema other;
    (void)other.kind("thing", {add_position(other, 0, 999).id});
    SchemaMatch match;
    CHECK_FALSE(match.is_same(own, own.hash(), server));  // nothing has arrived
    match.server_hash = server.hash();
    CHECK(match.is_same(own, own.hash(), server));
    CHECK_FALSE(match.is_same(other, other.hash(), server));
    CHECK_FALSE(match.is_same(other, server.hash(), server));
    CHECK(match.is_same(own, own.hash(), server));
}

}  // namespace purview::test
