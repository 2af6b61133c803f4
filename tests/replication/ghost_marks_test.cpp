// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/ghost_marks.hpp"

#include <doctest/doctest.h>

namespace purview::test {

TEST_CASE("ghost marks: a slot has marks until they are covered") {
    SlotBlocks blocks(2);
    GhostMarks marks(blocks);
    marks.begin(70, false);
    CHECK(!marks.is_special(70));
    CHECK(!marks.may_have_special(1));
    marks.mark_link(70, 5);
    marks.mark_reference(70, 6);
    CHECK(marks.special()[1] == std::uint64_t{1} << 6);
    CHECK(marks.may_have_special(1));
    CHECK(!marks.may_have_special(0));
    CHECK(marks.link_tick(70) == 5);
    CHECK(marks.reference_tick(70) == 6);
    CHECK(!marks.is_covered_by(70, 5));
    CHECK(marks.is_covered_by(70, 6));
    marks.reset_special(70);
    CHECK(marks.link_tick(70) == 0);
    marks.update_word(1);
    CHECK(!marks.may_have_special(1));
}

TEST_CASE("ghost marks: ownership is marked, and the tick in which it ended is kept") {
    SlotBlocks blocks(1);
    GhostMarks marks(blocks);
    marks.begin(3, true);
    CHECK(marks.is_owned(3));
    CHECK(marks.disowned_tick(3) == 0);
    marks.set_owned(3, false, 8);
    CHECK(!marks.is_owned(3));
    CHECK(marks.link_tick(3) == 8);
    marks.set_owned(3, true, 9);
    CHECK(marks.disowned_tick(3) == 8);
    CHECK(marks.link_tick(3) == 9);
}

TEST_CASE("ghost marks: a resumed ghost sends link and references; a request lasts one tick") {
    SlotBlocks blocks(1);
    GhostMarks marks(blocks);
    marks.begin(0, false);
    marks.mark_resumed(0, true, 12);
    CHECK(marks.is_owned(0));
    CHECK(marks.resumed_tick(0) == 12);
    CHECK(marks.link_tick(0) == 12);
    CHECK(marks.reference_tick(0) == 12);
    CHECK(marks.newest_resumed_tick() == 12);
    marks.mark_requested(0, 14);
    CHECK(marks.is_requested(0, 14));
    CHECK(!marks.is_requested(0, 15));
    marks.release(0);
    CHECK(marks.resumed_tick(0) == 0);
    CHECK(!marks.is_requested(0, 14));
    CHECK(marks.last_resumed_tick(0) == 12);  // kept, covered or not
}

}  // namespace purview::test
