// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_poses.hpp"

#include <doctest/doctest.h>

#include "support/written_snapshot.hpp"

namespace purview::test {

TEST_CASE("poses: a position is interpolated between two samples and clamped beyond them") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 10, .enters = {{0, no_local_id, 100}}}.apply(replica, newest));
    REQUIRE(WrittenSnapshot{.tick = 11, .updates = {{0, 104}}}.apply(replica, newest));
    const GhostPoses& poses = replica.poses;
    CHECK(poses.position_at(0, 10.25).x == doctest::Approx(101));
    CHECK(poses.position_at(0, 5).x == doctest::Approx(100));
    CHECK(poses.position_at(0, 50).x == doctest::Approx(104));
    CHECK(poses.decode_position(0).x == doctest::Approx(104));
    CHECK(poses.received_velocity(0).x == doctest::Approx(4));
    CHECK_FALSE(poses.did_jump(0));
}

TEST_CASE("poses: a ghost without updates stands still and moves in the last tick only") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 10, .enters = {{0, no_local_id, 100}}}.apply(replica, newest));
    REQUIRE(WrittenSnapshot{.tick = 29}.apply(replica, newest));
    REQUIRE(WrittenSnapshot{.tick = 30, .updates = {{0, 110}}}.apply(replica, newest));
    CHECK(replica.poses.position_at(0, 20).x == doctest::Approx(100));
    CHECK(replica.poses.position_at(0, 29).x == doctest::Approx(100));
    CHECK(replica.poses.position_at(0, 29.5).x == doctest::Approx(105));
}

TEST_CASE("poses: a change of the parent keeps the world position") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    const WrittenSnapshot both{
        .tick = 10, .enters = {{0, no_local_id, 100}, {1, 0, 520}, {2, no_local_id, 300}}};
    REQUIRE(both.apply(replica, newest));
    REQUIRE(replica.ghosts.frame_of(1) == 0);
    CHECK(replica.poses.position_at(1, 10).x == doctest::Approx(120));
    CHECK(replica.poses.received_pose_at(1, 10).position.x == doctest::Approx(20));
    replica.poses.set_parent(1, 2, 11);
    CHECK(replica.ghosts.parent(1) == 2);
    CHECK(replica.poses.position_at(1, 10).x == doctest::Approx(120));
    CHECK(replica.poses.received_pose_at(1, 10).position.x == doctest::Approx(-180));
    replica.poses.set_parent(1, no_local_id, 11);
    CHECK(replica.poses.position_at(1, 10).x == doctest::Approx(120));
}

}  // namespace purview::test
