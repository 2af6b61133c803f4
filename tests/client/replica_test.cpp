// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/replica.hpp"

#include <doctest/doctest.h>

#include "support/written_snapshot.hpp"

namespace purview::test {

TEST_CASE("replica: parents enter before their children regardless of the packet order") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    const WrittenSnapshot chain{
        .tick = 1, .enters = {{0, 2, 500, false}, {1, no_local_id, 10, false}, {2, 1}}};
    REQUIRE(chain.apply(replica, newest));
    CHECK(replica.counters().order_violations == 0);
    CHECK(replica.ghosts.count() == 3);
    std::vector<LocalId> members;
    replica.groups.members_of(2, members);
    CHECK(members == std::vector<LocalId>{1, 2, 0});
    CHECK(replica.ghosts.shown_root(0) == 1);
}

TEST_CASE("replica: the children of a ghost that leaves become roots") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{0}, {1, 0}, {2, 1}}}.apply(replica, newest));
    const std::uint32_t revision = replica.revision();
    replica.events.clear();
    REQUIRE(WrittenSnapshot{.tick = 2, .leaves = {0, 1}}.apply(replica, newest));
    CHECK(replica.revision() != revision);
    CHECK(replica.ghosts.parent(2) == no_local_id);
    CHECK(replica.ghosts.shown_root(2) == 2);
    CHECK(replica.ghosts.has_left(0));
    CHECK(replica.ghosts.count() == 1);
    CHECK(replica.ignored_leaves().empty());
}

TEST_CASE("replica: leaves and links of unknown ghosts are ignored and counted") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{0}}}.apply(replica, newest));
    REQUIRE(WrittenSnapshot{.tick = 2, .leaves = {4, 9}}.apply(replica, newest));
    CHECK(replica.ignored_leaves().size() == 2);
    CHECK(replica.counters().ignored_items == 2);
    REQUIRE(WrittenSnapshot{.tick = 3, .links = {{4}}}.apply(replica, newest));
    CHECK(replica.counters().ignored_items == 3);
    CHECK(replica.counters().snapshots == 3);
}

TEST_CASE("replica: a retained ghost keeps its values, and resumes as the same ghost") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{0, no_local_id, 40}}}.apply(replica, newest));
    const WrittenSnapshot leave{.tick = 2, .leaves = {0}, .retention = Retention::freeze};
    REQUIRE(leave.apply(replica, newest));
    CHECK(replica.ghosts.retention(0) == Retention::freeze);
    CHECK(replica.ghosts.has_values(0));
    CHECK(replica.poses.decode_position(0).x == doctest::Approx(40));
    CHECK_FALSE(WrittenSnapshot{.tick = 3, .enters = {{0}}}.apply(replica, newest));
    REQUIRE(WrittenSnapshot{.tick = 3, .links = {{0, no_local_id, 50}}}.apply(replica, newest));
    CHECK(replica.ghosts.is_shown(0));
    CHECK(replica.ghosts.retention(0) == Retention::despawn);
    CHECK(replica.poses.decode_position(0).x == doctest::Approx(50));
}

}  // namespace purview::test
