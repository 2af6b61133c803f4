// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Dead-reckoned fields: the encoding of differences, motions against an independent model, and
// client values compared in every tick with the world and with the server's view of the client.
#include <doctest/doctest.h>

#include "client/client_data.hpp"
#include "client/replica.hpp"
#include "core/internal_access.hpp"
#include "protocol/motion.hpp"
#include "protocol/quantize.hpp"
#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

__int128 floor_div(__int128 a, __int128 b) {
    const __int128 q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::uint32_t model_value(const Motion& m, Tick ticks, std::uint32_t largest) {
    const __int128 n = std::min<Tick>(ticks, 1000);
    const __int128 steps = floor_div(__int128{m.at} * 1024 + __int128{m.speed} * n + 32768, 65536);
    return static_cast<std::uint32_t>(steps < 0 ? 0 : steps > largest ? largest : steps);
}

/// Returns the number of fields that differ between the world and a client. Adds the number of
/// compared fields to `compared`. `all_of_them`: includes fields that are not dead-reckoned.
std::uint64_t count_wrong(const Session& session, const Client& client, const World& world,
                          bool all_of_them, std::uint64_t& compared) {
    std::uint64_t wrong = 0;
    const Schema& schema = world.schema();
    for (LocalId slot = 0; slot < session.ghosts.slots().end(); ++slot) {
        const GhostId ghost = ghost_id_of(slot);
        if (!session.ghosts.slots().is_live(slot) || !client.is_held(ghost)) continue;
        if (session.ghosts.sends().is_pending(slot)) continue;  // its update is not sent yet
        const EntityId entity = session.ghosts.slots().entity(slot);
        for (const ComponentId id : schema.kinds()[index_of(world.kind_of(entity))].components) {
            // Relative positions are skipped: the simulator compares them as world positions.
            if (id == schema.position() && internal(world).positions.is_relative(index_of(entity)))
                continue;
            const auto* data = static_cast<const std::byte*>(world.read(entity, id));
            const auto& fields = schema.components()[index_of(id)].fields;
            for (std::size_t f = 0; f < fields.size(); ++f) {
                if (!fields[f].extrapolated && !all_of_them) continue;
                if (fields[f].type == FieldType::text || fields[f].type == FieldType::reference)
                    continue;
                if (!client.is_replicated(ghost, id) || fields[f].type == FieldType::rotation)
                    continue;
                const double right = dequantized_value(fields[f], quantize(fields[f], data));
                ++compared;
                if (client.value_of(ghost, id, f) != right) ++wrong;
            }
        }
    }
    return wrong;
}

std::uint64_t updates_in_flight(const Session& session) {
    std::uint64_t items = 0;
    if (session.ghosts.packets().size() > 0)
        session.ghosts.packets().for_each_sent(session.ghosts.packets().newest(),
                                               [&](SentItem) { ++items; });
    return items;
}

struct Flight {
    float x = 0, y = 0;
};

/// A schema with one kind that has a dead-reckoned position.
struct FlightSchema {
    FlightSchema() {
        flight = schema.component<Flight>("flight")
                     .quantized("x", &Flight::x, {-1000, 1000, 0.01})
                     .quantized("y", &Flight::y, {-1000, 1000, 0.01})
                     .extrapolated();
        kind = schema.kind("thing", {flight.id});
    }
    Schema schema;
    Component<Flight> flight;
    KindId kind{};
};

}  // namespace

TEST_CASE("dead reckoning: differences round-trip, and unterminated codes are refused") {
    SplitMix random(1);
    std::vector<std::byte> bytes(32);
    for (int i = 0; i < 200'000; ++i) {
        const auto size = static_cast<unsigned>(random.below(25));
        const auto number = static_cast<std::int32_t>(random.below(1U << size));
        const std::int32_t difference = random.chance(0.5F) ? -number : number;
        const unsigned k = random.below(13);
        BitWriter out(bytes);
        write_difference(difference, k, out);
        REQUIRE(out.ok());
        REQUIRE(out.bits_written() <= difference_bits_max);
        BitReader in(std::span<const std::byte>(bytes).first(out.bytes_written()));
        REQUIRE(read_difference(k, in) == difference);
        REQUIRE(in.bits_read() == out.bits_written());
    }
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    BitReader endless(bytes);
    (void)read_difference(0, endless);
    CHECK_FALSE(endless.ok());
    CHECK(endless.bits_read() < 40);
}

