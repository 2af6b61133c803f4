// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_motions.hpp"

#include <doctest/doctest.h>

namespace purview {

namespace {

struct Flight {
    float x = 0;
};

Schema schema_of_flight() {
    Schema schema;
    const Component<Flight> flight =
        schema.component<Flight>("flight").quantized("x", &Flight::x, {0, 1000, 1}).extrapolated();
    (void)schema.kind("thing", {flight.id});
    return schema;
}

struct Flying {
    ClientGhosts ghosts{schema_of_flight()};
    GhostPoses poses{ghosts};
    GhostEvents events{ghosts};
    GhostMotions motions{ghosts, poses, events};

    void hold(LocalId ghost) {
        ghosts.make_room(ghost);
        ghosts.hold(ghost, id_at<KindId>(0)).waits = true;
        ghosts.show(ghost);
        motions.begin(ghost);
    }
};

}  // namespace

TEST_CASE("motions: a dead-reckoned value advances every tick and raises change events") {
    Flying world;
    world.hold(5);
    *world.ghosts.words_of(5, 0) = 100;
    world.motions.apply(5, nullptr, 10);  // full values stop the motion
    CHECK_FALSE(world.motions.is_moving(5));
    world.motions.go_on(12);
    CHECK(*world.ghosts.words_of(5, 0) == 100);
    CHECK(world.events.all().empty());

    const Motion standing = motion_at(100);
    const Motion moving = next_motion(standing, 2, 120, 1000);
    REQUIRE(moving.speed != 0);
    world.motions.apply(5, &moving, 12);
    *world.ghosts.words_of(5, 0) = 120;
    CHECK(world.motions.is_moving(5));
    world.motions.go_on(13);
    CHECK(*world.ghosts.words_of(5, 0) == extrapolated_value(moving, 1, 1000));
    CHECK(*world.ghosts.words_of(5, 0) > 120);
    CHECK(world.events.all().size() == 1);
}

TEST_CASE("motions: find returns the newest motion up to a tick until the ghost ends") {
    Flying world;
    world.hold(2);
    const std::size_t bytes = world.motions.bytes();
    CHECK(bytes > 0);
    const Motion first = next_motion(motion_at(0), 1, 10, 1000);
    world.motions.apply(2, &first, 10);
    world.motions.apply(2, nullptr, 14);
    Tick of = 0;
    REQUIRE(world.motions.find(2, 13, of) != nullptr);
    CHECK(of == 10);
    REQUIRE(world.motions.find(2, 14, of) != nullptr);
    CHECK(of == 14);
    CHECK(world.motions.find(2, 9, of) == nullptr);
    world.motions.end(2);
    CHECK_FALSE(world.motions.is_moving(2));
    CHECK(world.motions.find(2, 14, of) == nullptr);
    CHECK(world.motions.bytes_of(1) == 0);  // its slot is free
    CHECK(world.motions.bytes() == bytes);
    world.motions.end(2);  // a second call has no effect
    CHECK(world.motions.bytes_of(1) == 0);
}

}  // namespace purview
