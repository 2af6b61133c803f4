// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A check that cannot fail proves nothing: each way of spoiling the server must be noticed, in
// words. (These tests are built with PURVIEW_BREAKABLE; the released program has no such switch.)
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

std::string first_word_of_trouble(Spoil spoil, std::uint64_t& truth, std::uint64_t& wire) {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    internal(*world.server).set_spoil(spoil);
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(300);
    truth = world.proof->counters().truth_mismatches;
    wire = world.proof->counters().digest_mismatches;
    std::string all;
    for (const std::string& text : world.proof->mismatches()) all += text + "\n";
    return all;
}

/// What the packets that reach clients say of a server that was sound for a while.
std::string trouble_of_packets(Spoil spoil) {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(150);
    CHECK(world.permits.trouble().empty());
    CHECK(world.permits.named().bodies > 1'000);
    CHECK(world.permits.named().partial > 1'000);
    internal(*world.server).set_spoil(spoil);
    world.run(150);
    return world.permits.trouble();
}

}  // namespace

TEST_CASE("check: an untouched server is not accused") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    CHECK(first_word_of_trouble(Spoil::none, truth, wire).empty());
    CHECK(truth + wire == 0);
}

TEST_CASE("check: an entity that leaks to an observer is found by the truth check") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::leak, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("neither relevant nor leaving") != std::string::npos);
}

TEST_CASE("check: an entity that leaks is found by the packets that reach a client") {
    CHECK(trouble_of_packets(Spoil::leak).find("may not know of it") != std::string::npos);
}

TEST_CASE("check: a value that is for others is found by the packets that reach a client") {
    CHECK(trouble_of_packets(Spoil::audience).find("which is for others") != std::string::npos);
}

TEST_CASE("check: a change that is never sent is found, with entity and field") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::stale, truth, wire);
    CHECK(truth + wire > 0);
    CHECK(text.find("field") != std::string::npos);
}

TEST_CASE("check: a damaged field is found by the digests, and named by the client's own state") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::field, truth, wire);
    CHECK(wire > 0);
    CHECK(text.find("digest differs") != std::string::npos);
    CHECK(text.find("must be") != std::string::npos);
}

TEST_CASE("check: a child sent before its parent is found") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::order, truth, wire);
    CHECK(wire > 0);
    CHECK(text.find("before its parent") != std::string::npos);
}

TEST_CASE("check: who is never sent is found by how long he waits") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::unsent, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("is not sent") != std::string::npos);
}

TEST_CASE(
    "check: a leave that is never told is found by how long it is not known to have arrived") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(Spoil::unsaid, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("its leave is not known to have arrived") != std::string::npos);
}

TEST_CASE("check: while a client does not answer, nothing waits too long") {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(100);
    const auto set_dark = [&](bool is_dark) {
        for (FaultyNetwork* network : {world.clients[0]->up.get(), world.clients[0]->down.get()})
            network->blackout = is_dark;
    };
    set_dark(true);
    world.run(160);
    set_dark(false);
    world.run(160);
    CHECK(world.joined_count() == 6);
    CHECK(world.proof->mismatches().empty());
}

TEST_CASE("check: a member that is out of its group is not expected below its parent") {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(60);
    World& all = world.server->world();
    std::vector<EntityId> members;
    all.for_each([&](EntityId entity) {
        if (all.group_parent_of(entity) != EntityId::none) members.push_back(entity);
    });
    CHECK(members.size() > 10);
    for (const bool is_in : {false, true}) {
        for (const EntityId member : members)
            CHECK(all.set_group_enabled(member, is_in) == Status::ok);
        world.run(60);
        CHECK(world.proof->mismatches().empty());
    }
}

TEST_CASE("check: a key that the game did not give does not make who is told by it right") {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(60);
    CHECK(world.proof->mismatches().empty());
    for (const auto& [index, player] : world.game.players) {
        const ObserverId observer = world.server->world().owner_of(player);
        for (std::uint16_t team = 1; team < 10; ++team)
            CHECK(world.server->visibility().add_key(observer, world.schema.team, Key{team}) ==
                  Status::ok);
    }
    world.run(60);
    std::string text;
    for (const std::string& one : world.proof->mismatches()) text += one + "\n";
    CHECK(world.proof->counters().digest_mismatches > 0);
    CHECK(text.find("parts told are") != std::string::npos);
}

}  // namespace purview::test
