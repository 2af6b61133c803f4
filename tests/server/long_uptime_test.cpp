// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Conditions of a long uptime: a stalled server, many joins at once, counters that wrap.
#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview/limits.hpp"
#include "support/rpc_support.hpp"
#include "support/sanitized.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Accepts every client, or lets all of them wait, and counts clients and calls of on_admit.
class Gate final : public Game {
  public:
    explicit Gate(std::uint32_t count) {
        (void)schema.kind("thing", {add_position(schema, 0, 100).id});
        ServerDef def;
        def.schema = &schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        def.join_timeout_ms = 300;  // six ticks
        def.sessions_max = def.sessions_unjoined_max = def.sessions_per_host_max = count;
        server = std::make_unique<Server>(std::move(Server::create(def, *this)).value());
        for (std::uint32_t i = 0; i < count; ++i) {
            ClientDef client;
            client.nonce = 100 + i;
            clients.push_back(std::make_unique<Client>(client));
        }
    }
    /// Ticks all clients and delivers their datagrams. With `later`, collects them instead, as a
    /// socket does while the server is stalled.
    void send_all(std::vector<std::pair<Address, std::vector<std::byte>>>* later = nullptr) {
        for (std::size_t i = 0; i < clients.size(); ++i) {
            Address from;
            from.carrier = Address::Carrier::memory;
            from.port = static_cast<std::uint16_t>(i + 1);
            clients[i]->tick(now);
            std::span<const std::byte> out;
            while (clients[i]->next_datagram(out)) {
                if (later == nullptr) {
                    server->receive(out, from, now);
                } else {
                    later->push_back({from, {out.begin(), out.end()}});
                }
            }
        }
    }
    void step() {
        now += 50'000;
        send_all();
        server->tick(now);
        OutgoingDatagram out;
        while (server->next_datagram(out)) clients[out.to.port - 1U]->receive(out.bytes, now);
    }
    Admission on_admit(Server&, const JoinRequest&) override {
        ++admit_calls;
        return waits ? Admission::wait : Admission::accept;
    }
    std::optional<EntityId> on_join(Server& its, ObserverId, const JoinRequest&) override {
        ++in;
        (void)its.world().spawn({.kind = id_at<KindId>(0)});
        (void)its.visibility();  // it contains the new entity already
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override { --in; }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}

    Schema schema;
    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Client>> clients;
    std::uint32_t in = 0, admit_calls = 0;
    bool waits = false;
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("server: clients that timed out while it was stalled have no session afterwards") {
    Gate gate(3);
    for (int i = 0; i < 8; ++i) gate.step();
    REQUIRE(gate.in == 3);
    std::vector<std::pair<Address, std::vector<std::byte>>> socket;
    for (int i = 0; i < 220; ++i, gate.now += 50'000)
        gate.send_all(&socket);  // the server is stalled
    for (const auto& client : gate.clients) {
        CHECK(client->state() == ClientState::closed);
        CHECK(client->close_reason() == CloseReason::timeout);
    }
    for (const auto& [from, bytes] : socket) gate.server->receive(bytes, from, gate.now);
    gate.server->tick(gate.now);
    CHECK(gate.server->stats().sessions == 0);
    CHECK(gate.in == 0);
}

TEST_CASE("server: a bounded number of waiting clients joins per tick, and none is lost") {
    constexpr std::uint32_t full_ticks = unless_sanitized(9U, 3U);
    constexpr std::uint32_t count = full_ticks * limits::joins_per_tick + 7;
    Gate gate(count);
    gate.waits = true;
    for (int i = 0; i < 4; ++i) gate.step();
    CHECK(gate.admit_calls >= 2 * count);  // all of them in every tick, while none joins
    gate.waits = false;
    for (std::uint32_t before = 0, tick = 0; tick < full_ticks; ++tick, before = gate.in) {
        gate.step();
        CHECK(gate.in == before + limits::joins_per_tick);
    }
    for (int i = 0; i < 3; ++i) gate.step();
    CHECK(gate.in == count);
    for (const auto& client : gate.clients) CHECK(client->state() == ClientState::joined);
}

TEST_CASE("server: it shuts down before tick numbers overflow") {
    Gate gate(2);
    for (int i = 0; i < 8; ++i) gate.step();
    REQUIRE(gate.in == 2);
    internal(*gate.server).time.tick = ~Tick{0} - (1U << 20) - 1;
    gate.step();
    CHECK(gate.in == 0);
    for (const auto& client : gate.clients) {
        CHECK(client->state() == ClientState::closed);
        CHECK(client->close_reason() == CloseReason::shutting_down);
    }
}

TEST_CASE("rpc: queued RPCs keep their call order when call numbers wrap (F20)") {
    CallWorld world(1);
    const EntityId far = world.spawn({200, 10, 0});
    world.place_player(0, {12, 10, 0});
    world.run(5);
    internal(world.server()).calls.set_next_call(0xfffffffdU);
    const Rpc<Ping> hold = world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    for (std::uint32_t i = 1; i <= 6; ++i)
        CHECK(world.server().call({.entity = far}, hold, Ping{0, i}).has_value());
    world.run(3);
    (void)world.server().world().move(far, {15, 10, 0});
    world.run(5);
    CHECK(numbers(world.got(0)) == Numbers{1, 2, 3, 4, 5, 6});
}

}  // namespace purview::test
