// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Decodes malformed and contradictory corrections, which no server sends.
#include <cstring>
#include <map>

#include "client/client_data.hpp"
#include "client/correction_codec.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "protocol/rpc_args.hpp"
#include "replication/snapshot_writer.hpp"
#include "support/drive_world.hpp"

using namespace purview;
using namespace purview::test;

namespace {

/// The capacity equals the size, so that a sanitizer detects reads past the end.
using Message = std::vector<std::byte>;

/// Returns a correction of one to three groups, some of them unknown.
Message random_correction(const DriveSchema& s, const PredictedLayout& layout, InputNumber tick,
                          SplitMix& random) {
    Message bytes(4'096);
    BitWriter out(bytes);
    out.u16(static_cast<std::uint16_t>(tick));
    const std::uint32_t groups = 1 + random.below(3);
    out.varint(groups);
    for (std::uint32_t g = 0; g < groups; ++g) {
        const bool known = random.chance(0.8F);
        out.boolean(known);
        if (!known) continue;
        const std::uint32_t members = 1 + random.below(5);
        out.varint(members);
        for (std::uint32_t m = 0; m < members; ++m) {
            const KindId kind =
                id_at<KindId>(random.below(static_cast<std::uint32_t>(s.schema.kinds().size())));
            out.varint(random.below(1U << random.below(20)));
            out.bits(index_of(kind), kind_bits(s.schema));
            out.boolean(random.chance(0.5F));
            const bool owned = random.chance(0.7F);
            out.boolean(owned);
            if (!owned) continue;
            if (s.schema.kinds()[index_of(kind)].relative_position)
                out.varint(random.chance(0.5F) ? 0 : 1 + random.below(1U << random.below(20)));
            for (const PredictedPart& part : layout.parts(kind)) {
                alignas(16) std::array<std::byte, Schema::component_bytes_max> data{};
                RpcWords words{};
                for (std::uint32_t& word : words) word = random.below(1U << 20);
                struct_of_words(*part.def, words.data(), data.data());
                words_of_struct(*part.def, data.data(), words.data());
                write_words(*part.def, words.data(), out);
            }
        }
    }
    REQUIRE(out.ok());
    bytes.resize(out.bytes_written());
    bytes.shrink_to_fit();
    return bytes;
}

/// Returns the encoded size of the decoded members in bits. Unknown groups have no members.
std::size_t bits_of_members(const PredictedLayout& layout, const DriveSchema& s,
                            const Correction& correction) {
    std::size_t bits = 0;
    for (const CorrectedMember& member : correction.members) {
        bits += BitWriter::varint_bits(member.ghost) + kind_bits(s.schema) + 2;
        if (!member.has_values) continue;
        if (s.schema.kinds()[index_of(member.kind)].relative_position)
            bits += BitWriter::varint_bits(member.frame == no_local_id ? 0 : member.frame + 1);
        for (const PredictedPart& part : layout.parts(member.kind)) bits += words_bits(*part.def);
    }
    return bits;
}

Message damage(Message message, SplitMix& random) {
    const auto at = [&] { return random.below(static_cast<std::uint32_t>(message.size())); };
    for (std::uint32_t n = 1 + random.below(3); n > 0; --n)
        message[at()] ^= std::byte{static_cast<std::uint8_t>(1U << random.below(8))};
    if (random.chance(0.3F)) message.resize(at());
    return Message(message);
}

/// Returns the positions of all ghosts as the player would see them.
std::vector<Vec3> shown(DriveWorld& world) {
    std::vector<Vec3> positions;
    world.player().client.for_each([&](GhostId ghost) {
        positions.push_back(world.player().prediction->position_of(ghost, world.now));
    });
    return positions;
}

}  // namespace

TEST_CASE("correction: malformed and truncated messages are refused as a whole") {
    const DriveSchema s;
    const PredictedLayout layout(s.schema);
    SplitMix random(20'31);
    Correction read;
    std::map<bool, int> taken;
    const auto look = [&](const Message& message, InputNumber newest) {
        const bool is_one = read_correction(s.schema, layout, newest, message, read);
        ++taken[is_one];
        if (!is_one) {
            CHECK(read.members.empty());
            return false;
        }
        CHECK(read.tick >= 1);
        CHECK(read.tick <= newest);
        CHECK(bits_of_members(layout, s, read) <= message.size() * 8);
        for (const CorrectedMember& member : read.members) {
            CHECK(member.ghost < local_ids_max);
            CHECK((member.frame == no_local_id || member.frame < local_ids_max));
            CHECK(index_of(member.kind) < s.schema.kinds().size());
        }
        return true;
    };
    for (int round = 0; round < 3'000; ++round) {
        const InputNumber newest = 1 + random.below(1U << (1 + random.below(30)));
        const InputNumber tick = newest - std::min(newest - 1, random.below(90));
        const Message sound = random_correction(s, layout, tick, random);
        REQUIRE(look(sound, newest));
        CHECK(read.tick == tick);
        Message less = sound;
        less.resize(random.below(static_cast<std::uint32_t>(sound.size())));
        CHECK_FALSE(look(Message(less), newest));
        Message more = sound;
        more.push_back({});
        CHECK_FALSE(look(Message(more), newest));
        (void)look(damage(sound, random), newest);
        Message noise(random.below(64));
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random.below(256));
        (void)look(noise, newest);
    }
    MESSAGE(taken[true] << " taken, " << taken[false] << " refused");
    CHECK(taken[false] > 6'000);
    // A correction of a command that was never issued is refused.
    CHECK_FALSE(look(random_correction(s, layout, 8, random), 7));
    CHECK_FALSE(look(random_correction(s, layout, 1, random), 0));
}

TEST_CASE("prediction: a different schema with the same hash is not accepted") {
    DriveWorld world(1);
    Client& client = world.player().client;
    const std::uint64_t joined = world.player().prediction->newest_input();
    world.run(30);
    CHECK(world.player().prediction->newest_input() > joined);
    // Simulates a forged schema with the same hash: the whole schema is compared.
    Schema other;
    const Component<Vec3> tag = other.component<Vec3>("tag").real("x", &Vec3::x);
    for (int k = 0; k < 3; ++k) other.kind("kind" + std::to_string(k), {tag.id});
    other.take_input(id_at<KindId>(0), other.input<Vec3>("drive").real("x", &Vec3::x).id());
    RpcDesc desc;
    desc.direction = RpcDirection::to_server;
    desc.target = RpcTarget::none;
    const Rpc<Vec3> call = other.rpc<Vec3>("call", desc).real("x", &Vec3::x);
    REQUIRE(other.problem().empty());
    internal(client).schema_match.server_hash = other.hash();
    auto made = Prediction::create(client, {.schema = &other});
    REQUIRE(made);
    CHECK(made->ticks_due(world.now) == 0);
    CHECK(made->run_tick() == Status::not_ready);
    CHECK(client.call(call, GhostId::none, Vec3{}) == Status::bad_argument);
    CHECK_FALSE(internal(client).is_own(other, other.hash()));
    internal(client).schema_match.server_hash = world.schema.schema.hash();
    CHECK(internal(client).is_own(world.schema.schema, world.schema.schema.hash()));
    DriveSchema again;
    CHECK(internal(client).is_own(again.schema, again.schema.hash()));
}

TEST_CASE("correction: a malformed correction is counted and changes no visible state") {
    DriveWorld world(1, Faults{.delay_us = 30'000});
    const ObserverId owner = world.player().observer;
    const EntityId car = world.spawn(world.schema.vehicle, {}, owner);
    (void)world.spawn_under(car, world.schema.turret, owner);
    world.player().control = [&](auto& player, InputNumber) {
        const GhostId ghost = world.ghost(0, car);
        if (ghost != GhostId::none)
            (void)player.prediction->set_part(ghost, world.schema.drive, Drive{0.8F, 0.2F, false});
    };
    world.run(60);
    ClientInputs& inputs = internal(world.player().client).inputs;
    Prediction& prediction = *world.player().prediction;
    const PredictedLayout layout(world.schema.schema);
    SplitMix random(7);
    Correction read;
    (void)prediction.ticks_due(world.now);
    const std::vector<Vec3> before = shown(world);
    const PredictionStats stats = prediction.stats();
    std::uint64_t refused = 0;
    while (refused < 300) {
        Message bad = damage(
            random_correction(world.schema, layout, prediction.newest_input() - 3, random), random);
        if (read_correction(world.schema.schema, layout, prediction.newest_input(), bad, read))
            continue;
        const std::uint64_t malformed = world.player().client.stats().packets_malformed;
        inputs.messages.push_back(std::move(bad));
        (void)prediction.ticks_due(world.now);
        REQUIRE(world.player().client.stats().packets_malformed == malformed + 1);
        ++refused;
    }
    const std::vector<Vec3> after = shown(world);
    REQUIRE(after.size() == before.size());
    CHECK(std::memcmp(after.data(), before.data(), before.size() * sizeof(Vec3)) == 0);
    CHECK(prediction.stats().corrections == stats.corrections);
    CHECK(prediction.stats().confirmations == stats.confirmations);
    CHECK(prediction.stats().replayed_inputs == stats.replayed_inputs);
}
