// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A packet carries 16 bits of its number. A recorded packet from 65,536 packets ago must not be
// accepted.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <vector>

#include "core/internal_access.hpp"
#include "link/packet_link.hpp"
#include "server/server_data.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t turn = 65'536, kept_from = 200, kept_count = 100;

struct OneKind {
    OneKind() {
        position = add_position(schema, 0, 1024);
        walker = schema.kind("walker", {position.id});
        def.rules.max = {1024, 1024, 0};
    }
    Schema schema;
    Component<Position> position;
    KindId walker{};
    ServerDef def;
};

/// A client and its server. Keeps what both sent as packets 200 to 299.
struct Recorded {
    Recorded() {
        walker = stage.spawn(setup.walker, {1, 1, 0});
        show(stage, 0, walker);
        while (session().link.newest_accepted() < turn + kept_from + kept_count / 2) step();
    }
    Session& session() { return *internal(*stage.server).sessions.front(); }
    void step() {
        now += 50'000;
        ++ticks;  // so that the server has an update in every tick
        (void)stage.world().move(walker, {ticks % 2 == 0 ? 1.0F : 9.0F, 1, 0});
        Client& client = *stage.clients[0];
        client.tick(now);
        std::span<const std::byte> message;
        while (client.next_datagram(message)) {
            stage.server->receive(message, from, now);
            keep(to_server, session().link.newest_accepted(), message);
        }
        stage.server->tick(now);
        OutgoingDatagram out;
        while (stage.server->next_datagram(out)) {
            client.receive(out.bytes, now);
            keep(to_client, session().link.next_sequence() - 1, out.bytes);
        }
    }
    using Kept = std::map<std::uint32_t, std::vector<std::byte>>;
    static void keep(Kept& kept, std::uint32_t number, std::span<const std::byte> bytes) {
        if (number >= kept_from && number < kept_from + kept_count)
            kept.emplace(number, std::vector<std::byte>(bytes.begin(), bytes.end()));
    }

    OneKind setup;
    Stage stage{setup.schema, 1, setup.def};
    EntityId walker{};
    std::uint64_t ticks = 0;
    Address from = internal(*stage.server).sessions.front()->address;
    Micros now = stage.now;
    Kept to_server, to_client;
};

}  // namespace

TEST_CASE("link: a packet from 65,536 packets ago is dropped in both directions") {
    Recorded world;
    REQUIRE(world.to_server.size() == kept_count);
    const std::uint32_t newest = world.session().link.newest_accepted();
    const std::uint64_t damaged = internal(*world.stage.server).drops.bad_checksum;
    std::uint64_t replayed = 0;
    for (const auto& [number, bytes] : world.to_server) {
        if (number + turn <= newest) continue;
        world.stage.server->receive(bytes, world.from, world.now);
        ++replayed;
    }
    REQUIRE(replayed > 10);
    CHECK(world.session().link.newest_accepted() == newest);
    CHECK(internal(*world.stage.server).drops.bad_checksum == damaged + replayed);

    Client& client = *world.stage.clients[0];
    const std::uint64_t taken = client.stats().packets_received;
    std::uint64_t sent = 0;
    for (const auto& [number, bytes] : world.to_client) {
        if (number + turn < world.session().link.next_sequence()) continue;
        client.receive(bytes, world.now);
        ++sent;
    }
    REQUIRE(sent > 10);
    CHECK(client.stats().packets_received == taken);
    // The connection continues unaffected.
    for (int i = 0; i < 50; ++i) world.step();
    CHECK(world.session().link.newest_accepted() == newest + 50);
    CHECK(client.state() == ClientState::joined);
}

TEST_CASE("link: a packet half the number range behind does not match its seed") {
    // How a receiver at packet 40,000 expands numbers, and which checksum seed it expects for them.
    PacketLink sender, receiver;
    std::array<std::byte, 64> bytes{};
    std::vector<std::byte> early;
    std::vector<DeliveryNotice> notices;
    for (std::uint32_t number = 1; number <= 40'000; ++number) {
        BitWriter out(bytes);
        (void)sender.write_header(out);
        BitReader in(out.written());
        REQUIRE(receiver.read_header(in) == PacketLink::Verdict::accepted);
        receiver.accept(notices);
        BitWriter back(bytes);
        (void)receiver.write_header(back);
        BitReader answer(back.written());
        REQUIRE(sender.read_header(answer) == PacketLink::Verdict::accepted);
        sender.accept(notices);
        notices.clear();
    }
    const auto number_of = [&](std::uint32_t number) {
        const std::array<std::byte, 2> header{static_cast<std::byte>(number),
                                              static_cast<std::byte>(number >> 8)};
        return receiver.number_of(header);
    };
    CHECK(number_of(40'001) == 40'001);
    CHECK(number_of(39'000) == 39'000);
    CHECK(number_of(40'001 + 32'767) == 40'001 + 32'767);
    // 32,769 behind: it expands to a number of the next 65,536, which has another seed.
    constexpr std::uint64_t id = 0x1234;
    const std::uint32_t old = 40'001 - 32'769;
    CHECK(number_of(old) == old + turn);
    CHECK(data_seed(id, old) != data_seed(id, number_of(old)));
    CHECK(data_seed(id, 1) == id);
    CHECK(data_seed(id, 65'535) == id);
    CHECK(data_seed(id, 70'000) == 0x9E3779B97F4A8E49);  // as in tools/conformance
    CHECK(data_seed(id, 140'000) == 0x3C6EF372FE950A5E);
    CHECK(data_seed(id, turn) != data_seed(id, 2 * turn));
}

}  // namespace purview::test
