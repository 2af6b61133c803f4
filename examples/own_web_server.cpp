// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A custom server for browsers: a schema, a game, and purview::net for WebSockets, UDP and the
// clock. People walk to where they click (own_page.html), and their messages are sent to everyone
// within 20 m.
//
//     example_own_web_server 0 0.5      runs on any free port, for half a second
//     example_own_web_server 7780 0 http://127.0.0.1:8000
//                                       runs until stopped, for pages from this origin
//
// Note: only the lines with `web` and `origins` are specific to browsers. A native client joins
// over UDP at the same port, and the game treats it in the same way.
#include <cmath>
#include <cstring>
#include <map>

#include "example.hpp"
#include "purview/net/random.hpp"
#include "purview/net/server_loop.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

struct Position {
    Vec3 at;
};
struct Name {
    char text[31] = {};
};

struct Town final : Game {
    Town() {
        position = schema.component<Position>("place").quantized({"x", "y"}, &Position::at,
                                                                 {0, 200, 0.01});
        schema.set_position(position.id);
        name = schema.component<Name>("name").text("text", &Name::text);
        person = schema.kind("person", {position.id, name.id});
    }
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override {
        const EntityId body = server.world().spawn({.kind = person, .position = {100, 100, 0}});
        set_text(server.world().edit(body, name)->text, request.name);  // untrusted: any bytes
        must(server.world().set_owner(body, observer));
        people[observer] = {body, {100, 100, 0}};
        return body;
    }
    void on_leave(Server& server, ObserverId observer) override {
        must(server.world().despawn(people[observer].body));
        people.erase(observer);
    }
    /// In the format of own_page.html: 2, then the target as two floats. Untrusted input: any bytes
    /// may arrive.
    void on_command(Server&, ObserverId observer, std::span<const std::byte> data) override {
        float to[2];
        if (data.size() != 1 + sizeof to || data[0] != std::byte{2}) return;
        std::memcpy(to, data.data() + 1, sizeof to);
        if (!std::isfinite(to[0]) || !std::isfinite(to[1])) return;
        people[observer].goal = {std::clamp(to[0], 0.0F, 200.0F), std::clamp(to[1], 0.0F, 200.0F),
                                 0};
    }
    /// Sent by `client.sendMessage("hello")` in the page, which receives it as a "message" event.
    void on_message(Server& server, ObserverId observer, std::span<const std::byte> text) override {
        if (text.size() > 500) return;
        const Vec3 from = server.world().position_of(people[observer].body);
        for (const auto& [other, its] : people) {
            const Vec3 at = server.world().position_of(its.body);
            if (std::hypot(at.x - from.x, at.y - from.y) <= 20)
                // Fails for a receiver that reads too slowly.
                (void)server.send_message(other, text);
        }
    }
    void on_tick(Server& server, Tick) override {
        constexpr float step_m = 5.0F / 20;
        for (const auto& [observer, its] : people) {
            Vec3 at = server.world().position_of(its.body);
            const float x = its.goal.x - at.x, y = its.goal.y - at.y;
            const float meters = std::hypot(x, y);
            if (meters < 0.01F) continue;
            const float part = std::min(1.0F, step_m / meters);
            must(server.world().move(its.body, {at.x + x * part, at.y + y * part, 0}));
        }
    }
    struct Person {
        EntityId body = EntityId::none;
        Vec3 goal;
    };
    Schema schema;
    Component<Position> position;
    Component<Name> name;
    KindId person{};
    std::map<ObserverId, Person> people;
};

}  // namespace

int main(int count, char** arguments) {
    const auto port = static_cast<std::uint16_t>(count > 1 ? std::atoi(arguments[1]) : 7780);
    const double seconds = count > 2 ? std::atof(arguments[2]) : 0;

    Town town;
    ServerDef def;
    def.schema = &town.schema;
    def.world_name = "a town";
    def.rules.max = {200, 200, 0};
    def.rules.node("near").add(within(60).leave_at(66));
    def.plain = {.udp = true, .web_socket = true};  // on loopback: no encryption
    def.mac = &net::mac;
    def.secret = net::random_secret();
    auto made = Server::create(def, town);
    if (!made) expect(false, problem_of(def).c_str());

    Server& server = made.value();
    net::ServerLoopDef loop_def;
    loop_def.udp_port = port;
    loop_def.web = true;
    loop_def.web_port = port;
    if (count > 3) loop_def.origins = {arguments[3]};  // the origin of the pages
    net::ServerLoop loop(server, loop_def);
    expect(loop.problem().empty(), loop.problem().c_str());
    std::printf("browsers: ws://127.0.0.1:%u/play\n", loop.web_port());
    std::fflush(stdout);
    loop.run(seconds);
    std::printf("%u ticks\n", server.current_tick());
    expect(server.current_tick() > 0, "the server has run");
}
