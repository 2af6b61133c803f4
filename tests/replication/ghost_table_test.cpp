// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "client/ghosts.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "protocol/rice.hpp"
#include "protocol/schema_codec.hpp"
#include "replication/ghost_table.hpp"
#include "replication/snapshot_writer.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

/// In tick `now` a field of the entity with this index changes.
void change_entity(GhostTable& ghosts, std::uint32_t index, Tick now) {
    Bitset changed(64);
    changed.set(index);
    const auto always = [](LocalId) { return true; };
    ghosts.gather(changed, changed, now, {}, always, always);
}

}  // namespace

TEST_CASE(
    "replication: a schema comes back from the wire with the same meaning, and damage is refused "
    "or harmless") {
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
        if (result.has_value()) ClientGhosts ghosts(std::move(result).value());
    }
}

TEST_CASE("replication: a schema whose jumps are of no number of metres is none") {
    SmallSchema small;
    constexpr float meters = 12'345.5F;
    small.schema.edit_kind(small.animal).teleport_distance = meters;
    std::vector<std::byte> bytes(4000);
    BitWriter out(bytes);
    write_schema(small.schema, out);
    // Where these 32 bits stand.
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

TEST_CASE("replication: random bytes never make a snapshot do harm") {
    SmallSchema small;
    SplitMix random(8);
    ClientGhosts ghosts(small.schema);
    Tick newest = 0;
    std::uint64_t applied = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::vector<std::byte> bytes(random.below(90));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next() & random.next());
        BitReader in(bytes);
        const std::uint64_t before = ghosts.digest();
        if (ghosts.read(in)) {
            ghosts.accept(newest);
            ++applied;
        } else {
            REQUIRE(ghosts.digest() == before);
        }
        ghosts.clear_events();
    }
    CHECK(applied > 100);
}

TEST_CASE("replication: a local id is free again only when its leave is acknowledged") {
    GhostTable ghosts;
    const auto entity = [](std::uint32_t i) { return make_entity_id(i, 1); };
    CHECK(ghosts.enter(entity(5), KindId{}, false, 1) == 0);
    CHECK(ghosts.enter(entity(6), KindId{}, false, 1) == 1);
    // Never sent: gone without a trace.
    ghosts.leave(entity(6), Reason::left);
    CHECK(ghosts.enter(entity(7), KindId{}, false, 2) == 1);
    ghosts.sent(ghosts.begin_record(1, 2), 0, SentAs::enter);
    ghosts.leave(entity(5), Reason::left);
    CHECK(ghosts.enter(entity(8), KindId{}, false, 3) == 2);
    ghosts.sent(ghosts.begin_record(2, 3), 0, SentAs::leave);
    CHECK(ghosts.enter(entity(9), KindId{}, false, 4) == 3);
    ghosts.resolve(1, true);
    CHECK(ghosts.enter(entity(10), KindId{}, false, 5) == 4);
    ghosts.resolve(2, false);  // the leave was lost: sent again
    CHECK(ghosts.needs_leave()[0] == 1);
    ghosts.sent(ghosts.begin_record(3, 6), 0, SentAs::leave);
    ghosts.resolve(3, true);
    CHECK(ghosts.enter(entity(11), KindId{}, false, 8) == 0);
}

TEST_CASE("replication: what is lost again and again grows older all the same (O21)") {
    GhostTable ghosts;
    const auto change = [&](Tick now) { change_entity(ghosts, 5, now); };
    const auto send = [&](std::uint32_t sequence, Tick now, SentAs as) {
        ghosts.sent(ghosts.begin_record(sequence, now), 0, as);
    };
    ghosts.enter(make_entity_id(5, 1), KindId{}, false, 1);
    send(1, 1, SentAs::enter);
    ghosts.resolve(1, true);
    change(10);
    send(2, 10, SentAs::update);
    change(11);
    CHECK(ghosts.waiting_since(0) == 11);
    send(3, 11, SentAs::update);
    ghosts.resolve(2, false);  // the next one has it, too
    CHECK_FALSE(ghosts.is_pending(0));
    ghosts.resolve(3, false);
    CHECK(ghosts.is_pending(0));
    CHECK(ghosts.waiting_since(0) == 10);
    send(4, 14, SentAs::update);
    ghosts.resolve(4, false);
    CHECK(ghosts.waiting_since(0) == 10);
    send(5, 16, SentAs::update);
    change(17);
    ghosts.resolve(5, true);  // it has all but the last change
    CHECK(ghosts.waiting_since(0) == 17);
    send(6, 18, SentAs::update);
    ghosts.resolve(6, true);
    change(30);
    CHECK(ghosts.waiting_since(0) == 30);
}

