// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "client/replica.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "protocol/rice.hpp"
#include "protocol/schema_codec.hpp"
#include "replication/ghost_table.hpp"
#include "replication/snapshot_writer.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

/// Changes a field of the entity with this index in tick `now`.
void change_entity(GhostTable& ghosts, std::uint32_t index, Tick now) {
    Bitset changed(64);
    changed.set(index);
    const auto always = [](LocalId) { return true; };
    ghosts.gather(changed, changed, now, {}, always, always);
}

float priority_of(const GhostTable& ghosts, LocalId slot, Tick now, bool is_idle) {
    return ghosts.rates().priority(slot, now, ghosts.sends().waiting_since(slot), is_idle);
}

}  // namespace

TEST_CASE("replication: a schema round-trips, and damaged bytes are refused or harmless") {
    SmallSchema small;
    std::vector<std::byte> bytes(4000);
    BitWriter out(bytes);
    write_schema(small.schema, out);
    REQUIRE(out.ok());
    bytes.resize(out.bytes_written());
    BitReader in(bytes);
    auto read = read_schema(in);
    REQUIRE(read.has_value());
    CHECK(in.exhausted());
    CHECK(read->hash() == small.schema.hash());
    CHECK(read->position() == small.schema.position());
    CHECK(read->kinds().size() == small.schema.kinds().size());
    SplitMix random(4);
    for (int i = 0; i < 4000; ++i) {
        auto damaged = bytes;
        for (std::uint32_t f = 0; f <= random.below(3); ++f) {
            damaged[random.below(static_cast<std::uint32_t>(damaged.size()))] ^=
                static_cast<std::byte>(1U << random.below(8));
        }
        if (random.chance(0.3F))
            damaged.resize(random.below(static_cast<std::uint32_t>(damaged.size())));
        BitReader reader(damaged);
        auto result = read_schema(reader);
        if (result.has_value()) Replica replica(std::move(result).value());
    }
}

TEST_CASE("replication: a schema with an invalid teleport distance is refused") {
    SmallSchema small;
    constexpr float meters = 12'345.5F;
    small.schema.edit_kind(small.animal).teleport_distance = meters;
    std::vector<std::byte> bytes(4000);
    BitWriter out(bytes);
    write_schema(small.schema, out);
    // Finds the offset of these 32 bits.
    const auto bit_at = [&](std::size_t i) {
        return (std::to_integer<unsigned>(bytes[i / 8]) >> (i % 8)) & 1U;
    };
    const auto bits_at = [&](std::size_t at) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 32; ++i) bits |= bit_at(at + i) << i;
        return bits;
    };
    std::size_t at = 0;
    while (bits_at(at) != std::bit_cast<std::uint32_t>(meters)) ++at;
    using Limits = std::numeric_limits<float>;
    for (const float other :
         {meters, 1e-6F, 0.0F, -1.0F, Limits::infinity(), Limits::quiet_NaN()}) {
        CAPTURE(other);
        const auto bits = std::bit_cast<std::uint32_t>(other);
        for (std::size_t i = 0; i < 32; ++i) {
            const auto mask = static_cast<std::byte>(1U << ((at + i) % 8));
            bytes[(at + i) / 8] &= ~mask;
            if (((bits >> i) & 1U) != 0) bytes[(at + i) / 8] |= mask;
        }
        BitReader in(bytes);
        const auto read = read_schema(in);
        CHECK(read.has_value() == (other > 0 && other < Limits::infinity()));
        if (read) CHECK(read->kinds()[index_of(small.animal)].teleport_distance == other);
        if (read) CHECK((read->hash() == small.schema.hash()) == (other == meters));
    }
}

TEST_CASE("replication: random bytes are applied as a snapshot or refused without effect") {
    SmallSchema small;
    SplitMix random(8);
    Replica replica(small.schema);
    Tick newest = 0;
    std::uint64_t applied = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::vector<std::byte> bytes(random.below(90));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next() & random.next());
        BitReader in(bytes);
        const std::uint64_t before = replica.ghosts.digest();
        if (replica.decoder.read(in)) {
            replica.accept(newest);
            ++applied;
        } else {
            REQUIRE(replica.ghosts.digest() == before);
        }
        replica.events.clear();
    }
    CHECK(applied > 100);
}

