// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls: a rocket that those hear to whom it is relevant, a bang for those who stand near,
// chat from a client by way of the server, and a report that says who did not get it, and why. And
// messages, for what is longer than an argument.
//
// Notice: nobody is picked by hand. Relevance decides, and the same report would say "held" or
// "denied" where a call waits or must not come.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "example.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"

using namespace purview;
using namespace example;

namespace {

struct Position {
    Vec3 at;
};
struct Boom {
    float power = 0;
};
struct Line {
    char text[24] = {};
};

struct Shared {
    Shared() {
        position =
            schema.component<Position>("place").quantized({"x"}, &Position::at, {0, 1000, 0.01});
        schema.set_position(position.id);
        thing = schema.kind("thing", {position.id});

        RpcDesc about_it;  // about an entity, reliable and ordered, culled
        boom = schema.rpc<Boom>("boom", about_it).quantized("power", &Boom::power, {0, 100, 0.5});
        said = schema.rpc<Line>("said", about_it).text("text", &Line::text);

        RpcDesc about_a_position;
        about_a_position.target = RpcTarget::position;
        about_a_position.delivery = RpcDelivery::unreliable;
        bang = schema.rpc<Boom>("bang", about_a_position)
                   .quantized("power", &Boom::power, {0, 100, 1});

        RpcDesc to_everybody;
        to_everybody.target = RpcTarget::nobody;
        news = schema.rpc<Line>("news", to_everybody).text("text", &Line::text);

        RpcDesc from_owner;
        from_owner.direction = RpcDirection::to_server;
        from_owner.callers = RpcCallers::owner;
        say = schema.rpc<Line>("say", from_owner).text("text", &Line::text);
    }
    Schema schema;
    Component<Position> position;
    KindId thing{};
    Rpc<Boom> boom, bang;
    Rpc<Line> said, news, say;
};

/// Three stand at 100, 120 and 900 m and see 50 m far.
struct Town final : Game {
    explicit Town(const Shared& its) : shared(&its) {}
    bool joined(Server& server, ObserverId observer, const JoinRequest&) override {
        constexpr std::array<float, 3> starts{100, 120, 900};
        if (bodies.size() == starts.size()) return false;
        const Vec3 at{starts[bodies.size()], 0, 0};
        const EntityId body = server.world().spawn(shared->thing, at).value();
        must(server.world().set_owner(body, observer));
        must(server.visibility().set_viewpoint(observer, body));
        bodies[observer] = body;
        return true;
    }
    void left(Server& server, ObserverId observer) override {
        must(server.world().despawn(bodies[observer]));
        bodies.erase(observer);
    }
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}
    /// A client says something: those to whom he is relevant hear it from him.
    void rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
             std::span<const std::byte> args) override {
        Line line;
        if (target != bodies[observer] || !read_args(shared->say, rpc, args, line)) return;
        // A stranger can have us make too many calls: no reason to end.
        if (const auto call = server.call({.entity = target}, shared->said, line); !call)
            std::printf("not passed on: %s\n", to_string(call.error()).data());
    }
    /// The same as a message, of any length: the game says who hears it.
    void message(Server& server, ObserverId observer, std::span<const std::byte> bytes) override {
        if (bytes.size() > 500) return;  // a stranger's
        listeners.clear();
        server.visibility().observers_of(bodies[observer], listeners);
        for (const ObserverId one : listeners)  // who reads too slowly misses it, and ends nothing
            (void)server.send_message(one, bytes);
    }
    const Shared* shared;
    std::map<ObserverId, EntityId> bodies;
    std::vector<ObserverId> listeners;
};

}  // namespace

