// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/net/server_loop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "purview/client.hpp"
#include "purview/net/random.hpp"
#include "purview/net/udp_client.hpp"
#include "purview/server.hpp"

namespace purview {

namespace {

struct Body {
    Vec3 at;
};

struct Walk final : Game {
    Walk() {
        body = schema.component<Body>("body").quantized({"x", "y"}, &Body::at, {0, 1000, 0.5});
        schema.set_position(body.id);
        walker = schema.kind("walker", {body.id});
    }
    std::optional<EntityId> on_join(Server& server, ObserverId, const JoinRequest&) override {
        own = server.world().spawn({.kind = walker, .position = {500, 500, 0}});
        return own;
    }
    void on_leave(Server&, ObserverId) override { has_left = true; }
    void on_tick(Server& server, Tick) override {
        if (own != EntityId::none) (void)server.world().move(own, {510, 500, 0});
    }
    ServerDef def() const {
        ServerDef def;
        def.schema = &schema;
        def.tick_hz = 100;
        def.secret = net::random_secret();
        def.plain = {.udp = true, .web_socket = true};
        def.mac = net::mac;
        return def;
    }
    Schema schema;
    Component<Body> body;
    KindId walker{};
    EntityId own = EntityId::none;
    bool has_left = false;
};

}  // namespace

TEST_CASE("net: a client joins a server loop over UDP and gets updates until it stops") {
    Walk game;
    Server server = std::move(Server::create(game.def(), game)).value();
    std::atomic<bool> is_seen = false;
    int ticks = 0;
    std::optional<net::ServerLoop> loop;
    net::ServerLoopDef def;
    def.web = true;
    def.after_tick = [&] {
        ++ticks;
        if (is_seen) loop->stop();
    };
    loop.emplace(server, def);
    REQUIRE(loop->problem() == "");
    CHECK(loop->udp_port() != 0);
    CHECK(loop->web_port() != 0);
    std::optional<Body> body;
    ClientState last = ClientState::connecting;
    std::thread player([&] {
        ClientDef client_def;
        client_def.schema = &game.schema;
        client_def.nonce = net::random_number();
        Client client(client_def);
        net::UdpClient connection(client, "127.0.0.1", loop->udp_port());
        const auto begin = std::chrono::steady_clock::now();
        while (client.state() <= ClientState::joined &&
               std::chrono::steady_clock::now() < begin + std::chrono::seconds(60)) {
            connection.update();
            client.for_each([&](GhostId ghost) {
                body = client.get(ghost, game.body);
                if (body && body->at.x == 510) is_seen = true;
            });
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        last = client.state();
    });
    loop->run(60);
    player.join();
    CHECK(is_seen);
    CHECK(ticks > 0);
    CHECK(last == ClientState::closed);  // the loop disconnected it at the end
    CHECK(game.has_left);
}

namespace {

volatile std::sig_atomic_t interrupts = 0;
void count_interrupt(int) {
    interrupts = interrupts + 1;
}

}  // namespace

TEST_CASE("net: an interrupt ends a loop, which then restores the previous handler") {
    void (*const before)(int) = std::signal(SIGINT, count_interrupt);
    Walk game;
    Server server = std::move(Server::create(game.def(), game)).value();
    for (int round = 0; round < 2; ++round) {  // a loop may run again
        net::ServerLoopDef def;
        def.after_tick = [] { (void)std::raise(SIGINT); };
        net::ServerLoop loop(server, def);
        REQUIRE(loop.problem() == "");
        loop.run(60);
        CHECK(interrupts == round);  // the loop received it
        (void)std::raise(SIGINT);
        CHECK(interrupts == round + 1);
    }
    (void)std::signal(SIGINT, before);
}

TEST_CASE("net: a loop on a port in use reports a problem and does not run") {
    Walk game;
    Server server = std::move(Server::create(game.def(), game)).value();
    net::ServerLoop first(server, {});
    REQUIRE(first.problem() == "");
    Walk other_game;
    Server other = std::move(Server::create(other_game.def(), other_game)).value();
    net::ServerLoop second(other, {.udp_port = first.udp_port()});
    CHECK(second.problem() != "");
    second.run();  // returns
    CHECK(other.current_tick() == 0);
}

TEST_CASE("net: a loop with WebSockets needs no operator token on any host") {
    Walk game;
    Server server = std::move(Server::create(game.def(), game)).value();
    // The IPv4-mapped form of loopback does not count as a loopback address.
    const net::ServerLoop loop(server, {.host = "::ffff:127.0.0.1", .web = true});
    CHECK(loop.problem().find("operator") == std::string::npos);
    if (loop.problem().empty()) CHECK(loop.web_port() != 0);
}

}  // namespace purview
