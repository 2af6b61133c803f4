// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The loop of a ready server, with a client on loopback.
#include "net/server_loop.hpp"

#include <doctest/doctest.h>

#include "net/system.hpp"
#include "purview/client.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

class CountingGame final : public Game {
  public:
    bool joined(Server&, ObserverId, const JoinRequest&) override { return ++came > 0; }
    void left(Server&, ObserverId) override { ++went; }
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}
    int came = 0, went = 0;
};

}  // namespace

TEST_CASE("loop: at its end the game is told who leaves, behind what is still asked of them") {
    const SmallSchema schema;
    CountingGame game;
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.mac = net::mac;
    Server server = std::move(Server::create(def, game)).value();
    record::Border border(server);
    net::UdpSocket udp;
    REQUIRE(udp.bind("127.0.0.1", 0).empty());
    net::WebServer web({});
    REQUIRE(web.open().empty());
    net::ServerLoop loop(border, udp, web, def.tick_hz);
    Client client({});
    net::UdpSocket line;
    REQUIRE(line.connect("127.0.0.1", udp.port()).empty());
    bool stop = false;
    ClientState state_at_end = ClientState::connecting;
    loop.set_ending([&] {
        state_at_end = client.state();
        CHECK(server.stats().sessions == 1);
        CHECK(game.went == 0);
    });
    loop.run(&stop, 20, [&] {
        const Micros now = net::now();
        line.receive(64, [&](std::span<const std::byte> bytes, const Address&) {
            client.receive(bytes, now);
        });
        client.tick(now);
        std::span<const std::byte> out;
        while (client.next_datagram(out)) line.send(out, {});
        line.flush();
        stop = client.state() == ClientState::joined;
    });
    CHECK(state_at_end == ClientState::joined);
    CHECK(game.came == 1);
    CHECK(game.went == 1);
    CHECK(server.stats().sessions == 0);
}

}  // namespace purview::test
