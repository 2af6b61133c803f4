// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The server is authoritative: data of clients reaches the game and changes the world only if the
// game edits it.
#include <cstring>
#include <string>
#include <vector>

#include "net.hpp"

namespace purview::test::server_decides {

namespace {

/// A command to this test's game: sets the value of the entity with this tag.
struct SetValue {
    std::uint32_t tag = 0;
    std::uint32_t value = 0;
};

struct DecidedWorld {
    explicit DecidedWorld(const Faults& faults = {}) : net(setup, 2, setup.def, faults) {
        for (std::uint32_t index = 0; index < 2; ++index) {
            mine[index] = net.spawn(setup.thing, {static_cast<float>(index), 0, 0});
            secret[index] = net.spawn(setup.named, {static_cast<float>(index), 5, 0});
            rider[index] = net.spawn(setup.rider, {static_cast<float>(index), 1, 0});
            CHECK(net.world().attach(rider[index], mine[index]) == Status::ok);
            CHECK(net.world().set_owner(mine[index], net.observer(index)) == Status::ok);
            CHECK(net.visibility().allow(net.observer(index), secret[index], true) == Status::ok);
            net.world().edit(mine[index], setup.purse)->coins = 5;
        }
        net.when_command = [this](Server& server, ObserverId, std::span<const std::byte> data) {
            ++commands;
            SetValue set;
            if (!permits || data.size() != sizeof set) return;
            std::memcpy(&set, data.data(), sizeof set);
            server.world().for_each([&](EntityId entity) {
                if (net.tag_of(entity) == set.tag)
                    server.world().edit(entity, setup.tag)->value = set.value;
            });
        };
        CHECK(net.settle() == "");
    }
    /// All state that a client may try to change, as text.
    std::string state() {
        std::string text;
        net.world().for_each([&](EntityId entity) {
            const Vec3 at = net.world().position_of(entity);
            const Tag& tag = *net.world().get(entity, setup.tag);
            const Purse* purse = net.world().get(entity, setup.purse);
            text += std::to_string(tag.number) + " is " + std::to_string(tag.value) + " at " +
                    std::to_string(at.x) + "," + std::to_string(at.y) + " of " +
                    std::to_string(index_of(net.world().owner_of(entity))) + " under " +
                    std::to_string(index_of(net.world().parent_of(entity))) + " has " +
                    std::to_string(purse == nullptr ? 0 : purse->coins);
            for (std::uint32_t index = 0; index < 2; ++index)
                text +=
                    net.visibility().is_relevant(net.observer(index), entity) ? " seen" : " unseen";
            text += "\n";
        });
        return text;
    }
    Status send(std::uint32_t index, SetValue set) {
        return net.client(index).send_command(std::as_bytes(std::span(&set, 1)));
    }

    TagSchema setup;
    Net net;
    EntityId mine[2], secret[2], rider[2];
    bool permits = false;
    std::uint64_t commands = 0;
};

}  // namespace

TEST_CASE("server decides: a command changes nothing unless the game acts on it" *
          doctest::test_suite("F32")) {
    DecidedWorld world;
    const std::string before = world.state();
    for (const EntityId entity : {world.mine[0], world.mine[1], world.secret[1]}) {
        CHECK(world.send(0, {world.net.tag_of(entity), 9}) == Status::ok);
        world.net.step(2);
    }
    CHECK(world.commands == 3);  // they reached the game
    CHECK(world.state() == before);
    world.permits = true;
    CHECK(world.send(0, {world.net.tag_of(world.mine[1]), 9}) == Status::ok);
    world.net.step(2);
    CHECK(world.commands == 4);
    CHECK(world.net.world().get(world.mine[1], world.setup.tag)->value == 9);
    CHECK(world.state() != before);
    CHECK(world.net.settle() == "");
}

TEST_CASE("server decides: no bytes of a client change an entity or its relevance" *
          doctest::test_suite("F32")) {
    DecidedWorld world({0.05F, 0, 0, 10'000, 20'000});
    Net& net = world.net;
    const std::string before = world.state();
    std::vector<std::vector<std::byte>> sent;  // both directions
    net.on_datagram = [&](std::span<const std::byte> bytes, bool) {
        if (sent.size() < 400) sent.emplace_back(bytes.begin(), bytes.end());
    };
    SplitMix random(4);
    std::uint64_t tries = 0;
    for (int i = 0; i < 300; ++i) {
        (void)world.send(0, {random.below(12), random.below(100)});
        std::vector<std::byte> message(random.below(2'000));
        for (std::byte& one : message) one = static_cast<std::byte>(random.next());
        if (i % 10 == 0) (void)net.client(0).send_message(message);
        net.step();
        // Sends packets of all clients and of the server again, unchanged or damaged: from its own
        // address, from the other client's and from a new one.
        for (int n = 0; n < 4 && !sent.empty(); ++n) {
            std::vector<std::byte> bytes =
                sent[random.below(static_cast<std::uint32_t>(sent.size()))];
            for (std::uint32_t flips = random.below(4); flips > 0; --flips)
                bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] ^=
                    static_cast<std::byte>(1U << random.below(8));
            if (random.chance(0.2F))
                bytes.resize(1 + random.below(static_cast<std::uint32_t>(bytes.size())));
            Address from = net.peers[0]->address;
            from.port = static_cast<std::uint16_t>(1 + random.below(2));
            net.server->receive(bytes, from, net.now);
            ++tries;
        }
        REQUIRE(world.state() == before);
    }
    CHECK(tries > 1'000);
    CHECK(world.commands > 100);
    CHECK(net.world().entity_count() == 6);
    CHECK(net.settle() == "");
    // Each client equals the server and has no hidden entity.
    for (std::uint32_t index = 0; index < 2; ++index) {
        CHECK(net.client(index).state() == ClientState::joined);
        CHECK(net.ghost(index, world.secret[1 - index]) == GhostId::none);
    }
    net.check_streams();
}

}  // namespace purview::test::server_decides
