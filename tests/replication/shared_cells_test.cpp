// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The shared payload modes against per-observer replication: every client holds the same state in
// all modes, under any loss.
#include "support/sanitized.hpp"
#include "support/shared_world.hpp"

namespace purview::test {

namespace {

std::string first_difference(const std::string& a, const std::string& b) {
    std::size_t at = 0, line = 0;
    while (at < std::min(a.size(), b.size()) && a[at] == b[at]) {
        if (a[at++] == '\n') line = at;
    }
    if (at == a.size() && at == b.size()) return "";
    return "'" + a.substr(line, a.find('\n', at) - line) + "' and '" +
           b.substr(line, b.find('\n', at) - line) + "'";
}

void check_proof(const CellWorld& world) {
    for (const std::string& text : world.proof->mismatches()) MESSAGE(text);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.proof->counters().truth_mismatches == 0);
    CHECK(world.proof->counters().digests_checked > 0);
}

}  // namespace

TEST_CASE("shared cells: both modes equal per-observer replication in each tick (P30 P4 P6)") {
    std::uint64_t copies = 0, ghosts = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(seed);
        CellWorldDef def;
        def.seed = seed;
        CellWorld alone(def);
        def.mode = Payload::update_many;
        CellWorld update_many(def);
        def.mode = Payload::read_many;
        CellWorld read_many(def);
        for (int tick = 0; tick < 150; ++tick) {
            alone.step();
            update_many.step();
            read_many.step();
            for (std::uint32_t c = 0; c < def.clients; ++c) {
                CAPTURE(tick);
                CAPTURE(c);
                REQUIRE(first_difference(alone.view(c), update_many.view(c)) == "");
                REQUIRE(first_difference(alone.view(c), read_many.view(c)) == "");
                ghosts += alone.peers[c]->client.ghost_count();
            }
        }
        for (const CellWorld* world : {&update_many, &read_many}) {
            check_proof(*world);
            CHECK(world->proof->counters().shared_items > 1'000);
            copies += world->server->stats().cell_payload_copies;
        }
        CHECK(alone.server->stats().cell_payload_copies == 0);
    }
    CHECK(copies > 5'000);
    CHECK(ghosts > 10'000);
}

TEST_CASE("shared cells: clients hold the sent state under faults (P30 P17 P18 P20)") {
    for (const Payload mode : shared_modes) {
        for (std::uint64_t seed = 1; seed <= unless_sanitized<std::uint64_t>(12, 4); ++seed) {
            CAPTURE(seed);
            CAPTURE(static_cast<int>(mode));
            CellWorldDef def;
            def.mode = mode;
            def.seed = seed;
            def.faults = {0.1F, 0.05F, 0.01F, 30'000, 60'000, 0.005F, 10};
            def.budget_bytes = seed % 3 == 0 ? 300 : 4'800;
            def.denies = seed % 2 == 0;
            CellWorld world(def);
            world.step(300);
            check_proof(world);
            CHECK(world.tick_bytes_max <= def.budget_bytes);
            CHECK(world.proof->counters().shared_items > (seed % 3 == 0 ? 100 : 1'000));
            if (def.denies) CHECK(world.server->stats().cell_payloads_stripped > 10);
            // Once the world is idle, every client holds everything relevant.
            world.is_frozen = true;
            for (auto& peer : world.peers) {
                peer->up = FaultyNetwork(1, {});
                peer->down = FaultyNetwork(1, {});
            }
            world.step(100);
            check_proof(world);
            for (std::uint32_t c = 0; c < def.clients; ++c)
                CHECK(world.peers[c]->client.ghost_count() == world.relevant(c).size());
            std::vector<SessionStats> sessions;
            world.server->sessions(sessions);
            for (const SessionStats& session : sessions) CHECK(session.backlog == 0);
        }
    }
}

}  // namespace purview::test
