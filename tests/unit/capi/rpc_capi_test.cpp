// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Calls through the C interface, as a browser makes them.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "purview.h"
#include "small_game.hpp"

namespace purview::test {

namespace {

class OneClientGame final : public Game {
  public:
    explicit OneClientGame(const SmallSchema& schema) : schema_(&schema) {}
    bool joined(Server& server, ObserverId observer, const JoinRequest& request) override {
        came = observer;
        name = request.name;
        credential.assign(reinterpret_cast<const char*>(request.credential.data()),
                          request.credential.size());
        player = *server.world().spawn(schema_->player, {20, 20, 0});
        (void)server.world().set_owner(player, observer);
        return server.interest().set_main_entity(observer, player) == Status::ok;
    }
    void left(Server&, ObserverId) override {}
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}
    void rpc(Server&, ObserverId, RpcId rpc, EntityId target,
             std::span<const std::byte> args) override {
        CHECK(read_args(Rpc<Ping>{rpc}, rpc, args, got));
        got_rpc = rpc;
        got_target = target;
    }
    ObserverId came = ObserverId::none;
    std::string name, credential;
    EntityId player = EntityId::none;
    Ping got;
    RpcId got_rpc = RpcId::none;
    EntityId got_target = EntityId::none;

  private:
    const SmallSchema* schema_;
};

}  // namespace

TEST_CASE("rpc: a client of the C interface reads the types of calls, gets calls and makes them") {
    const SmallSchema schema;
    OneClientGame game(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(Server::create(def, game)).value();
    pv_client* client = pv_client_create(1, 2, 1, 0);
    constexpr std::string_view name = "Ada, who has a name of more than 32 bytes";
    std::memcpy(pv_client_input(client), name.data(), name.size());
    pv_client_set_name(client, static_cast<std::uint32_t>(name.size()));
    std::memcpy(pv_client_input(client), "ticket", 6);
    pv_client_set_credential(client, 6);
    pv_client_set_credential(client, 4'000);
    pv_client_set_credential(nullptr, 1);
    pv_client_set_name(client, 4'000);  // no such room: ignored
    pv_client_set_name(nullptr, 1);
    Address address;
    address.carrier = Address::Carrier::memory;
    address.port = 1;
    double now_ms = 1'000;
    const auto step = [&] {
        now_ms += 50;
        const auto now = static_cast<Micros>(now_ms * 1'000);
        pv_client_tick(client, now_ms);
        while (const std::uint32_t size = pv_client_next_datagram(client)) {
            server.receive(std::as_bytes(std::span(pv_client_output(client), size)), address, now);
        }
        server.tick(now);
        OutgoingDatagram out;
        while (server.next_datagram(out)) {
            std::memcpy(pv_client_input(client), out.bytes.data(), out.bytes.size());
            pv_client_receive(client, static_cast<std::uint32_t>(out.bytes.size()), now_ms);
        }
    };
    for (int i = 0; i < 30; ++i) step();
    REQUIRE(pv_client_state(client) == 2);
    CHECK(game.name == name.substr(0, 32));
    CHECK(game.credential == "ticket");
    REQUIRE(pv_client_rpc_count(client) == schema.schema.rpcs().size());
    const std::uint32_t steer = index_of(schema.steer.id);
    CHECK(std::string(pv_client_rpc_name(client, steer)) == "steer");
    CHECK(pv_client_rpc_to_server(client, steer) == 1);
    CHECK(pv_client_rpc_to_server(client, index_of(schema.news[0].id)) == 0);
    CHECK(pv_client_argument_count(client, steer) == 2);
    CHECK(std::string(pv_client_argument_name(client, steer, 1)) == "number");
    CHECK(std::string(pv_client_argument_name(client, steer, 2)).empty());
    CHECK(std::string(pv_client_rpc_name(client, 900)).empty());

    CHECK(server.call(game.player, schema.pings[6], Ping{3, 4'000'000'000U}).has_value());
    CHECK(server.call_all(schema.news[2], Ping{0, 8}).has_value());
    for (int i = 0; i < 3; ++i) step();
    REQUIRE(pv_client_take_calls(client) == 2);
    const pv_call* calls = pv_client_calls(client);
    const double* values = pv_client_call_values(client);
    CHECK(calls[0].rpc == index_of(schema.pings[6].id));
    CHECK(calls[0].ghost == 0);
    CHECK(calls[0].count == 2);
    CHECK(calls[0].ghost_left == 0);
    CHECK(values[calls[0].first] == 3);
    CHECK(values[calls[0].first + 1] == 4e9);
    CHECK(calls[1].ghost == PV_NO_GHOST);
    CHECK(values[calls[1].first + 1] == 8);
    CHECK(pv_client_take_calls(client) == 0);

    const double arguments[2] = {6, 7};
    std::memcpy(pv_client_input(client), arguments, sizeof arguments);
    CHECK(pv_client_call(client, steer, 0, 2) == 1);
    CHECK(pv_client_call(client, steer, 5, 2) == 0);
    CHECK(pv_client_call(client, steer, 0, 17) == 0);
    CHECK(pv_client_call(client, 900, 0, 0) == 0);
    CHECK(pv_client_call(client, index_of(schema.news[2].id), 0, 2) == 0);
    CHECK(pv_client_call(nullptr, steer, 0, 0) == 0);
    for (int i = 0; i < 3; ++i) step();
    CHECK(game.got_rpc == schema.steer.id);
    CHECK(game.got_target == game.player);
    CHECK(game.got.tag == 6);
    CHECK(game.got.number == 7);

    CHECK(pv_client_next_message(client) == 0);
    const std::array<std::byte, 3> message{std::byte{1}, std::byte{0}, std::byte{3}};
    CHECK(server.send_message(game.came, message) == Status::ok);
    CHECK(server.send_message(game.came, {}) == Status::ok);
    for (int i = 0; i < 3; ++i) step();
    REQUIRE(pv_client_next_message(client) == 1);
    REQUIRE(pv_client_message_size(client) == 3);
    CHECK(std::memcmp(pv_client_message(client), message.data(), 3) == 0);
    CHECK(pv_client_next_message(client) == 1);
    CHECK(pv_client_message_size(client) == 0);
    CHECK(pv_client_next_message(client) == 0);
    CHECK(pv_client_next_message(nullptr) == 0);
    CHECK(pv_client_message(nullptr) == nullptr);
    CHECK(pv_client_message_size(nullptr) == 0);
    // Whom it is about has gone before anybody takes it.
    CHECK(server.call(game.player, schema.pings[6], Ping{1, 2}).has_value());
    for (int i = 0; i < 3; ++i) step();
    CHECK(server.world().despawn(game.player) == Status::ok);
    for (int i = 0; i < 3; ++i) step();
    REQUIRE(pv_client_take_calls(client) == 1);
    CHECK(pv_client_calls(client)[0].ghost == PV_NO_GHOST);
    CHECK(pv_client_calls(client)[0].ghost_left == 1);
    pv_client_destroy(client);
}

}  // namespace purview::test