int main() {
    const Shared its;
    Town game(its);
    ServerDef def;
    def.schema = &its.schema;
    def.rules.max = {1000, 10, 0};
    def.rules.node("near").add(within(50));
    def.mac = &toy_mac;
    def.secret[0] = std::byte{1};  // nobody else is on this line
    expect(problem_of(def).empty(), problem_of(def).c_str());
    Server server = Server::create(def, game).value();
    std::vector<std::unique_ptr<Client>> clients;
    Micros now = 1'000'000;
    std::vector<std::string> heard(3);
    const auto take_calls = [&](std::size_t i) {
        Client& client = *clients[i];
        ReceivedRpc got;  // after every receive
        while (client.next_rpc(got)) {
            Boom boom;
            Line line;
            if (Client::read_rpc(its.schema, its.boom, got, boom)) {
                heard[i] += " boom";
            } else if (Client::read_rpc(its.schema, its.bang, got, boom)) {
                heard[i] += " bang";
            } else if (Client::read_rpc(its.schema, its.said, got, line) ||
                       Client::read_rpc(its.schema, its.news, got, line)) {
                heard[i].append(" '").append(line.text).append("'");
            }
        }
        std::span<const std::byte> message;
        while (client.next_message(message))
            heard[i] += " a message of " + std::to_string(message.size()) + " bytes";
    };
    const auto step = [&](int ticks) {
        for (int t = 0; t < ticks; ++t) {
            now += 50'000;
            for (std::size_t i = 0; i < clients.size(); ++i) {
                Address from;
                from.carrier = Address::Carrier::memory;
                from.host[0] = static_cast<std::uint8_t>(i);  // each from another one
                from.port = static_cast<std::uint16_t>(i);
                clients[i]->tick(now);
                std::span<const std::byte> out;
                while (clients[i]->next_datagram(out)) server.receive(out, from, now);
            }
            server.tick(now);
            OutgoingDatagram out;
            while (server.next_datagram(out)) clients[out.to.port]->receive(out.bytes, now);
            for (std::size_t i = 0; i < clients.size(); ++i) take_calls(i);
        }
    };
    for (std::uint64_t nonce = 1; nonce <= 3; ++nonce) {
        ClientDef client;
        client.nonce = nonce;  // nobody else is on this line; elsewhere 64 random bits
        clients.push_back(std::make_unique<Client>(client));
        step(10);
    }
    const auto expect_heard = [&](const char* what, const std::vector<std::string>& expected) {
        std::printf("%-24s", what);
        for (const std::string& one : heard) std::printf(" |%s", one.empty() ? " -" : one.c_str());
        std::printf("\n");
        expect(heard == expected, what);
        heard.assign(3, "");
    };

    const EntityId rocket = server.world().spawn(its.thing, {140, 0, 0}).value();
    // Where the rocket is relevant.
    const Result<CallId> call = server.call({.entity = rocket}, its.boom, Boom{12});
    step(1);
    for (const RpcReport& report : server.rpc_reports()) {  // after the tick, until the next one
        if (!call || report.call != *call) continue;
        std::printf("boom: sent to %u", report.sent);
        for (const RpcCulled& one : report.culled)
            std::printf(", not to %u (%s)", index_of(one.observer), to_string(one.reason).data());
        std::printf("\n");
        expect(report.sent == 2 && report.culled.size() == 1, "two of three hear of the rocket");
    }
    step(2);
    expect_heard("a rocket at 140 m", {" boom", " boom", ""});

    // Observers whose areas cover it.
    must(server.call({.position = Vec3{880, 0, 0}}, its.bang, Boom{5}).error());
    step(3);
    expect_heard("a bang at 880 m", {"", "", " bang"});

    must(server.call({}, its.news, Line{"the gate opens"}).error());  // everybody
    must(server.call({.only = game.bodies.begin()->first}, its.news, Line{"to you alone"}).error());
    step(3);
    expect_heard("news",
                 {" 'the gate opens' 'to you alone'", " 'the gate opens'", " 'the gate opens'"});

    // Chat: a client calls the server about his own body, and the game passes it on.
    Client& second = *clients[1];
    GhostId body = no_ghost, other = no_ghost;
    for (GhostId ghost = 0; ghost < second.ghost_end(); ++ghost)
        if (second.is_held(ghost)) (second.is_owned(ghost) ? body : other) = ghost;
    // It ends in Game::rpc, or in a counter.
    must(second.call(its.schema, its.say, body, Line{"hello"}));
    step(4);
    expect_heard("'hello' from 120 m", {" 'hello'", " 'hello'", ""});

    const std::string tale(300, '.');
    must(second.send_message(std::as_bytes(std::span(tale))));
    step(4);
    expect_heard("a tale from 120 m", {" a message of 300 bytes", " a message of 300 bytes", ""});

    // Of somebody else's body he is no voice: the server would refuse and count it.
    expect(second.call(its.schema, its.say, other, Line{"I am you"}) == Status::refused,
           "who does not own a body cannot speak for it");
}