TEST_CASE("dead reckoning: a motion passes through its value and matches the exact model") {
    SplitMix random(2);
    for (int round = 0; round < 20'000; ++round) {
        const std::uint32_t largest = (1U << (1 + random.below(24))) - 1;
        const auto any = [&] { return static_cast<std::uint32_t>(random.next() % (largest + 1)); };
        Motion motion = motion_at(any());
        for (int i = 0; i < 20; ++i) {
            const Tick ticks =
                random.chance(0.1F) ? 1 + random.below(1U << 31) : 1 + random.below(40);
            const std::uint32_t extrapolated = extrapolated_value(motion, ticks, largest);
            REQUIRE(extrapolated == model_value(motion, ticks, largest));
            std::uint32_t value = any();
            if (random.chance(0.7F)) {  // close to the extrapolated value
                value = extrapolated + random.below(3);
                value = value > 0 ? value - 1 : 0;
                value = std::min(value, largest);
            }
            const Motion next = next_motion(motion, ticks, value, largest);
            REQUIRE(extrapolated_value(next, 0, largest) == value);
            REQUIRE(difference_parameter(next) <= 12);
            motion = next;
        }
    }
}

TEST_CASE("dead reckoning: linear motion is exact in every tick and rarely sent") {
    FlightSchema schema;
    Stage stage(schema.schema, 1);
    const EntityId thing = stage.spawn(schema.kind);
    REQUIRE(stage.visibility().allow(stage.observers[0], thing, true) == Status::ok);
    std::uint64_t updates = 0, ticks = 0, compared = 0;
    const auto fly = [&](float dx, float dy, int count, bool counts) {
        for (int i = 0; i < count; ++i) {
            Flight* flight = stage.world().edit(thing, schema.flight);
            flight->x += dx;
            flight->y += dy;
            stage.step();
            const Session& session = *internal(*stage.server).sessions.find(stage.observers[0]);
            REQUIRE(count_wrong(session, stage.client(), stage.world(), true, compared) == 0);
            updates += counts ? updates_in_flight(session) : 0;
            ticks += counts ? 1 : 0;
        }
    };
    fly(0, 0, 5, false);
    fly(0.137F, -0.211F, 20, false);
    fly(0.137F, -0.211F, 200, true);
    CHECK(updates * 3 < ticks);  // the speed is not a whole number of steps
    updates = 0;
    fly(-0.5F, 0.3F, 8, false);  // a sudden change of direction
    fly(-0.5F, 0.3F, 100, true);
    CHECK(updates < 20);
    updates = 0;
    fly(0, 0, 8, true);
    CHECK(updates == 1);  // one update, which also ends the motion
    updates = 0;
    fly(0, 0, 50, true);
    CHECK(updates == 0);  // idle: no more updates
    CHECK(compared > 700);
}

