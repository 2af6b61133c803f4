// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <purview/net/random.hpp>
#include <purview/net/server_loop.hpp>
#include <purview/server.hpp>

#include "room.hpp"

using namespace purview;

struct RoomGame final : Game {
    Admission on_admit(Server& server, const JoinRequest& request) override {
        bool is_good = !request.name.empty() && request.name.size() <= 15;
        for (const char letter : request.name) is_good = is_good && letter >= 'a' && letter <= 'z';
        if (!is_good) return {Admission::refuse, "a name has 1 to 15 letters from a to z"};
        for (const auto& [observer, body] : bodies)
            if (name_of(server, body) == request.name)
                return {Admission::refuse, "this name is in use"};
        return Admission::accept;
    }
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override {
        const EntityId body =
            server.world().spawn({.kind = room.player, .position = {50, 50}, .owner = observer});
        set_text(server.world().edit(body, room.body)->name, request.name);
        bodies[observer] = body;
        std::printf("%s joins\n", name_of(server, body).c_str());
        return body;
    }
    void on_leave(Server& server, ObserverId observer) override {
        std::printf("%s is gone\n", name_of(server, bodies[observer]).c_str());
        server.world().despawn(bodies[observer]);
        bodies.erase(observer);
    }
    void on_tick(Server&, Tick) override {}

    std::string name_of(Server& server, EntityId body) {
        return text_of(server.world().get(body, room.body)->name);
    }

    Room room;
    std::map<ObserverId, EntityId> bodies;
};

int main(int count, char** arguments) {
    RoomGame game;
    ServerDef def;
    def.schema = &game.room.schema;
    def.secret = net::random_secret();
    def.plain.udp = true;  // on loopback: no encryption
    def.mac = net::mac;
    Server server = Server::create(def, game).value();

    net::ServerLoopDef loop_def;
    loop_def.udp_port = static_cast<std::uint16_t>(count > 1 ? std::atoi(arguments[1]) : 7777);
    net::ServerLoop loop(server, loop_def);
    if (!loop.problem().empty()) return std::puts(loop.problem().c_str());
    std::printf("listening on port %u\n", loop.udp_port());
    loop.run();
}
