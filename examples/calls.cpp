// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls (RPCs): one about a rocket, for the observers that the rocket is relevant to; one
// about a position, for observers near it; and chat from a client, which the server forwards. A
// report lists the observers that did not receive a call, with reasons. Messages transport data
// that is longer than an argument.
//
// Note: relevance selects the receivers, not the game. The report also contains "held" if a call is
// queued, and "denied" if the observer must not receive it.
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

        RpcDesc about_it;  // for an entity; reliable, ordered and culled by default
        boom = schema.rpc<Boom>("boom", about_it).quantized("power", &Boom::power, {0, 100, 0.5});
        chat_line = schema.rpc<Line>("said", about_it).text("text", &Line::text);

        RpcDesc about_a_position;
        about_a_position.target = RpcTarget::position;
        about_a_position.delivery = RpcDelivery::unreliable;
        bang = schema.rpc<Boom>("bang", about_a_position)
                   .quantized("power", &Boom::power, {0, 100, 1});

        RpcDesc to_all_observers;
        to_all_observers.target = RpcTarget::none;
        news = schema.rpc<Line>("news", to_all_observers).text("text", &Line::text);

        RpcDesc from_owner;
        from_owner.direction = RpcDirection::to_server;
        from_owner.callers = RpcCallers::owner;
        chat = schema.rpc<Line>("say", from_owner).text("text", &Line::text);
    }
    Schema schema;
    Component<Position> position;
    KindId thing{};
    Rpc<Boom> boom, bang;
    Rpc<Line> chat_line, news, chat;
};

/// Three players at 100, 120 and 900 m, with a view range of 50 m.
struct Town final : Game {
    explicit Town(const Shared& its) : shared(&its) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        constexpr std::array<float, 3> starts{100, 120, 900};
        if (bodies.size() == starts.size()) return std::nullopt;
        const Vec3 at{starts[bodies.size()], 0, 0};
        const EntityId body = server.world().spawn({.kind = shared->thing, .position = at});
        must(server.world().set_owner(body, observer));
        bodies[observer] = body;
        return body;
    }
    void on_leave(Server& server, ObserverId observer) override {
        must(server.world().despawn(bodies[observer]));
        bodies.erase(observer);
    }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
    /// Forwards chat of a client to the observers that its body is relevant to.
    void on_rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
                std::span<const std::byte> args) override {
        Line line;
        if (target != bodies[observer] || !read_args(shared->chat, rpc, args, line)) return;
        // A malicious client can cause too many calls, so a failure must not end the server.
        if (const auto call = server.call({.entity = target}, shared->chat_line, line); !call)
            std::printf("not forwarded: %s\n", to_string(call.error()).data());
    }
    /// Forwards a message of any length. For messages, the game chooses the receivers.
    void on_message(Server& server, ObserverId observer,
                    std::span<const std::byte> bytes) override {
        if (bytes.size() > 500) return;  // untrusted
        listeners.clear();
        server.visibility().observers_of(bodies[observer], listeners);
        // Fails for a receiver that reads too slowly, which is fine.
        for (const ObserverId one : listeners) (void)server.send_message(one, bytes);
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
    def.secret[0] = std::byte{1};  // no other process uses this connection
    expect(problem_of(def).empty(), problem_of(def).c_str());
    Server server = Server::create(def, game).value();
    std::vector<std::unique_ptr<Client>> clients;
    Micros now = 1'000'000;
    std::vector<std::string> received(3);
    const auto take_calls = [&](std::size_t i) {
        Client& client = *clients[i];
        ReceivedRpc got;  // call after every receive
        while (client.next_rpc(got)) {
            if (got.as(its.boom)) received[i] += " boom";
            if (got.as(its.bang)) received[i] += " bang";
            for (const auto& line : {got.as(its.chat_line), got.as(its.news)})
                if (line) received[i].append(" '").append(line->text).append("'");
        }
        std::span<const std::byte> message;
        while (client.next_message(message))
            received[i] += " a message of " + std::to_string(message.size()) + " bytes";
    };
    const auto step = [&](int ticks) {
        for (int t = 0; t < ticks; ++t) {
            now += 50'000;
            for (std::size_t i = 0; i < clients.size(); ++i) {
                Address from;
                from.carrier = Address::Carrier::memory;
                from.host[0] = static_cast<std::uint8_t>(i);  // a different address for each client
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
        client.schema = &its.schema;
        client.nonce = nonce;  // in production: 64 random bits
        clients.push_back(std::make_unique<Client>(client));
        step(10);
    }
    const auto expect_received = [&](const char* what, const std::vector<std::string>& expected) {
        std::printf("%-24s", what);
        for (const std::string& one : received)
            std::printf(" |%s", one.empty() ? " -" : one.c_str());
        std::printf("\n");
        expect(received == expected, what);
        received.assign(3, "");
    };

    const EntityId rocket = server.world().spawn({.kind = its.thing, .position = {140, 0, 0}});
    // Sent to observers that the rocket is relevant to.
    const Result<CallId> call = server.call({.entity = rocket}, its.boom, Boom{12});
    step(1);
    // Valid after the tick, until the next one.
    for (const RpcReport& report : server.rpc_reports()) {
        if (!call || report.call != *call) continue;
        std::printf("boom: sent to %u", report.sent);
        for (const RpcCulled& one : report.culled)
            std::printf(", not to %u (%s)", index_of(one.observer), to_string(one.reason).data());
        std::printf("\n");
        expect(report.sent == 2 && report.culled.size() == 1,
               "two of three observers receive the rocket's call");
    }
    step(2);
    expect_received("a rocket at 140 m", {" boom", " boom", ""});

    // Sent to observers with an area that covers the position.
    must(server.call({.position = Vec3{880, 0, 0}}, its.bang, Boom{5}).error());
    step(3);
    expect_received("a bang at 880 m", {"", "", " bang"});

    must(server.call({}, its.news, Line{"the gate opens"}).error());  // sent to all observers
    must(server.call({.only = game.bodies.begin()->first}, its.news, Line{"to you alone"}).error());
    step(3);
    expect_received("news",
                    {" 'the gate opens' 'to you alone'", " 'the gate opens'", " 'the gate opens'"});

    // Chat: a client calls the server with its own body as target, and the game forwards it.
    Client& second = *clients[1];
    GhostId body = GhostId::none, other = GhostId::none;
    second.for_each([&](GhostId ghost) { (second.is_owned(ghost) ? body : other) = ghost; });
    // The server calls Game::on_rpc, or refuses the call and counts it.
    must(second.call(its.chat, body, Line{"hello"}));
    step(4);
    expect_received("'hello' from 120 m", {" 'hello'", " 'hello'", ""});

    const std::string tale(300, '.');
    must(second.send_message(std::as_bytes(std::span(tale))));
    step(4);
    expect_received("a tale from 120 m",
                    {" a message of 300 bytes", " a message of 300 bytes", ""});

    // A client cannot use the body of another: the server would refuse and count the call.
    expect(second.call(its.chat, other, Line{"I am you"}) == Status::refused,
           "a call with a body of another owner is refused");
}