TEST_CASE("dead reckoning: lost updates are sent again for any motion (O29)") {
    FlightSchema schema;
    SplitMix random(7);
    std::uint64_t compared = 0;
    for (int round = 0; round < 12; ++round) {
        Stage stage(schema.schema, 1);
        std::vector<EntityId> things;
        for (int i = 0; i < 20; ++i) {
            things.push_back(stage.spawn(schema.kind));
            REQUIRE(stage.visibility().allow(stage.observers[0], things.back(), true) ==
                    Status::ok);
        }
        stage.step(10);
        const auto fly = [&](std::uint32_t ticks, float loss) {
            stage.loss = loss;
            for (std::uint32_t tick = 0; tick < ticks; ++tick) {
                for (std::size_t i = 0; i < things.size(); ++i) {
                    Flight* flight = stage.world().edit(things[i], schema.flight);
                    if (i % 3 == 0) flight->x += 0.05F * static_cast<float>(i);
                    if (i % 3 == 1 && random.chance(0.05F)) flight->x = random.between(-900, 900);
                }
                stage.step();
            }
        };
        const auto wrong = [&] {
            const Session& session = *internal(*stage.server).sessions.find(stage.observers[0]);
            return count_wrong(session, stage.client(), stage.world(), true, compared);
        };
        fly(20 + random.below(20), 0.5F);
        stage.step(random.below(4));  // everything is idle, and packets are still lost
        stage.loss = 0;
        stage.step(6);
        CHECK(wrong() == 0);
        fly(3, 0);
        CHECK(wrong() == 0);
        CHECK(stage.client().ghost_count() == things.size());
    }
    CHECK(compared > 900);
}

