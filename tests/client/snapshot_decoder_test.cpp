// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/snapshot_decoder.hpp"

#include <doctest/doctest.h>

#include "core/hash.hpp"
#include "support/written_snapshot.hpp"

namespace purview::test {

TEST_CASE("decoder: decoding yields leaves, enters and updates without changing ghosts") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{0}, {1, 0}, {7}}}.apply(replica, newest));
    const std::uint64_t digest = replica.ghosts.digest();
    const WrittenSnapshot written{
        .tick = 2, .leaves = {1}, .enters = {{2, 7}, {9}}, .links = {{7, 0}}, .updates = {{0, 12}}};
    const auto bytes = written.bytes(replica.ghosts.schema());
    BitReader in(bytes);
    REQUIRE(replica.decoder.read(in));
    CHECK(replica.ghosts.digest() == digest);
    using Type = GhostEdit::Type;
    const auto edits = replica.decoder.edits();
    REQUIRE(edits.size() == 5);
    CHECK(edits[0].type == Type::leave);
    CHECK(edits[1].type == Type::enter);
    CHECK(edits[1].parent == 7);
    CHECK(edits[2].linked_parent() == no_local_id);
    CHECK(edits[3].relink);
    CHECK(edits[4].type == Type::update);
    CHECK_FALSE(edits[4].is_linking());
    CHECK(replica.decoder.completed_tick(newest) == 2);
    CHECK(replica.decoder.motions(edits[4]) == nullptr);
    std::vector<LocalId> named;
    replica.decoder.for_each_named([&](auto, LocalId ghost) { named.push_back(ghost); });
    CHECK(named == std::vector<LocalId>{1, 2, 7, 9, 7, 0, 0});
    unsigned bodies = 0;
    replica.decoder.for_each_body(
        [&](LocalId, std::uint32_t parts) { bodies += parts == 1 ? 1 : 0; });
    CHECK(bodies == 4);
}

TEST_CASE("decoder: a 16-bit tick is completed to the nearest full tick") {
    Replica replica(schema_of_things());
    Tick newest = 0x1fffe;
    REQUIRE(WrittenSnapshot{.tick = 3}.apply(replica, newest));
    CHECK(newest == 0x20003);
    REQUIRE(WrittenSnapshot{.tick = 0xffff}.apply(replica, newest));
    CHECK(newest == 0x20003);
}

TEST_CASE("decoder: a snapshot that needs more memory than allowed is refused") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    replica.decoder.bytes_max = replica.ghosts.page_bytes();
    CHECK(WrittenSnapshot{.tick = 1, .enters = {{0}, {1}}}.apply(replica, newest));
    CHECK_FALSE(WrittenSnapshot{.tick = 2, .enters = {{500}}}.apply(replica, newest));
    CHECK(WrittenSnapshot{.tick = 3, .enters = {{2}}}.apply(replica, newest));
    CHECK(replica.ghosts.count() == 3);
}

TEST_CASE("decoder: truncated and damaged snapshots change no ghosts") {
    Replica replica(schema_of_things());
    Tick newest = 0;
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{0}, {1, 0}}}.apply(replica, newest));
    const WrittenSnapshot written{.tick = 2, .leaves = {1}, .enters = {{5}}, .updates = {{0, 9}}};
    const auto bytes = written.bytes(replica.ghosts.schema());
    const std::uint64_t digest = replica.ghosts.digest();
    SplitMix random(3);
    for (int round = 0; round < 2'000; ++round) {
        auto damaged = bytes;
        damaged[random.below(static_cast<std::uint32_t>(damaged.size()))] ^=
            static_cast<std::byte>(1 + random.below(255));
        damaged.resize(1 + random.below(static_cast<std::uint32_t>(damaged.size())));
        BitReader in(damaged);
        if (replica.decoder.read(in))
            for (const GhostEdit& edit : replica.decoder.edits()) CHECK(edit.ghost < local_ids_max);
    }
    CHECK(replica.ghosts.digest() == digest);
}

}  // namespace purview::test
