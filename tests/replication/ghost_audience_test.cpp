// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_audience.hpp"

#include <doctest/doctest.h>

namespace purview::test {

namespace {

constexpr std::uint32_t public_components = 0b0011;

/// One ghost that was delivered to the observer.
struct Audience {
    Audience() {
        (void)slots.enter(make_entity_id(1, 1), id_at<KindId>(0), Reason::entered);
        audience.grow(1, 1);
        audience.begin(0);
        slots.enter_sent(0, 1);
        slots.enter_delivered(0);
    }
    void set(std::uint32_t allowed, Tick now) {
        sends.begin_tick(now);
        if (audience.set_allowed(0, allowed, public_components, now)) marks.mark_link(0, now);
    }

    SlotBlocks blocks;
    GhostSlots slots{blocks};
    GhostMarks marks{blocks};
    PacketRecords records;
    SendState sends{blocks, slots, marks, records};
    GhostAudience audience{blocks, marks, sends};
};

}  // namespace

TEST_CASE("ghost audience: a gained component is new until the baseline covers its tick") {
    Audience its;
    CHECK(its.audience.allowed(0) == GhostAudience::all_components);
    CHECK(!its.audience.set_allowed(0, GhostAudience::all_components, public_components, 2));
    its.set(0b0101, 3);
    CHECK(its.audience.allowed(0) == 0b0101);
    CHECK(its.audience.gained(0) == 0);
    CHECK(its.audience.is_individual(0));
    its.set(0b1101, 5);
    CHECK(its.audience.gained(0) == 0b1000);
    CHECK(its.audience.gained_in(0, 5) == 0b1000);
    CHECK(its.audience.gained_in(0, 6) == 0);
    CHECK(!its.audience.is_covered_by(0, 4));
    its.set(0b1111, 5);
    CHECK(its.audience.gained(0) == 0b1010);
    its.sends.begin_tick(6);
    CHECK(its.audience.gained(0) == 0);
    CHECK(its.audience.is_covered_by(0, 5));
}

TEST_CASE("ghost audience: a ghost with the public components only is not individual") {
    Audience its;
    its.audience.set_restricted(0);
    CHECK(its.audience.restricted()[0] == 1);
    its.set(public_components, 3);
    CHECK(its.audience.is_public_only(0));
    CHECK(!its.audience.is_individual(0));
    its.marks.reset_special(0);
    CHECK(its.audience.allowed(0) == public_components);
    its.set(0b0001, 4);
    CHECK(!its.audience.is_public_only(0));
    CHECK(its.audience.allowed(0) == 0b0001);
    its.audience.release(0);
    CHECK(its.audience.restricted()[0] == 0);
}

}  // namespace purview::test
