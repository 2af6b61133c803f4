// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/held_reports.hpp"

#include <doctest/doctest.h>

namespace purview::test {

TEST_CASE("held reports: ghosts are counted as held, backlog or unacknowledged leaves") {
    SlotBlocks blocks;
    GhostSlots slots(blocks);
    PacketRecords records;
    HeldReports reports;
    CHECK(!reports.are_kept());
    reports.keep(true);
    CHECK(reports.are_kept());
    for (std::uint32_t i = 0; i < 5; ++i)
        (void)slots.enter(make_entity_id(i, 1), id_at<KindId>(0), Reason::entered);
    for (const LocalId slot : {0U, 1U, 2U}) {
        slots.enter_sent(slot, 1);
        slots.enter_delivered(slot);
    }
    CHECK(slots.leave(2, Reason::left, 3));
    PacketRecord& record = records.begin(9, 3, slots.words());
    records.keep_live(record, [&](std::size_t word) { return slots.of(word).live; });
    slots.retain_sent(1);
    slots.retain_delivered(1);
    reports.update(slots, records, record);
    CHECK(reports.last().sequence == 9);
    CHECK(reports.last().tick == 3);
    CHECK(reports.last().relevant == 4);
    CHECK(reports.last().backlog == 3);  // 1 is retained, 3 and 4 have not arrived
    CHECK(reports.last().unacknowledged_leaves == 1);
}

}  // namespace purview::test
