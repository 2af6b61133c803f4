// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Baselines and wait times of single slots. ghost_table_test.cpp and ghost_knowledge_test.cpp
// compare them with what an observer received.
#include "replication/send_state.hpp"

#include <doctest/doctest.h>

namespace purview::test {

namespace {

/// Slots with ghosts that were delivered to the observer in tick 1.
struct Sends {
    explicit Sends(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            (void)slots.enter(make_entity_id(i, 1), id_at<KindId>(0), Reason::entered);
        sends.begin_tick(1);
        for (LocalId slot = 0; slot < count; ++slot) {
            slots.enter_sent(slot, 1);
            slots.enter_delivered(slot);
        }
    }
    void change(LocalId slot, Tick now) {
        sends.begin_tick(now);
        sends.add_changed(slot_word(slot), slot_bit(slot));
    }
    void send(LocalId slot, std::uint32_t sequence) {
        const PacketRecord& record = records.begin(sequence, sends.tick(), slots.words());
        records.add_updates(record, slot_word(slot), slot_bit(slot));
        if (sends.has_older_baseline(slot)) {
            sends.item_sent(slot, sends.tick(), true);
        } else {
            sends.updates_sent(slot_word(slot), slot_bit(slot));
        }
    }
    void resolve(LocalId slot, bool arrives) {
        records.begin_resolution();
        const Tick tick = records.oldest().tick;
        if (!arrives) {
            sends.store_times(slot_word(slot),
                              slot_bit(slot) & ~sends.of(slot_word(slot)).has_older_baseline);
            if (sends.sent_tick(slot) == tick) sends.want_again(slot, tick);
        } else if (sends.has_older_baseline(slot)) {
            sends.delivered(slot, tick);
        }
        records.drop_oldest();
        REQUIRE(sends.is_sound());
    }

    SlotBlocks blocks;
    GhostSlots slots{blocks};
    GhostMarks marks{blocks};
    PacketRecords records;
    SendState sends{blocks, slots, marks, records};
};

}  // namespace

TEST_CASE("send state: a change that is sent in its tick stores nothing") {
    Sends its(70);
    its.change(66, 5);
    CHECK(its.sends.pending()[1] == 4);
    CHECK(its.sends.waiting_since(66) == 5);
    its.send(66, 1);
    CHECK(!its.sends.is_pending(66));
    CHECK(its.sends.resolved_tick() == 4);
    CHECK(its.sends.baseline(66) == 4);
    its.sends.begin_tick(6);
    its.resolve(66, true);
    CHECK(its.sends.resolved_tick() == 5);
    CHECK(its.sends.baseline(66) == 5);
    CHECK(!its.sends.may_have_older(1));
    CHECK(its.sends.packets_looked_at() == 0);
}

TEST_CASE("send state: a change sent in a later tick has an older baseline until delivery") {
    Sends its(3);
    its.change(2, 5);
    its.sends.begin_tick(9);
    CHECK(its.sends.waiting_since(2) == 5);
    CHECK(its.sends.pending_since(2) == 5);
    CHECK(its.sends.has_older_baseline(2));
    CHECK(its.sends.may_have_older(0));
    CHECK(its.sends.baseline(2) == 4);
    CHECK(its.sends.baseline(1) == 8);
    its.send(2, 1);
    CHECK(its.sends.longest_wait_ticks() == 3);
    its.sends.begin_tick(10);
    its.resolve(2, true);
    CHECK(!its.sends.has_older_baseline(2));
    CHECK(its.sends.baseline(2) == 9);
    its.sends.update_word(0);
    CHECK(!its.sends.may_have_older(0));
}

TEST_CASE("send state: a lost change waits since its tick and keeps its baseline") {
    Sends its(3);
    its.change(1, 5);
    its.send(1, 1);
    its.sends.begin_tick(8);
    its.resolve(1, false);
    CHECK(its.sends.is_pending(1));
    CHECK(its.sends.waiting_since(1) == 5);
    CHECK(its.sends.pending_since(1) == 8);
    CHECK(its.sends.baseline(1) == 4);
    CHECK(its.sends.baseline(0) == 7);
    CHECK(its.sends.packets_looked_at() == 2);
}

TEST_CASE("send state: a resumed or new ghost counts as new in one tick only") {
    Sends its(2);
    its.sends.begin_tick(6);
    its.marks.mark_resumed(1, false, 6);
    its.sends.want(1, 6);
    CHECK(its.sends.is_newly_relevant(1, 6));
    CHECK(its.sends.newly_relevant(0) == 2);
    CHECK(its.sends.is_away(1));
    const LocalId slot = its.slots.enter(make_entity_id(9, 1), id_at<KindId>(0), Reason::entered);
    its.marks.begin(slot, false);
    its.change(slot, 6);
    CHECK(its.sends.newly_relevant(0) == (2 | slot_bit(slot)));
    CHECK(!its.sends.was_sent(slot));
    its.sends.begin_tick(7);
    CHECK(its.sends.newly_relevant(0) == 0);
    CHECK(!its.sends.is_newly_relevant(slot, 7));
}

TEST_CASE("send state: a blocked slot waits for the delivery status of its last packet") {
    for (const bool arrives : {true, false}) {
        CAPTURE(arrives);
        Sends its(1);
        its.change(0, 5);
        its.sends.begin_tick(6);
        its.send(0, 1);
        its.sends.block(0);
        its.sends.want(0, 6);
        its.sends.begin_tick(7);
        CHECK(its.sends.is_blocked(0));
        its.resolve(0, arrives);
        CHECK(!its.sends.is_blocked(0));
        CHECK(its.sends.is_pending(0));
        CHECK(its.sends.baseline(0) == (arrives ? 6 : 4));
    }
}

}  // namespace purview::test
