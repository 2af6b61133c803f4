// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "proof.hpp"

#include <doctest/doctest.h>

#include "host/shared_world.hpp"

namespace purview::app {

TEST_CASE(
    "proof: what was checked is counted by client, and nothing of one that sends no digests") {
    test::CellWorldDef def;
    def.clients = 3;
    def.without_digests = 1;
    test::CellWorld world(def);
    world.step(60);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < def.clients; ++i) {
        const std::uint64_t digests = world.proof->digests_checked_of(world.session(i).nonce);
        CHECK((digests > 30) == (i >= def.without_digests));
        sum += digests;
    }
    CHECK(sum == world.proof->counters().digests_checked);
    CHECK(world.proof->digests_checked_of(1) == 0);
    CHECK(world.proof->counters().digest_mismatches == 0);
}

}  // namespace purview::app
