// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghosts.hpp"

#include <doctest/doctest.h>

#include "support/written_snapshot.hpp"

namespace purview::test {

namespace {

ClientGhost& hold_and_show(ClientGhosts& ghosts, LocalId ghost) {
    ghosts.hold(ghost, id_at<KindId>(0)).waits = true;
    ghosts.show(ghost);
    return ghosts[ghost];
}

}  // namespace

TEST_CASE("ghosts: a ghost is held, shown and released, and only a shown one counts") {
    ClientGhosts ghosts(schema_of_things());
    CHECK(ghosts.slot_end() == 0);
    CHECK_FALSE(ghosts.is_held(40));
    ghosts.make_room(40);
    CHECK(ghosts.has_room(40));
    CHECK_FALSE(ghosts.is_held(40));
    ghosts.hold(40, id_at<KindId>(0)).waits = true;
    CHECK(ghosts.is_held(40));
    CHECK_FALSE(ghosts.is_shown(40));
    CHECK(ghosts.count() == 0);
    CHECK_FALSE(ghosts.has_values(40));
    ghosts.show(40);
    CHECK(ghosts.is_shown(40));
    CHECK(ghosts.has_values(40));
    CHECK(ghosts.count() == 1);
    std::vector<LocalId> held;
    ghosts.for_each_held([&](LocalId ghost) { held.push_back(ghost); });
    CHECK(held == std::vector<LocalId>{40});
    ghosts.release(40);
    CHECK_FALSE(ghosts.is_held(40));
    CHECK(ghosts.count() == 0);
    ghosts.release(40);
    CHECK(ghosts.count() == 0);
}

TEST_CASE("ghosts: a new ghost has default values, even if its id was used before") {
    ClientGhosts ghosts(schema_of_things());
    ghosts.make_room(3);
    hold_and_show(ghosts, 3);
    REQUIRE(ghosts.words(3).size() == 2);
    *ghosts.words_of(3, 1) = 77;
    CHECK(*ghosts.find_words(3, id_at<ComponentId>(0), 1) == 77);
    CHECK(ghosts.find_words(3, id_at<ComponentId>(0), 2) == nullptr);
    CHECK(ghosts.find_words(3, id_at<ComponentId>(1), 0) == nullptr);
    const std::uint64_t digest = ghosts.digest();
    ghosts.release(3);
    CHECK(ghosts.digest() == 0);
    hold_and_show(ghosts, 3);
    CHECK(*ghosts.words_of(3, 1) == ghosts.defaults(id_at<KindId>(0))[1]);
    CHECK(ghosts.digest() != digest);
}

TEST_CASE("ghosts: depth and root count held ghosts only, up to the group depth limit") {
    ClientGhosts ghosts(schema_of_things());
    constexpr LocalId chain = limits::group_depth + 8;
    for (LocalId ghost = 0; ghost < chain; ++ghost) {
        ghosts.make_room(ghost);
        hold_and_show(ghosts, ghost).parent = ghost == 0 ? no_local_id : ghost - 1;
    }
    CHECK(ghosts.depth_of(0) == 0);
    CHECK(ghosts.depth_of(2) == 2);
    CHECK(ghosts.root_of(2) == 0);
    CHECK(ghosts.frame_of(2) == 1);
    CHECK(ghosts.depth_of(chain - 1) == limits::group_depth);
    CHECK(ghosts.root_of(chain - 1) == 7);
    ghosts.release(1);
    CHECK(ghosts.root_of(2) == 2);
    CHECK(ghosts.frame_of(2) == no_local_id);
}

}  // namespace purview::test
