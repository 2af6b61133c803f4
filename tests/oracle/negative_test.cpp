// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A check that cannot fail proves nothing: each injected fault of the server must be detected and
// described. PURVIEW_BREAKABLE enables the faults; released builds do not have them.
#include <doctest/doctest.h>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

std::string first_word_of_trouble(InjectedFault injected_fault, std::uint64_t& truth,
                                  std::uint64_t& wire) {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    internal(*world.server).inject_fault(injected_fault);
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(300);
    truth = world.proof->counters().truth_mismatches;
    wire = world.proof->counters().digest_mismatches;
    std::string all;
    for (const std::string& text : world.proof->mismatches()) all += text + "\n";
    return all;
}

/// Findings of the check of packets, for a server with a fault that starts after a while.
std::string trouble_of_packets(InjectedFault injected_fault) {
    SmallWorld world(40, {0.05F, 0, 0, 10'000, 5'000});
    for (int i = 0; i < 6; ++i) world.add_client();
    world.run(150);
    CHECK(world.permits.trouble().empty());
    CHECK(world.permits.named().bodies > 1'000);
    CHECK(world.permits.named().partial > 1'000);
    internal(*world.server).inject_fault(injected_fault);
    world.run(150);
    return world.permits.trouble();
}

}  // namespace

TEST_CASE("oracle: a server without faults has no findings") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    CHECK(first_word_of_trouble(InjectedFault::none, truth, wire).empty());
    CHECK(truth + wire == 0);
}

TEST_CASE("oracle: the truth check finds an entity that leaks to an observer") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::leak, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("neither relevant nor leaving") != std::string::npos);
}

TEST_CASE("oracle: the packet check finds an entity that leaks to a client") {
    CHECK(trouble_of_packets(InjectedFault::leak).find("not relevant to it") != std::string::npos);
}

TEST_CASE("oracle: the packet check finds a value for another audience") {
    CHECK(trouble_of_packets(InjectedFault::audience).find("not in its allowed components") !=
          std::string::npos);
}

TEST_CASE("oracle: a change that is never sent is found with entity and field") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::stale, truth, wire);
    CHECK(truth + wire > 0);
    CHECK(text.find("field") != std::string::npos);
}

TEST_CASE("oracle: digests find a damaged field, and the client state identifies it") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::field, truth, wire);
    CHECK(wire > 0);
    CHECK(text.find("digest differs") != std::string::npos);
    CHECK(text.find("must be") != std::string::npos);
}

TEST_CASE("oracle: a child that is sent before its parent is found") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::order, truth, wire);
    CHECK(wire > 0);
    CHECK(text.find("before its parent") != std::string::npos);
}

TEST_CASE("oracle: an entity that is never sent is found by its waiting time") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::unsent, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("is not sent") != std::string::npos);
}

TEST_CASE("oracle: a leave that is never sent is found by its time without an ack") {
    std::uint64_t truth = 0;
    std::uint64_t wire = 0;
    const std::string text = first_word_of_trouble(InjectedFault::unsaid, truth, wire);
    CHECK(truth > 0);
    CHECK(text.find("its leave is not acknowledged") != std::string::npos);
}

TEST_CASE("oracle: a client without a connection causes no waiting time findings") {
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

TEST_CASE("oracle: a member that is disabled in its group need not follow its parent") {
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

TEST_CASE("oracle: data sent because of a key that the game did not set is found") {
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
    CHECK(text.find("replicated components are") != std::string::npos);
}

}  // namespace purview::test
