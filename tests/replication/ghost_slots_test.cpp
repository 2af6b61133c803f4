// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ghost slots under packet loss: an entity that returns before its leave is acknowledged has
// several slots on the server, but never more than one ghost on the client.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "replication/ghost_table.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t entity_count = 6;
constexpr Tick round_trip_ticks = 5;

EntityId slot_entity(std::uint32_t i) {
    return make_entity_id(i, 1);
}

/// A ghost table, a client that applies the received packets, and a lossy link between them.
class SlotWorld {
  public:
    SlotWorld(std::uint64_t seed, float loss) : random_(seed), loss_(loss) {}

    void step(bool changes) {
        ++now_;
        ghosts.begin_tick(now_);
        resolve();
        for (std::uint32_t i = 0; i < entity_count && changes; ++i) toggle(i);
        for (std::uint32_t packets = random_.below(4); packets > 0; --packets) send();
        ghosts.end_tick();
        most_superseded = std::max(most_superseded, ghosts.slots().succession().superseded_count());
        REQUIRE(ghosts.is_sound());
    }
    void settle() {
        loss_ = 0;
        for (Tick i = 0; i < 40 * round_trip_ticks; ++i) step(false);
    }
    std::multiset<EntityId> on_client() const {
        std::multiset<EntityId> all;
        for (const auto& [slot, entity] : client_) all.insert(entity);
        return all;
    }

    GhostTable ghosts;
    std::set<EntityId> relevant;
    std::uint64_t repeated = 0;  ///< superseded leaves that were added to a packet with an enter
    std::uint32_t most_superseded = 0;  ///< superseded at the same time
    std::uint64_t returned = 0;         ///< packets with the leave and the enter of one entity

  private:
    struct Packet {
        std::uint32_t sequence;
        Tick resolved_at;
        std::vector<LocalId> leaves;
        std::map<LocalId, EntityId> enters;
        bool arrives;
    };

    void toggle(std::uint32_t i) {
        if (!random_.chance(0.3F)) return;
        const EntityId entity = slot_entity(i);
        if (relevant.erase(entity) != 0) {
            (void)ghosts.leave(ghosts.slots().find(entity), Reason::left);
        } else {
            (void)ghosts.enter(entity, id_at<KindId>(0), false, now_);
            relevant.insert(entity);
        }
    }
    void send() {
        Packet packet{next_++, now_ + 1 + random_.below(round_trip_ticks), {}, {}, false};
        for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
            const bool waits = (ghosts.slots().needs_leave()[slot / 64] >> slot % 64 & 1U) != 0;
            if (waits && random_.chance(0.6F)) packet.leaves.push_back(slot);
        }
        for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
            if (!ghosts.slots().is_live(slot) || !ghosts.slots().needs_enter(slot) ||
                !random_.chance(0.6F))
                continue;
            packet.enters[slot] = ghosts.slots().entity(slot);
            ghosts.slots().for_each_superseded(slot, [&](LocalId older) {
                const bool is_missing = std::find(packet.leaves.begin(), packet.leaves.end(),
                                                  older) == packet.leaves.end();
                if (is_missing) packet.leaves.push_back(older);
                repeated += is_missing ? 1 : 0;
            });
        }
        PacketRecord& record = ghosts.begin_packet(packet.sequence, now_);
        for (const LocalId slot : packet.leaves) ghosts.sent(record, slot, SentAs::leave);
        for (const auto& [slot, entity] : packet.enters) ghosts.sent(record, slot, SentAs::enter);
        packet.arrives = !random_.chance(loss_);
        if (packet.arrives) apply(packet);
        if (!in_flight_.empty())  // delivery statuses arrive in packet order
            packet.resolved_at = std::max(packet.resolved_at, in_flight_.back().resolved_at);
        in_flight_.push_back(packet);
    }
    void apply(const Packet& packet) {
        std::set<EntityId> left;
        for (const LocalId slot : packet.leaves) {
            if (const auto at = client_.find(slot); at != client_.end()) left.insert(at->second);
            client_.erase(slot);
        }
        for (const auto& [slot, entity] : packet.enters) {
            REQUIRE(!client_.contains(slot));
            client_[slot] = entity;
            returned += left.contains(entity) ? 1 : 0;
        }
        for (std::uint32_t i = 0; i < entity_count; ++i)
            REQUIRE(on_client().count(slot_entity(i)) <= 1);
    }
    void resolve() {
        for (; !in_flight_.empty() && in_flight_.front().resolved_at <= now_;
             in_flight_.pop_front())
            ghosts.resolve(in_flight_.front().sequence, in_flight_.front().arrives);
    }

    SplitMix random_;
    float loss_;
    Tick now_ = 0;
    std::uint32_t next_ = 1;
    std::map<LocalId, EntityId> client_;
    std::deque<Packet> in_flight_;
};

}  // namespace