TEST_CASE("replication: a local id is free again only when its leave is acknowledged") {
    GhostTable ghosts;
    const auto entity = [](std::uint32_t i) { return make_entity_id(i, 1); };
    CHECK(ghosts.enter(entity(5), id_at<KindId>(0), false, 1) == 0);
    CHECK(ghosts.enter(entity(6), id_at<KindId>(0), false, 1) == 1);
    // Never sent: the id is free at once.
    ghosts.leave(ghosts.slots().find(entity(6)), Reason::left);
    CHECK(ghosts.enter(entity(7), id_at<KindId>(0), false, 2) == 1);
    ghosts.sent(ghosts.begin_packet(1, 2), 0, SentAs::enter);
    ghosts.leave(ghosts.slots().find(entity(5)), Reason::left);
    CHECK(ghosts.enter(entity(8), id_at<KindId>(0), false, 3) == 2);
    ghosts.sent(ghosts.begin_packet(2, 3), 0, SentAs::leave);
    CHECK(ghosts.enter(entity(9), id_at<KindId>(0), false, 4) == 3);
    ghosts.resolve(1, true);
    CHECK(ghosts.enter(entity(10), id_at<KindId>(0), false, 5) == 4);
    ghosts.resolve(2, false);  // the leave was lost: sent again
    CHECK(ghosts.slots().needs_leave()[0] == 1);
    ghosts.sent(ghosts.begin_packet(3, 6), 0, SentAs::leave);
    ghosts.resolve(3, true);
    CHECK(ghosts.enter(entity(11), id_at<KindId>(0), false, 8) == 0);
}

TEST_CASE("replication: the wait of a change that is lost repeatedly keeps growing (O21)") {
    GhostTable ghosts;
    const auto change = [&](Tick now) { change_entity(ghosts, 5, now); };
    const auto send = [&](std::uint32_t sequence, Tick now, SentAs as) {
        ghosts.sent(ghosts.begin_packet(sequence, now), 0, as);
    };
    ghosts.enter(make_entity_id(5, 1), id_at<KindId>(0), false, 1);
    send(1, 1, SentAs::enter);
    ghosts.resolve(1, true);
    change(10);
    send(2, 10, SentAs::update);
    change(11);
    CHECK(ghosts.sends().waiting_since(0) == 11);
    send(3, 11, SentAs::update);
    ghosts.resolve(2, false);  // the next packet contains it as well
    CHECK_FALSE(ghosts.sends().is_pending(0));
    ghosts.resolve(3, false);
    CHECK(ghosts.sends().is_pending(0));
    CHECK(ghosts.sends().waiting_since(0) == 10);
    send(4, 14, SentAs::update);
    ghosts.resolve(4, false);
    CHECK(ghosts.sends().waiting_since(0) == 10);
    send(5, 16, SentAs::update);
    change(17);
    ghosts.resolve(5, true);  // it contains all but the last change
    CHECK(ghosts.sends().waiting_since(0) == 17);
    send(6, 18, SentAs::update);
    ghosts.resolve(6, true);
    change(30);
    CHECK(ghosts.sends().waiting_since(0) == 30);
}

namespace {

/// Model of the wait time of one ghost. It keeps every change and every packet in flight.
struct Waits {
    bool is_pending = false;
    Tick pending = 0;           ///< since when no packet with it is in flight
    Tick received = 0;          ///< tick of the newest delivered packet
    std::vector<Tick> changed;  ///< ascending
    std::vector<Tick> sent;     ///< ticks of the packets in flight; ascending

