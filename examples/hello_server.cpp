// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cstdio>
#include <cstdlib>
#include <map>
#include <purview/net/random.hpp>
#include <purview/net/server_loop.hpp>
#include <purview/server.hpp>

#include "hello.hpp"

using namespace purview;

struct HelloGame final : Game {
    std::optional<EntityId> on_join(Server& server, ObserverId id, const JoinRequest&) override {
        bodies[id] = server.world().spawn({.kind = hello.walker, .position = {500, 500}});
        return bodies[id];
    }
    void on_leave(Server& server, ObserverId id) override { server.world().despawn(bodies[id]); }
    void on_tick(Server& server, Tick tick) override {
        for (const auto& [id, body] : bodies)
            server.world().move(body, {500 + static_cast<float>(tick % 100), 500, 0});
    }
    Hello hello;
    std::map<ObserverId, EntityId> bodies;
};

int main(int, char** arguments) {
    HelloGame game;
    ServerDef def;
    def.schema = &game.hello.schema;
    def.rules.node("near").add(within(60).leave_at(66));
    def.secret = net::random_secret();
    def.plain.udp = true;  // on loopback: no encryption
    def.mac = net::mac;
    auto server = Server::create(def, game).value();
    net::ServerLoop loop(server, {.udp_port = 7777});
    if (!loop.problem().empty()) return std::puts(loop.problem().c_str());
    loop.run(arguments[1] != nullptr ? std::atof(arguments[1]) : 0);  // seconds; 0: until stopped
}