TEST_CASE("dead reckoning: without network faults clients equal the world in every tick") {
    SmallWorld world(11, {}, 16'000, {20, 60, 6});
    for (int i = 0; i < 3; ++i) world.add_client();
    std::uint64_t compared = 0;
    for (int tick = 0; tick < 250; ++tick) {
        world.step();
        if (tick < 20) continue;
        for (const auto& session : internal(*world.server).sessions) {
            for (const auto& client : world.clients) {
                if (client->nonce != session->nonce) continue;
                REQUIRE(count_wrong(*session, client->client, world.server->world(), true,
                                    compared) == 0);
            }
        }
    }
    CHECK(world.proof->mismatches().empty());
    CHECK(compared > 2'000);
}

TEST_CASE("dead reckoning: under network faults clients hold what the server assumes (O29)") {
    for (const std::uint64_t seed : {1, 2, 3, 5, 6, 7}) {  // with seed 4 clients see almost nothing
        Faults faults;
        SplitMix random(seed);
        faults.loss = random.between(0, 0.3F);
        faults.duplicate = 0.05F;
        faults.burst = 0.01F;
        faults.delay_us = random.below(300'000);
        faults.jitter_us = random.below(200'000);
        SmallWorld world(seed, faults, seed % 2 == 0 ? 400 : 4'800, {20, 80, 6});
        for (int i = 0; i < 3; ++i) world.add_client();
        for (int tick = 0; tick < 300; ++tick) {
            // No acknowledgement arrives for longer than any baseline lasts.
            if (tick == 120 || tick == 180) {
                world.clients[0]->up->blackout = tick == 120;
            }
            world.step();
            REQUIRE_MESSAGE(world.proof->mismatches().empty(), world.proof->mismatches().front());
        }
        CHECK(world.proof->counters().digests_checked > 90);
        world.game.frozen = true;
        for (auto& client : world.clients) client->up->faults = client->down->faults = {};
        world.run(200);
        std::uint64_t compared = 0;
        for (const auto& session : internal(*world.server).sessions) {
            for (const auto& client : world.clients) {
                if (client->nonce != session->nonce) continue;
                CHECK(client->client.stats().packets_malformed == 0);
                CHECK(count_wrong(*session, client->client, world.server->world(), true,
                                  compared) == 0);
            }
        }
        CHECK(compared > 100);
        CHECK(world.proof->mismatches().empty());
    }
}

TEST_CASE("dead reckoning: a difference to a missing baseline is refused without effect") {
    FlightSchema schema;
    std::vector<std::byte> bytes(64);
    Replica replica(schema.schema);
    Tick newest = 9;
    const auto enter = [&](Tick tick) {
        BitWriter out(bytes);
        out.bits(tick, wire_tick_bits);
        out.varint(0);
        out.varint(1);
        out.varint(0);          // its local id
        out.bits(0b010000, 6);  // entered, not owned, complete, no parent
        for (int f = 0; f < 2; ++f) out.bits(1000, 18);
        out.varint(0);
        out.varint(0);
        return out.bits_written();
    };
    const auto differ = [&](Tick tick, Tick back) {
        BitWriter out(bytes);
        out.bits(tick, wire_tick_bits);
        for (int section = 0; section < 3; ++section) out.varint(0);
        out.varint(1);
        out.bits(0, rice_parameter_bits);
        out.bits(back, baseline_bits);
        out.rice(0, 0);
        for (int f = 0; f < 2; ++f) write_difference(7, 2, out);
        return out.bits_written();
    };
    const auto read = [&] {
        BitReader in(bytes);
        const bool good = replica.decoder.read(in);
        if (good) replica.accept(newest);
        return good;
    };
    (void)enter(10);
    REQUIRE(read());
    const std::uint64_t digest = replica.ghosts.digest();
    for (const Tick back : {0U, 3U, 31U}) {  // no baseline; before the enter; long before it
        (void)differ(12, back);
        CHECK_FALSE(read());
        CHECK(replica.ghosts.digest() == digest);
    }
    (void)differ(12, 2);
    CHECK(read());
    CHECK(replica.ghosts.words(0)[0] == 1007);
    CHECK(newest == 12);
    (void)differ(14, 4);  // relative to the enter: later updates do not matter
    CHECK(read());
    CHECK(replica.ghosts.words(0)[0] == 1007);
    // A value outside the range of the field.
    BitWriter out(bytes);
    out.bits(15, wire_tick_bits);
    for (int section = 0; section < 3; ++section) out.varint(0);
    out.varint(1);
    out.bits(0, rice_parameter_bits);
    out.bits(5, baseline_bits);
    out.rice(0, 0);
    write_difference(-1001, 2, out);
    write_difference(0, 2, out);
    CHECK_FALSE(read());
}

TEST_CASE("dead reckoning: unsuitable fields are refused, and a sent schema marks fields") {
    struct Some {
        float real = 0, fine = 0;
        std::int32_t number = 0;
    };
    const auto problem = [](auto&& declare) {
        Schema schema;
        const auto some = schema.component<Some>("some")
                              .real("real", &Some::real)
                              .quantized("fine", &Some::fine, {-1000, 1000, 0.0001})
                              .integer("number", &Some::number, 0, 100);
        declare(schema, some.id());
        return schema.problem();
    };
    CHECK(problem([](Schema& s, ComponentId c) { s.extrapolate(c, "number"); }).empty());
    CHECK_FALSE(problem([](Schema& s, ComponentId c) { s.extrapolate(c, "real"); }).empty());
    CHECK_FALSE(problem([](Schema& s, ComponentId c) { s.extrapolate(c, "fine"); }).empty());
    CHECK_FALSE(problem([](Schema& s, ComponentId c) { s.extrapolate(c, "other"); }).empty());
    CHECK_FALSE(problem([](Schema& s, ComponentId c) {
                    s.audience(c, {AudienceType::owner});
                    s.extrapolate(c, "number");
                }).empty());
    CHECK_FALSE(problem([](Schema& s, ComponentId c) {
                    s.extrapolate(c, "number");
                    s.audience(c, {AudienceType::owner});
                }).empty());
    FlightSchema flight;
    Schema other;
    const auto same = other.component<Flight>("flight")
                          .quantized("x", &Flight::x, {-1000, 1000, 0.01})
                          .quantized("y", &Flight::y, {-1000, 1000, 0.01});
    other.kind("thing", {same.id()});
    CHECK(other.hash() != flight.schema.hash());
    std::vector<std::byte> bytes(400);
    BitWriter out(bytes);
    write_schema(flight.schema, out);
    BitReader in(bytes);
    const auto read = read_schema(in);
    REQUIRE(read);
    CHECK(read->hash() == flight.schema.hash());
    CHECK(read->components()[0].fields[1].extrapolated);
}

}  // namespace purview::test