    void change(Tick now) {
        changed.push_back(now);
        if (!is_pending) pending = now;
        is_pending = true;
    }
    void send(Tick now) {
        is_pending = false;
        sent.push_back(now);
    }
    void take_data(Tick packet) {
        received = packet;
        sent.erase(sent.begin());
    }
    void lose(Tick now) {
        sent.erase(sent.begin());
        if (!sent.empty()) return;  // a later packet contains it as well
        if (!is_pending) pending = now;
        is_pending = true;
    }
    /// The oldest change that the observer may lack.
    Tick since() const { return *std::upper_bound(changed.begin(), changed.end(), received); }
};

}  // namespace

TEST_CASE("replication: the wait times of ghosts match a model under loss (O21)") {
    constexpr std::uint32_t slots = 70;  // more than one 64-bit word
    constexpr Tick round_trip_max = 3;
    SplitMix random(6);
    GhostTable ghosts;
    std::vector<Waits> twins(slots);
    for (std::uint32_t i = 0; i < slots; ++i) {
        ghosts.sent(ghosts.begin_packet(i + 1, 1),
                    ghosts.enter(make_entity_id(i, 1), id_at<KindId>(0), false, 1), SentAs::enter);
    }
    for (std::uint32_t i = 0; i < slots; ++i) ghosts.resolve(i + 1, true);
    struct Packet {
        std::uint32_t sequence;
        Tick tick;
        std::vector<LocalId> slots;
    };
    std::vector<Packet> in_flight;
    std::uint32_t sequence = slots + 1;
    std::size_t lost = 0, waited = 0, exact = 0;
    for (Tick now = 10; now < 4'000; ++now) {
        while (!in_flight.empty() &&
               (random.below(2) == 0 || in_flight.front().tick + round_trip_max <= now)) {
            const Packet& packet = in_flight.front();
            const bool arrives = random.below(4) != 0;
            ghosts.resolve(packet.sequence, arrives);
            for (const LocalId slot : packet.slots)
                arrives ? twins[slot].take_data(packet.tick) : twins[slot].lose(now - 1);
            lost += arrives ? 0 : packet.slots.size();
            in_flight.erase(in_flight.begin());
        }
        Bitset changed(128);
        for (std::uint32_t i = 0; i < slots; ++i) {
            if (random.below(8) != 0) continue;
            changed.set(i);
            twins[i].change(now);
        }
        const auto always = [](LocalId) { return true; };
        ghosts.gather(changed, changed, now, {}, always, always);
        for (std::uint32_t word = 0; random.below(2) == 0 && word < 2; ++word) {
            std::array<float, 64> priority{};
            (void)ghosts.priorities(word, now, 0, 0, priority);
            for (std::uint32_t i = 0; i < 64 && word * 64 + i < slots; ++i) {
                if (twins[word * 64 + i].is_pending)
                    REQUIRE(priority[i] == priority_of(ghosts, word * 64 + i, now, false));
            }
        }
        for (std::uint32_t i = 0; i < slots; ++i) {
            const Waits& twin = twins[i];
            REQUIRE(ghosts.sends().is_pending(i) == twin.is_pending);
            if (!twin.is_pending) continue;
            REQUIRE(ghosts.sends().pending_since(i) == twin.pending);
            // The wait starts after the newest delivery. Without packets in flight, it starts no
            // later than the oldest missing change.
            REQUIRE(ghosts.sends().waiting_since(i) > twin.received);
            REQUIRE((!twin.sent.empty() || ghosts.sends().waiting_since(i) <= twin.since()));
            exact += ghosts.sends().waiting_since(i) == twin.since() ? 1 : 0;
            waited += ghosts.sends().waiting_since(i) != now ? 1 : 0;
        }
        Packet packet{sequence++, now, {}};
        PacketRecord& record = ghosts.begin_packet(packet.sequence, now);
        for (std::uint32_t i = 0; i < slots; ++i) {
            if (!twins[i].is_pending || random.below(2) == 0) continue;
            ghosts.sent(record, i, SentAs::update);
            twins[i].send(now);
            packet.slots.push_back(i);
        }
        in_flight.push_back(packet);
    }
    CHECK(lost > 1'000);
    CHECK(waited > 1'000);
    CHECK(exact > 10'000);
}

namespace {

/// Delivers `count` ghosts to the observer.
void deliver(GhostTable& ghosts, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)ghosts.enter(make_entity_id(i, 1), id_at<KindId>(0), false, 1);
    PacketRecord& record = ghosts.begin_packet(1, 1);
    for (LocalId slot = 0; slot < count; ++slot) ghosts.sent(record, slot, SentAs::enter);
    ghosts.resolve(1, true);
}

void change_all(GhostTable& ghosts, const Bitset& changed, Tick now) {
    const auto always = [](LocalId) { return true; };
    ghosts.gather(changed, changed, now, {}, always, always);
}

Bitset first_bits(std::uint32_t count) {
    Bitset bits(count);
    for (std::uint32_t i = 0; i < count; ++i) bits.set(i);
    return bits;
}

/// Sends packets that stay in flight, each with all 450 ghosts or with one of them in turn.
void send_many(GhostTable& ghosts, std::uint32_t packets, bool each_with_all) {
    constexpr std::uint32_t count = 450;
    deliver(ghosts, count);
    const Bitset all = first_bits(count);
    for (std::uint32_t p = 2; p < packets + 2; ++p) {
        Bitset one(count);
        one.set(p % count);
        change_all(ghosts, each_with_all ? all : one, p);
        PacketRecord& record = ghosts.begin_packet(p, p);
        for (std::size_t w = 0; w < ghosts.sends().pending().size(); ++w)
            ghosts.sent_updates(record, w, ghosts.sends().pending()[w]);
    }
}

/// Resolves all packets and returns how many packet records were visited.
std::uint64_t visits_of_all(GhostTable& ghosts, std::uint32_t packets,
                            bool (*arrives)(std::uint32_t)) {
    for (std::uint32_t p = 2; p < packets + 2; ++p) ghosts.resolve(p, arrives(p));
    return ghosts.sends().packets_looked_at();
}

}  // namespace

TEST_CASE("replication: a lost ghost waits since the oldest packet in flight with it") {
    constexpr std::uint32_t slots = 150;
    SplitMix random(7);
    std::size_t waited = 0, old = 0;
    for (int round = 0; round < 200; ++round) {
        GhostTable ghosts;
        deliver(ghosts, slots);
        struct Sent {
            Tick first = 0, last = 0;
        };
        std::vector<Sent> sent(slots);
        const std::uint32_t packets = 1 + random.below(40), one_in = 1 + random.below(30);
        for (std::uint32_t p = 2; p < packets + 2; ++p) {
            Bitset changed(slots);
            for (std::uint32_t i = 0; i < slots; ++i)
                if (random.below(one_in) == 0) changed.set(i);
            change_all(ghosts, changed, p);
            PacketRecord& record = ghosts.begin_packet(p, p);
            changed.for_each([&](std::size_t i) {
                ghosts.sent(record, static_cast<LocalId>(i), SentAs::update);
                sent[i] = {sent[i].first == 0 ? p : sent[i].first, p};
            });
        }
        // Some ghosts stay pending after the tick of their change.
        const Tick now = packets + 2;
        Bitset changed(slots);
        for (std::uint32_t i = 0; i < slots; ++i)
            if (random.below(4) == 0) changed.set(i);
        change_all(ghosts, changed, now);
        ghosts.begin_tick(now + 1);
        for (std::uint32_t p = 2; p < packets + 2; ++p) {
            ghosts.resolve(p, false);
            for (std::uint32_t i = 0; i < slots; ++i) {
                if (sent[i].first != 0 && sent[i].first <= p)
                    REQUIRE(ghosts.sends().sent_tick(i) == sent[i].last);
                if (sent[i].last != p) continue;
                REQUIRE(ghosts.sends().is_pending(i));
                REQUIRE(ghosts.sends().waiting_since(i) == sent[i].first);
                old += sent[i].first != p ? 1 : 0;
            }
        }
        changed.for_each([&](std::size_t i) {
            const auto slot = static_cast<LocalId>(i);
            REQUIRE(ghosts.sends().waiting_since(slot) ==
                    (sent[i].first != 0 ? sent[i].first : now));
            ++waited;
        });
    }
    CHECK(waited > 5'000);
    CHECK(old > 10'000);
}

TEST_CASE("replication: resolving a packet visits few packet records, whichever are lost") {
    constexpr std::uint32_t packets = 580, words = 8;
    const auto none = [](std::uint32_t) { return false; };
    const auto every_other = [](std::uint32_t p) { return p % 2 == 0; };
    GhostTable half;
    send_many(half, packets, true);
    CHECK(visits_of_all(half, packets, every_other) <= std::uint64_t{2} * words * packets);
    GhostTable all;
    send_many(all, packets, true);
    CHECK(visits_of_all(all, packets, none) > 0);
    // Each packet contains another ghost: announced losses are processed in one pass.
    GhostTable others;
    send_many(others, packets, false);
    std::vector<std::uint32_t> lost(packets);
    std::iota(lost.begin(), lost.end(), 2U);
    others.expect_lost(lost);
    CHECK(visits_of_all(others, packets, none) <= std::uint64_t{2} * words * packets);
}

TEST_CASE("replication: leaves are planned up to the budget, the lowest ids first") {
    constexpr std::uint32_t count = 20'000;
    constexpr std::uint64_t budget_bits = 1'200 * 8;
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    World world = std::move(World::create(def)).value();
    FieldStore fields(small.schema);
    EncodeCache cache(fields);
    GhostTable ghosts;
    deliver(ghosts, count);
    for (std::uint32_t i = 0; i < count; ++i)
        ghosts.leave(ghosts.slots().find(make_entity_id(i, 1)), Reason::left);
    LastPlan last;
    SnapshotPlan plan;
    LocalId next = 0;
    std::vector<std::byte> bytes(1'200);
    for (Tick now = 2; next < count; ++now) {
        REQUIRE(now < 40);
        ghosts.begin_tick(now);
        plan.clear();
        const ReplicationInput input{small.schema, internal(world), fields, cache, now};
        prioritize(input, ghosts, budget_bits, last, plan);
        REQUIRE(plan.items.size() < 1'500);
        REQUIRE((last.was_over_budget || ghosts.leaving_count() < 1'000));
        BitWriter out(bytes);
        REQUIRE(write_snapshot(input, ghosts, plan, nullptr, now, budget_bits, out));
        ghosts.packets().for_each_sent(ghosts.packets().newest(), [&](SentItem item) {
            REQUIRE(item.as == SentAs::leave);
            REQUIRE(item.slot == next++);
        });
        ghosts.resolve(now, true);
    }
    CHECK(ghosts.leaving_count() == 0);
}

TEST_CASE("replication: the priorities of 64 ghosts equal those computed one by one") {
    SplitMix random(23);
    for (int round = 0; round < 500; ++round) {
        const Tick now = 1'000 + random.below(1U << 20);
        std::array<Tick, 64> since{};
        std::array<float, 64> weight{}, priority{};
        for (Tick& tick : since) tick = now - random.below(1'000);
        for (float& one : weight) one = random.between(0.01F, 8);
        const std::uint64_t idle_slots = random.next();
        const float least = random.between(0, 4'000);
        const std::uint64_t enough =
            slot_priorities(now, since, weight, idle_slots, least, priority);
        for (std::size_t i = 0; i < 64; ++i) {
            const bool idle = (idle_slots >> i & 1U) != 0;
            REQUIRE(priority[i] == slot_priority(now, since[i], weight[i], idle));
            REQUIRE((enough >> i & 1U) == (priority[i] >= least ? 1U : 0U));
        }
    }
}

TEST_CASE("replication: a reused local id starts with the default priority weight") {
    GhostTable ghosts;
    ghosts.enter(make_entity_id(5, 1), id_at<KindId>(0), false, 1);
    CHECK(priority_of(ghosts, 0, 3, false) == 3);
    ghosts.rates().set_weight(0, 8);
    CHECK(priority_of(ghosts, 0, 3, false) == 24);
    CHECK(priority_of(ghosts, 0, 3, true) == 24 * idle_priority);
    ghosts.leave(ghosts.slots().find(make_entity_id(5, 1)), Reason::left);
    REQUIRE(ghosts.enter(make_entity_id(6, 1), id_at<KindId>(0), false, 4) == 0);
    CHECK(priority_of(ghosts, 0, 4, false) == 1);
}

TEST_CASE("replication: one delivery clears the older baseline of an ever-changing ghost") {
    constexpr Tick lost = 5, skipped = 12, ticks = 20, round_trip = 2;
    GhostTable ghosts;
    ghosts.enter(make_entity_id(5, 1), id_at<KindId>(0), false, 1);
    std::array<bool, ticks> is_behind{};
    for (Tick now = 1; now < ticks; ++now) {
        if (now > round_trip) ghosts.resolve(now - round_trip, now - round_trip != lost);
        is_behind[now] = ghosts.sends().older_baselines()[0] != 0;
        change_entity(ghosts, 5, now);
        if (now == skipped) continue;  // the budget was full
        ghosts.sent(ghosts.begin_packet(now, now), 0, now == 1 ? SentAs::enter : SentAs::update);
    }
    for (Tick now = 1; now < ticks; ++now) {
        CAPTURE(now);
        const bool after_loss = now == lost + round_trip;
        const bool after_wait = now > skipped + 1 && now < skipped + 1 + round_trip;
        CHECK(is_behind[now] == (after_loss || after_wait));
    }
}

TEST_CASE("replication: the longest wait covers sent, leaving and pending ghosts") {
    GhostTable ghosts;
    const auto change = [&](Tick now) { change_entity(ghosts, 5, now); };
    ghosts.enter(make_entity_id(5, 1), id_at<KindId>(0), false, 1);
    change(1);
    ghosts.sent(ghosts.begin_packet(1, 1), 0, SentAs::enter);
    CHECK(ghosts.sends().longest_wait_ticks() == 0);  // sent in its tick
    ghosts.resolve(1, true);
    change(2);
    change(4);
    CHECK(backlog_of(ghosts, 4).age_ticks_max == 2);
    change(5);
    ghosts.sent(ghosts.begin_packet(2, 5), 0, SentAs::update);
    CHECK(ghosts.sends().longest_wait_ticks() == 2);
    change(6);
    change(16);
    CHECK(backlog_of(ghosts, 16).age_ticks_max == 10);
    ghosts.begin_tick(17);
    ghosts.leave(ghosts.slots().find(make_entity_id(5, 1)), Reason::left);
    CHECK(ghosts.sends().longest_wait_ticks() == 10);
}

TEST_CASE("replication: local ids in a packet never exceed their estimated size") {
    SplitMix random(3);
    std::vector<std::byte> bytes(20'000);
    for (int round = 0; round < 2'000; ++round) {
        const std::uint32_t slots = 64 * (1 + random.below(40));
        const std::uint32_t one_in = 1 + random.below(200);
        std::vector<LocalId> list;
        for (LocalId slot = random.below(slots); slot < slots; ++slot)
            if (random.below(one_in) == 0) list.push_back(slot);
        const auto count = static_cast<std::uint32_t>(list.size());
        std::uint64_t least = ~std::uint64_t{0};
        for (unsigned k = 0; k <= rice_parameter_max; ++k) {
            BitWriter out(bytes);
            out.varint(count);
            if (count > 0) out.bits(k, rice_parameter_bits);
            LocalId expected = 0;
            for (const LocalId slot : list) {
                out.rice(slot - expected, k);
                expected = slot + 1;
            }
            REQUIRE(out.ok());
            least = std::min<std::uint64_t>(least, out.bits_written());
        }
        CHECK(least <= section_bits_max(ItemType::plain, count, slots));
        BitWriter out(bytes);
        out.varint(count);
        LocalId expected = 0;
        for (const LocalId slot : list) {
            out.varint(slot - expected);
            expected = slot + 1;
        }
        CHECK(out.bits_written() <= section_bits_max(ItemType::enter, count, slots));
    }
}

TEST_CASE("replication: fields are omitted by tick of change, never by value (A, B, A)") {
    SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    World world = std::move(World::create(def)).value();
    FieldStore fields(small.schema);
    const EntityId e = world.spawn({.kind = small.animal, .position = {10, 10, 0}});
    world.edit(e, small.body)->hp = 100;
    const auto tick = [&](Tick now) {
        internal(world).settle();
        fields.diff(internal(world), now);
        internal(world).clear_changes();
    };
    tick(1);
    CHECK(fields.changed().test(index_of(e)));
    world.edit(e, small.body)->hp = 50;
    tick(2);
    world.edit(e, small.body)->hp = 100;  // the value of tick 1 again
    tick(3);
    const KindField hp = fields.layout(small.animal).fields[4];
    CHECK(small.schema.components()[index_of(hp.component)].fields[hp.field].name == "hp");
    CHECK(fields.changed_since(index_of(e), small.animal, 1) == FieldMask{1} << 4);
    CHECK(fields.changed_since(index_of(e), small.animal, 3) == 0);
    // A write that keeps the quantized value is not a change.
    world.edit(e, small.position)->at.x += 0.001F;
    tick(4);
    CHECK_FALSE(fields.changed().test(index_of(e)));
}

TEST_CASE("replication: children enter with or after their parents under loss (O1 O2)") {
    for (std::uint64_t seed = 50; seed < 54; ++seed) {
        SmallWorld world(seed, {0.25F, 0.1F, 0, 10'000, 45'000}, 300);
        for (int i = 0; i < 6; ++i) world.add_client();
        std::uint64_t children = 0;
        for (int tick = 0; tick < 500; ++tick) {
            world.step();
            for (const auto& c : world.clients) {
                for (const ClientEvent& event : c->client.events())
                    children += event.is_enter() && event.kind == world.schema.crate ? 1 : 0;
                c->client.for_each([&](GhostId g) {
                    if (c->client.parent_of(g) == GhostId::none) return;
                    REQUIRE(c->client.is_held(c->client.parent_of(g)));
                });
                c->client.clear_events();
                CHECK(c->client.stats().order_violations == 0);
            }
        }
        CHECK(children > 5);
        // Once the world is idle and the network has no faults, no ghost waits for a parent.
        world.game.frozen = true;
        for (auto& c : world.clients) c->up->faults = c->down->faults = {};
        world.run(200);
        std::vector<SessionStats> sessions;
        world.server->sessions(sessions);
        for (const auto& session : sessions) CHECK(session.backlog == 0);
        CHECK(world.proof->counters().digest_mismatches == 0);
    }
}

TEST_CASE("replication: the Rice parameter is the smallest one with the fewest bits") {
    SplitMix random(9);
    std::array<unsigned, rice_parameter_max + 1> found{};
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::uint32_t> distances(random.below(40));
        const std::uint32_t bound = 1U << random.below(20);
        for (std::uint32_t& distance : distances)
            distance = random.chance(0.1F) ? random.below(1U << 20) : random.below(bound);
        std::uint64_t fewest = ~std::uint64_t{0};
        unsigned best = 0;
        for (unsigned k = 0; k <= rice_parameter_max; ++k) {
            std::uint64_t bits = 0;
            for (const std::uint32_t distance : distances) bits += (distance >> k) + 1 + k;
            if (bits < fewest) best = k;
            fewest = std::min(fewest, bits);
        }
        REQUIRE(best_rice(distances, std::accumulate(distances.begin(), distances.end(), 0U)) ==
                best);
        ++found[best];
    }
    for (const unsigned times : found) CHECK(times > 0);
}

TEST_CASE("replication: observers that need the same fields share one encoding") {
    SmallWorld world(60, {});
    for (int i = 0; i < 40; ++i) world.add_client();
    world.run(60);
    const auto before = world.server->stats();
    world.run(100);
    const auto after = world.server->stats();
    const auto encodings = after.encodings - before.encodings;
    const auto uses = after.encoding_uses - before.encoding_uses;
    CHECK(uses > encodings * 2);
}

}  // namespace purview::test