namespace {

/// Since when one ghost waits, by all that has ever changed of it and all that was ever sent.
struct Waits {
    bool is_pending = false;
    Tick pending = 0;           ///< since when nothing is under way with it
    Tick heard = 0;             ///< he has all as of this tick
    std::vector<Tick> changed;  ///< ascending
    std::vector<Tick> sent;     ///< of packets whose fate is not known; ascending

    void change(Tick now) {
        changed.push_back(now);
        if (!is_pending) pending = now;
        is_pending = true;
    }
    void send(Tick now) {
        is_pending = false;
        sent.push_back(now);
    }
    void hear(Tick packet) {
        heard = packet;
        sent.erase(sent.begin());
    }
    void lose(Tick now) {
        sent.erase(sent.begin());
        if (!sent.empty()) return;  // a later one has it, too
        if (!is_pending) pending = now;
        is_pending = true;
    }
    /// The oldest change that he may not have.
    Tick since() const { return *std::upper_bound(changed.begin(), changed.end(), heard); }
};

}  // namespace

TEST_CASE("replication: since when ghosts wait, whatever is sent, lost and heard (O21)") {
    constexpr std::uint32_t lanes = 70;  // a word, and some
    constexpr Tick round_trip_max = 3;
    SplitMix random(6);
    GhostTable ghosts;
    std::vector<Waits> twins(lanes);
    for (std::uint32_t i = 0; i < lanes; ++i) {
        ghosts.sent(ghosts.begin_record(i + 1, 1),
                    ghosts.enter(make_entity_id(i, 1), KindId{}, false, 1), SentAs::enter);
    }
    for (std::uint32_t i = 0; i < lanes; ++i) ghosts.resolve(i + 1, true);
    struct Packet {
        std::uint32_t sequence;
        Tick tick;
        std::vector<LocalId> lanes;
    };
    std::vector<Packet> under_way;
    std::uint32_t sequence = lanes + 1;
    std::size_t lost = 0, waited = 0, exact = 0;
    for (Tick now = 10; now < 4'000; ++now) {
        while (!under_way.empty() &&
               (random.below(2) == 0 || under_way.front().tick + round_trip_max <= now)) {
            const Packet& packet = under_way.front();
            const bool arrives = random.below(4) != 0;
            ghosts.resolve(packet.sequence, arrives);
            for (const LocalId lane : packet.lanes)
                arrives ? twins[lane].hear(packet.tick) : twins[lane].lose(now - 1);
            lost += arrives ? 0 : packet.lanes.size();
            under_way.erase(under_way.begin());
        }
        Bitset changed(128);
        for (std::uint32_t i = 0; i < lanes; ++i) {
            if (random.below(8) != 0) continue;
            changed.set(i);
            twins[i].change(now);
        }
        const auto always = [](LocalId) { return true; };
        ghosts.gather(changed, changed, now, {}, always, always);
        for (std::uint32_t word = 0; random.below(2) == 0 && word < 2; ++word) {
            std::array<float, 64> priority{};
            (void)ghosts.priorities(word, now, 0, 0, priority);
            for (std::uint32_t i = 0; i < 64 && word * 64 + i < lanes; ++i) {
                if (twins[word * 64 + i].is_pending)
                    REQUIRE(priority[i] == ghosts.priority(word * 64 + i, now, false));
            }
        }
        for (std::uint32_t i = 0; i < lanes; ++i) {
            const Waits& twin = twins[i];
            REQUIRE(ghosts.is_pending(i) == twin.is_pending);
            if (!twin.is_pending) continue;
            REQUIRE(ghosts.pending_since(i) == twin.pending);
            // What is under way beside it may make it a little older than it is, never younger.
            REQUIRE(ghosts.waiting_since(i) > twin.heard);
            REQUIRE((!twin.sent.empty() || ghosts.waiting_since(i) <= twin.since()));
            exact += ghosts.waiting_since(i) == twin.since() ? 1 : 0;
            waited += ghosts.waiting_since(i) != now ? 1 : 0;
        }
        Packet packet{sequence++, now, {}};
        PacketRecord& record = ghosts.begin_record(packet.sequence, now);
        for (std::uint32_t i = 0; i < lanes; ++i) {
            if (!twins[i].is_pending || random.below(2) == 0) continue;
            ghosts.sent(record, i, SentAs::update);
            twins[i].send(now);
            packet.lanes.push_back(i);
        }
        under_way.push_back(packet);
    }
    CHECK(lost > 1'000);
    CHECK(waited > 1'000);
    CHECK(exact > 10'000);
}

namespace {

/// Ghosts that the observer has.
void hold(GhostTable& ghosts, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)ghosts.enter(make_entity_id(i, 1), KindId{}, false, 1);
    PacketRecord& record = ghosts.begin_record(1, 1);
    for (LocalId lane = 0; lane < count; ++lane) ghosts.sent(record, lane, SentAs::enter);
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

/// Packets under way, each with all of 450 ghosts, or with one of them in turn.
GhostTable under_way(std::uint32_t packets, bool each_with_all) {
    constexpr std::uint32_t count = 450;
    GhostTable ghosts;
    hold(ghosts, count);
    const Bitset all = first_bits(count);
    for (std::uint32_t p = 2; p < packets + 2; ++p) {
        Bitset one(count);
        one.set(p % count);
        change_all(ghosts, each_with_all ? all : one, p);
        PacketRecord& record = ghosts.begin_record(p, p);
        for (std::size_t w = 0; w < ghosts.pending().size(); ++w)
            ghosts.sent_updates(record, w, ghosts.pending()[w]);
    }
    return ghosts;
}

/// Packets looked at until the fates of these are known.
std::uint64_t looks_of_fates(GhostTable ghosts, std::uint32_t packets,
                             bool (*arrives)(std::uint32_t)) {
    for (std::uint32_t p = 2; p < packets + 2; ++p) ghosts.resolve(p, arrives(p));
    return ghosts.packets_looked_at();
}

}  // namespace

TEST_CASE(
    "replication: who falls behind may lack what the oldest packet under way had, and was sent "
    "with the newest, whichever these are") {
    constexpr std::uint32_t lanes = 150;
    SplitMix random(7);
    std::size_t waited = 0, old = 0;
    for (int round = 0; round < 200; ++round) {
        GhostTable ghosts;
        hold(ghosts, lanes);
        struct Sent {
            Tick first = 0, last = 0;
        };
        std::vector<Sent> sent(lanes);
        const std::uint32_t packets = 1 + random.below(40), one_in = 1 + random.below(30);
        for (std::uint32_t p = 2; p < packets + 2; ++p) {
            Bitset changed(lanes);
            for (std::uint32_t i = 0; i < lanes; ++i)
                if (random.below(one_in) == 0) changed.set(i);
            change_all(ghosts, changed, p);
            PacketRecord& record = ghosts.begin_record(p, p);
            changed.for_each([&](std::size_t i) {
                ghosts.sent(record, static_cast<LocalId>(i), SentAs::update);
                sent[i] = {sent[i].first == 0 ? p : sent[i].first, p};
            });
        }
        // Some wait beyond the tick in which they changed.
        const Tick now = packets + 2;
        Bitset changed(lanes);
        for (std::uint32_t i = 0; i < lanes; ++i)
            if (random.below(4) == 0) changed.set(i);
        change_all(ghosts, changed, now);
        ghosts.begin_tick(now + 1);
        for (std::uint32_t p = 2; p < packets + 2; ++p) {
            ghosts.resolve(p, false);
            for (std::uint32_t i = 0; i < lanes; ++i) {
                if (sent[i].first != 0 && sent[i].first <= p)
                    REQUIRE(ghosts.sent_tick(i) == sent[i].last);
                if (sent[i].last != p) continue;
                REQUIRE(ghosts.is_pending(i));
                REQUIRE(ghosts.waiting_since(i) == sent[i].first);
                old += sent[i].first != p ? 1 : 0;
            }
        }
        changed.for_each([&](std::size_t i) {
            const auto lane = static_cast<LocalId>(i);
            REQUIRE(ghosts.waiting_since(lane) == (sent[i].first != 0 ? sent[i].first : now));
            ++waited;
        });
    }
    CHECK(waited > 5'000);
    CHECK(old > 10'000);
}

TEST_CASE("replication: what becomes of a packet is a look at a few, whichever others are lost") {
    constexpr std::uint32_t packets = 580, words = 8;
    CHECK(looks_of_fates(under_way(packets, true), packets, [](std::uint32_t p) {
              return p % 2 == 0;
          }) <= std::uint64_t{2} * words * packets);
    const auto none = [](std::uint32_t) { return false; };
    CHECK(looks_of_fates(under_way(packets, true), packets, none) > 0);
    // Each has another ghost: together they are looked at once.
    GhostTable ghosts = under_way(packets, false);
    std::vector<std::uint32_t> lost(packets);
    std::iota(lost.begin(), lost.end(), 2U);
    ghosts.expect_lost(lost);
    CHECK(looks_of_fates(std::move(ghosts), packets, none) <= std::uint64_t{2} * words * packets);
}

TEST_CASE(
    "replication: no more leaves are listed than may fit, and of many that wait all are told, the "
    "lowest ids first") {
    constexpr std::uint32_t count = 20'000;
    constexpr std::uint64_t budget_bits = 1'200 * 8;
    const SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    World world = std::move(World::create(def)).value();
    FieldStore fields(small.schema);
    EncodeCache cache(fields);
    GhostTable ghosts;
    hold(ghosts, count);
    for (std::uint32_t i = 0; i < count; ++i) ghosts.leave(make_entity_id(i, 1), Reason::left);
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
        ghosts.for_each_sent(ghosts.last_record(), [&](SentItem item) {
            REQUIRE(item.as == SentAs::leave);
            REQUIRE(item.lane == next++);
        });
        ghosts.resolve(now, true);
    }
    CHECK(ghosts.leaving_count() == 0);
}

TEST_CASE("replication: priorities of sixty-four ghosts are those of one after the other") {
    SplitMix random(23);
    for (int round = 0; round < 500; ++round) {
        const Tick now = 1'000 + random.below(1U << 20);
        std::array<Tick, 64> since{};
        std::array<float, 64> weight{}, priority{};
        for (Tick& tick : since) tick = now - random.below(1'000);
        for (float& one : weight) one = random.between(0.01F, 8);
        const std::uint64_t at_rest = random.next();
        const float least = random.between(0, 4'000);
        const std::uint64_t enough = lane_priorities(now, since, weight, at_rest, least, priority);
        for (std::size_t i = 0; i < 64; ++i) {
            const bool rests = (at_rest >> i & 1U) != 0;
            REQUIRE(priority[i] == lane_priority(now, since[i], weight[i], rests));
            REQUIRE((enough >> i & 1U) == (priority[i] >= least ? 1U : 0U));
        }
    }
}

TEST_CASE("replication: a local id is as urgent as its entity, whoever had it before") {
    GhostTable ghosts;
    ghosts.enter(make_entity_id(5, 1), KindId{}, false, 1);
    CHECK(ghosts.priority(0, 3, false) == 3);
    ghosts.set_weight(0, 8);
    CHECK(ghosts.priority(0, 3, false) == 24);
    CHECK(ghosts.priority(0, 3, true) == 24 * rest_priority);
    ghosts.leave(make_entity_id(5, 1), Reason::left);
    REQUIRE(ghosts.enter(make_entity_id(6, 1), KindId{}, false, 4) == 0);
    CHECK(ghosts.priority(0, 4, false) == 1);
}

TEST_CASE(
    "replication: what was lost or waited is forgotten with the first delivery of it, though the "
    "ghost changes in every tick") {
    constexpr Tick lost = 5, skipped = 12, ticks = 20, round_trip = 2;
    GhostTable ghosts;
    ghosts.enter(make_entity_id(5, 1), KindId{}, false, 1);
    std::array<bool, ticks> is_behind{};
    for (Tick now = 1; now < ticks; ++now) {
        if (now > round_trip) ghosts.resolve(now - round_trip, now - round_trip != lost);
        is_behind[now] = ghosts.behind()[0] != 0;
        change_entity(ghosts, 5, now);
        if (now == skipped) continue;  // the budget was full
        ghosts.sent(ghosts.begin_record(now, now), 0, now == 1 ? SentAs::enter : SentAs::update);
    }
    for (Tick now = 1; now < ticks; ++now) {
        CAPTURE(now);
        const bool after_loss = now == lost + round_trip;
        const bool after_wait = now > skipped + 1 && now < skipped + 1 + round_trip;
        CHECK(is_behind[now] == (after_loss || after_wait));
    }
}

TEST_CASE("replication: the longest wait is that of what was sent, what left and what waits") {
    GhostTable ghosts;
    const auto change = [&](Tick now) { change_entity(ghosts, 5, now); };
    ghosts.enter(make_entity_id(5, 1), KindId{}, false, 1);
    change(1);
    ghosts.sent(ghosts.begin_record(1, 1), 0, SentAs::enter);
    CHECK(ghosts.longest_wait_ticks() == 0);  // at once
    ghosts.resolve(1, true);
    change(2);
    change(4);
    CHECK(backlog_of(ghosts, 4).age_ticks_max == 2);
    change(5);
    ghosts.sent(ghosts.begin_record(2, 5), 0, SentAs::update);
    CHECK(ghosts.longest_wait_ticks() == 2);
    change(6);
    change(16);
    CHECK(backlog_of(ghosts, 16).age_ticks_max == 10);
    ghosts.begin_tick(17);
    ghosts.leave(make_entity_id(5, 1), Reason::left);
    CHECK(ghosts.longest_wait_ticks() == 10);
}

TEST_CASE("replication: local ids of a packet never cost more than was reckoned") {
    SplitMix random(3);
    std::vector<std::byte> bytes(20'000);
    for (int round = 0; round < 2'000; ++round) {
        const std::uint32_t lanes = 64 * (1 + random.below(40));
        const std::uint32_t one_in = 1 + random.below(200);
        std::vector<LocalId> list;
        for (LocalId lane = random.below(lanes); lane < lanes; ++lane)
            if (random.below(one_in) == 0) list.push_back(lane);
        const auto count = static_cast<std::uint32_t>(list.size());
        std::uint64_t least = ~std::uint64_t{0};
        for (unsigned k = 0; k <= rice_parameter_max; ++k) {
            BitWriter out(bytes);
            out.varint(count);
            if (count > 0) out.bits(k, rice_parameter_bits);
            LocalId expected = 0;
            for (const LocalId lane : list) {
                out.rice(lane - expected, k);
                expected = lane + 1;
            }
            REQUIRE(out.ok());
            least = std::min<std::uint64_t>(least, out.bits_written());
        }
        CHECK(least <= section_bits_max(ItemType::plain, count, lanes));
        BitWriter out(bytes);
        out.varint(count);
        LocalId expected = 0;
        for (const LocalId lane : list) {
            out.varint(lane - expected);
            expected = lane + 1;
        }
        CHECK(out.bits_written() <= section_bits_max(ItemType::enter, count, lanes));
    }
}

TEST_CASE("replication: fields are left out by their tick of change, never by value (A, B, A)") {
    SmallSchema small;
    WorldDef def;
    def.schema = &small.schema;
    World world = std::move(World::create(def)).value();
    FieldStore fields(small.schema);
    const EntityId e = *world.spawn(small.animal, {10, 10, 0});
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
    world.edit(e, small.body)->hp = 100;  // as at tick 1 again
    tick(3);
    const KindField hp = fields.layout(small.animal).fields[4];
    CHECK(small.schema.components()[index_of(hp.component)].fields[hp.field].name == "hp");
    CHECK(fields.changed_since(index_of(e), small.animal, 1) == FieldMask{1} << 4);
    CHECK(fields.changed_since(index_of(e), small.animal, 3) == 0);
    // A write that changes nothing after quantisation is no change.
    world.edit(e, small.position)->at.x += 0.001F;
    tick(4);
    CHECK_FALSE(fields.changed().test(index_of(e)));
}

TEST_CASE(
    "replication: O1 O2 children come with or after their parents on every client, whatever is "
    "lost, and never wait for nobody") {
    for (std::uint64_t seed = 50; seed < 54; ++seed) {
        SmallWorld world(seed, {0.25F, 0.1F, 0, 10'000, 45'000}, 300);
        for (int i = 0; i < 6; ++i) world.add_client();
        std::uint64_t children = 0;
        for (int tick = 0; tick < 500; ++tick) {
            world.step();
            for (const auto& c : world.clients) {
                std::vector<bool> known(c->client.ghost_end(), false);
                for (const ClientEvent& event : c->client.events())
                    children += event.is_enter() && event.kind == world.schema.crate ? 1 : 0;
                for (GhostId g = 0; g < c->client.ghost_end(); ++g) {
                    if (!c->client.is_held(g) || c->client.parent_of(g) == no_ghost) continue;
                    REQUIRE(c->client.is_held(c->client.parent_of(g)));
                }
                c->client.clear_events();
                CHECK(c->client.stats().order_violations == 0);
            }
        }
        CHECK(children > 5);
        // With a quiet world and a good network nothing waits for a parent for ever.
        world.game.frozen = true;
        for (auto& c : world.clients) c->up->faults = c->down->faults = {};
        world.run(200);
        std::vector<SessionStats> sessions;
        world.server->sessions(sessions);
        for (const auto& session : sessions) CHECK(session.backlog == 0);
        CHECK(world.proof->counters().digest_mismatches == 0);
    }
}

TEST_CASE("replication: the Rice parameter is the least of those with the fewest bits") {
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

TEST_CASE(
    "replication: one encoding of a changed entity serves all observers that need the same "
    "fields") {
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