TEST_CASE("ghost slots: a client never holds two ghosts of one entity under packet loss") {
    std::uint64_t repeated = 0, returned = 0;
    std::uint32_t most = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        SlotWorld world(seed, 0.1F * static_cast<float>(seed % 8));
        for (int i = 0; i < 400; ++i) world.step(true);
        world.settle();
        // Nothing is left behind: one slot for each relevant entity, and the client has it.
        CHECK(world.ghosts.leaving_count() == 0);
        CHECK(world.ghosts.slots().succession().superseded_count() == 0);
        CHECK(world.ghosts.slots().live_count() == world.relevant.size());
        const std::multiset<EntityId> held = world.on_client();
        CHECK(std::set<EntityId>(held.begin(), held.end()) == world.relevant);
        CHECK(held.size() == world.relevant.size());
        repeated += world.repeated;
        returned += world.returned;
        most = std::max(most, world.most_superseded);
    }
    CHECK(repeated > 1'000);
    CHECK(returned > 1'000);
    CHECK(most > entity_count);  // several old slots of one entity
}

TEST_CASE("ghost slots: a slot is not reused while a repeated leave is in flight") {
    GhostTable ghosts;
    const EntityId entity = slot_entity(0);
    ghosts.begin_tick(1);
    const LocalId first = ghosts.enter(entity, id_at<KindId>(0), false, 1);
    ghosts.sent(ghosts.begin_packet(1, 1), first, SentAs::enter);
    ghosts.resolve(1, true);
    ghosts.begin_tick(2);
    (void)ghosts.leave(ghosts.slots().find(entity), Reason::left);
    ghosts.sent(ghosts.begin_packet(2, 2), first, SentAs::leave);
    ghosts.begin_tick(3);
    const LocalId second = ghosts.enter(entity, id_at<KindId>(0), false, 3);
    CHECK(second != first);
    CHECK(ghosts.slots().find(entity) == second);
    PacketRecord& both = ghosts.begin_packet(3, 3);
    std::vector<LocalId> repeated;
    ghosts.slots().for_each_superseded(second, [&](LocalId older) { repeated.push_back(older); });
    CHECK(repeated == std::vector<LocalId>{first});
    ghosts.sent(both, first, SentAs::leave);
    ghosts.sent(both, second, SentAs::enter);
    ghosts.resolve(2, true);  // the leave has arrived; its repetition is still in flight
    ghosts.begin_tick(4);
    CHECK(ghosts.enter(slot_entity(1), id_at<KindId>(0), false, 4) != first);
    repeated.clear();
    ghosts.slots().for_each_superseded(second, [&](LocalId older) { repeated.push_back(older); });
    CHECK(repeated.empty());  // no need to repeat it once more
    SUBCASE("the repetition arrives") {
        ghosts.resolve(3, true);
    }
    SUBCASE("the repetition is lost") {
        ghosts.resolve(3, false);
    }
    CHECK(ghosts.leaving_count() == 0);
    CHECK(ghosts.enter(slot_entity(2), id_at<KindId>(0), false, 4) == first);
}

TEST_CASE("ghost slots: the lowest free slot is reused with cleared flags") {
    SlotBlocks blocks;
    GhostSlots slots(blocks);
    for (std::uint32_t i = 0; i < 130; ++i)
        REQUIRE(slots.enter(slot_entity(i), id_at<KindId>(0), Reason::entered) == i);
    CHECK(slots.words() == 3);
    CHECK(slots.end() == 192);
    for (const LocalId slot : {128U, 65U}) {
        slots.set_extrapolated(slot);
        CHECK(!slots.leave(slot, Reason::left, 4));  // never sent
        slots.release(slot);
        CHECK(slots.find(slot_entity(slot)) == no_local_id);
    }
    CHECK(slots.used_count() == 128);
    CHECK(slots.is_sound());
    CHECK(slots.enter(slot_entity(200), id_at<KindId>(3), Reason::owned) == 65);
    CHECK(!slots.is_extrapolated(65));
    CHECK(slots.kind(65) == id_at<KindId>(3));
    CHECK(slots.find_at(200) == 65);
    CHECK(slots.enter(slot_entity(201), id_at<KindId>(0), Reason::entered) == 128);
}

}  // namespace purview::test
