// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs through the C interface, as a browser makes them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview.h"
#include "purview/c_client.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

class OneClientGame final : public Game {
  public:
    explicit OneClientGame(const SmallSchema& schema) : schema_(&schema) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override {
        came = observer;
        name = request.name;
        credential.assign(reinterpret_cast<const char*>(request.credential.data()),
                          request.credential.size());
        player = server.world().spawn({.kind = schema_->player, .position = {20, 20, 0}});
        (void)server.world().set_owner(player, observer);
        return player;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
    void on_rpc(Server&, ObserverId, RpcId rpc, EntityId target,
                std::span<const std::byte> args) override {
        CHECK(read_args(Rpc<Ping>{rpc}, rpc, args, got));
        got_rpc = rpc;
        got_target = target;
    }
    void on_message(Server&, ObserverId, std::span<const std::byte> bytes) override {
        messages.push_back(bytes.size());
    }
    std::vector<std::size_t> messages;
    ObserverId came = ObserverId::none;
    std::string name, credential;
    EntityId player = EntityId::none;
    Ping got;
    RpcId got_rpc = RpcId::none;
    EntityId got_target = EntityId::none;

  private:
    const SmallSchema* schema_;
};

/// The arguments of the RPCs in both directions.
struct ChatArgs {
    char text[12] = {};
    float loud = 0;
    Rotation turn;
};

struct ChatSchema {
    ChatSchema() {
        (void)schema.kind("thing", {add_position(schema, 0, 100).id});
        to_server = add_rpc({RpcDirection::to_server, RpcTarget::none}, "say");
        to_observers = add_rpc({RpcDirection::to_observers, RpcTarget::none}, "said");
        REQUIRE(schema.problem().empty());
    }
    Rpc<ChatArgs> add_rpc(const RpcDesc& desc, const char* name) {
        return schema.rpc<ChatArgs>(name, desc)
            .text("text", &ChatArgs::text)
            .real("loud", &ChatArgs::loud)
            .rotation("turn", &ChatArgs::turn);
    }
    Schema schema;
    Rpc<ChatArgs> to_server, to_observers;
};

/// Sends the arguments of each received RPC to all observers.
class Repeater final : public Game {
  public:
    explicit Repeater(const ChatSchema& schema) : schema_(&schema) {}
    std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
    void on_rpc(Server& server, ObserverId, RpcId rpc, EntityId,
                std::span<const std::byte> args) override {
        REQUIRE(read_args(schema_->to_server, rpc, args, got));
        CHECK(server.call({}, schema_->to_observers, got).has_value());
    }
    ChatArgs got;

  private:
    const ChatSchema* schema_;
};

/// One client of the C interface, 50 ms per step.
struct OnePlayer {
    OnePlayer(Server& its, pv_client* index) : server(&its), client(index) {
        address.carrier = Address::Carrier::memory;
        address.port = 1;
    }
    void step() {
        now_ms += 50;
        const auto now = static_cast<Micros>(now_ms * 1'000);
        pv_client_tick(client, now_ms);
        while (const std::uint32_t size = pv_client_next_datagram(client)) {
            server->receive(std::as_bytes(std::span(pv_client_output(client), size)), address, now);
        }
        server->tick(now);
        OutgoingDatagram out;
        while (server->next_datagram(out)) {
            std::memcpy(pv_client_input(client), out.bytes.data(), out.bytes.size());
            pv_client_receive(client, static_cast<std::uint32_t>(out.bytes.size()), now_ms);
        }
    }
    Server* server;
    pv_client* client;
    Address address;
    double now_ms = 1'000;
};

}  // namespace

TEST_CASE("rpc: texts and rotations pass the C interface both ways, texts are truncated") {
    const ChatSchema schema;
    Repeater game(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(Server::create(def, game)).value();
    pv_client* client = pv_client_create(1, 2, 1, 0);
    OnePlayer player(server, client);
    for (int i = 0; i < 30; ++i) player.step();
    REQUIRE(pv_client_state(client) == 2);
    const std::uint32_t to_server = index_of(schema.to_server.id);
    CHECK(pv_client_argument_type(client, to_server, 0) == 1);
    CHECK(pv_client_argument_type(client, to_server, 1) == 0);
    CHECK(pv_client_argument_type(client, to_server, 2) == 2);
    CHECK(pv_client_argument_type(client, to_server, 3) == 0);
    CHECK(pv_client_argument_type(client, 900, 0) == 0);
    const auto give_text = [&](std::uint32_t argument, std::string_view text) {
        std::memcpy(pv_client_input(client), text.data(), text.size());
        pv_client_give_text(client, argument, static_cast<std::uint32_t>(text.size()));
    };
    const auto call = [&](std::initializer_list<double> numbers) {
        std::memcpy(pv_client_input(client), std::data(numbers), numbers.size() * sizeof(double));
        REQUIRE(pv_client_call(client, to_server, PV_NO_GHOST,
                               static_cast<std::uint32_t>(numbers.size())) == 1);
        for (int i = 0; i < 3; ++i) player.step();
        REQUIRE(pv_client_take_calls(client) == 1);
        return pv_client_calls(client)[0].first;
    };
    struct TextCase {
        std::string_view text, received;
    };
    using namespace std::string_view_literals;
    for (const TextCase& one :
         {TextCase{"hello", "hello"}, TextCase{"", ""}, TextCase{"twelve bytes", "twelve bytes"},
          TextCase{"more than twelve", "more than tw"},
          TextCase{"ends in an\xc3\xab", "ends in an\xc3\xab"},
          TextCase{"goes over a\xc3\xab", "goes over a"}, TextCase{"stops\0here"sv, "stops"},
          TextCase{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", ""}}) {
        CAPTURE(one.received);
        give_text(0, one.text);
        const double half = std::sqrt(0.5);
        const std::array<double, 4> turn{0, 0, half, half};
        std::memcpy(pv_client_input(client), turn.data(), sizeof turn);
        pv_client_give_rotation(client, 2);
        const std::uint32_t first =
            call({5, 2.5, 7});  // the numbers at text and rotation arguments are ignored
        CHECK(std::string_view(game.got.text, strnlen(game.got.text, 12)) == one.received);
        CHECK(game.got.loud == 2.5F);
        CHECK(std::abs(game.got.turn.z - half) < 0.01);
        CHECK(pv_client_call_text(client, first) == one.received);
        CHECK(pv_client_call_values(client)[first] == 0);
        CHECK(pv_client_call_values(client)[first + 1] == 2.5);
        CHECK(std::abs(pv_client_call_rotation(client, first + 2)[2] - half) < 0.01);
        CHECK(std::abs(pv_client_call_rotation(client, first + 2)[3] - half) < 0.01);
    }
    // Given arguments apply to one call. Missing ones are an empty text and the identity rotation.
    const std::uint32_t first = call({1, 4.5});
    CHECK(std::string_view(pv_client_call_text(client, first)).empty());
    CHECK(pv_client_call_rotation(client, first + 2)[3] > 0.99F);
    // A value for an argument of another type, or for an unknown argument, is ignored.
    give_text(1, "7");
    give_text(2, "8");
    give_text(90, "nowhere");
    pv_client_give_rotation(client, 0);
    pv_client_give_rotation(client, 90);
    const std::uint32_t again = call({1, 4.5, 3});
    CHECK(std::string_view(pv_client_call_text(client, again)).empty());
    CHECK(pv_client_call_values(client)[again + 1] == 0);
    CHECK(pv_client_call_rotation(client, again + 2)[3] > 0.99F);
    CHECK(std::string_view(pv_client_call_text(client, again + 1)).empty());
    CHECK(pv_client_call_rotation(client, again)[3] == 1);
    CHECK(pv_client_take_calls(client) == 0);
    CHECK(std::string_view(pv_client_call_text(client, again)).empty());
    CHECK(std::string_view(pv_client_call_text(nullptr, 0)).empty());
    CHECK(pv_client_call_rotation(nullptr, 0)[3] == 1);
    pv_client_give_text(nullptr, 0, 1);
    pv_client_give_rotation(nullptr, 0);
    pv_client_destroy(client);
}

TEST_CASE("capi: a client that takes no events can read how many were dropped") {
    const SmallSchema schema;
    OneClientGame game(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(Server::create(def, game)).value();
    pv_client* client = pv_client_create(1, 2, 1, 0);
    OnePlayer player(server, client);
    for (int i = 0; i < 30; ++i) player.step();
    REQUIRE(pv_client_state(client) == 2);
    const std::vector<std::byte> message(60'000);
    for (int i = 0; i < 20; ++i) {
        for (std::uint32_t n = 0; n < 60; ++n)
            CHECK(server.call({}, schema.news[2], Ping{0, n}).has_value());
        CHECK(server.send_message(game.came, message) == Status::ok);
        for (int wait = 0; wait < 80; ++wait) player.step();
    }
    const pv_stats* stats = pv_client_stats(client);
    CHECK(stats->calls_dropped == 20 * 60 - 1'024);
    CHECK(stats->messages_dropped == 20 - (1U << 20) / 60'008);
    CHECK(stats->events_dropped == 0);
    CHECK(stats->calls_unsent == 0);
    // As after 65,536 more events, which are not generated here.
    internal(*client_of(client)).stats.events_dropped = 32'768;
    internal(*client_of(client)).stats.calls_unsent = 7;
    stats = pv_client_stats(client);
    CHECK(stats->events_dropped == 32'768);
    CHECK(stats->calls_unsent == 7);
    CHECK(stats->calls_dropped == 20 * 60 - 1'024);
    CHECK(pv_client_take_calls(client) == 1'024);
    CHECK(pv_client_stats(nullptr) == nullptr);
    pv_client_destroy(client);
}

TEST_CASE("capi: a closed client keeps its ghosts and reports no leave events") {
    const SmallSchema schema;
    OneClientGame game(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(Server::create(def, game)).value();
    pv_client* client = pv_client_create(1, 2, 1, 0);
    OnePlayer player(server, client);
    for (int i = 0; i < 30; ++i) player.step();
    REQUIRE(pv_client_take_events(client) == 1);
    const std::uint32_t tick = pv_client_newest_tick(client);
    CHECK(server.close(game.came, CloseReason::kicked, "") == Status::ok);
    for (int i = 0; i < 3; ++i) player.step();
    CHECK(pv_client_state(client) == 4);
    CHECK(pv_client_close_reason(client) == 4);
    CHECK(pv_client_refuse_reason(client) == 0);
    CHECK(pv_client_take_events(client) == 0);
    CHECK(pv_client_ghost_count(client) == 1);
    CHECK(pv_client_collect(client, tick) == 1);
    CHECK(pv_client_kind_count(client) == schema.schema.kinds().size());
    CHECK(pv_client_tick_hz(client) > 0);
    CHECK(pv_client_newest_tick(client) == tick);
    pv_client_destroy(client);
}

TEST_CASE("rpc: a C interface client reads RPC types, receives RPCs and makes RPCs") {
    const SmallSchema schema;
    OneClientGame game(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(Server::create(def, game)).value();
    pv_client* client = pv_client_create(1, 2, 1, 0);
    const ClientData* const before = &internal(*client_of(client));  // a Prediction may refer to it
    constexpr std::string_view name = "Ada, with a name of more than 32 bytes";
    std::memcpy(pv_client_input(client), name.data(), name.size());
    pv_client_set_name(client, static_cast<std::uint32_t>(name.size()));
    std::memcpy(pv_client_input(client), "ticket", 6);
    pv_client_set_credential(client, 6);
    pv_client_set_credential(client, 4'000);
    pv_client_set_credential(nullptr, 1);
    pv_client_set_name(client, 4'000);  // larger than the buffer: ignored
    pv_client_set_name(nullptr, 1);
    CHECK(&internal(*client_of(client)) == before);
    OnePlayer player(server, client);
    const auto step = [&] { player.step(); };
    for (int i = 0; i < 30; ++i) step();
    REQUIRE(pv_client_state(client) == 2);
    CHECK(game.name == name.substr(0, 32));
    CHECK(game.credential == "ticket");
    CHECK(std::string(pv_client_reason_text(client)).empty());
    CHECK(std::string(pv_client_reason_text(nullptr)).empty());
    REQUIRE(pv_client_rpc_count(client) == schema.schema.rpcs().size());
    const std::uint32_t steer = index_of(schema.steer.id);
    CHECK(std::string(pv_client_rpc_name(client, steer)) == "steer");
    CHECK(pv_client_rpc_to_server(client, steer) == 1);
    CHECK(pv_client_rpc_to_server(client, index_of(schema.news[0].id)) == 0);
    CHECK(pv_client_rpc_about_ghost(client, steer) == 1);
    CHECK(pv_client_rpc_callers(client, steer) == 1);
    CHECK(pv_client_rpc_about_ghost(client, index_of(schema.news[0].id)) == 0);
    CHECK(pv_client_rpc_about_ghost(client, 900) == 0);
    CHECK(pv_client_rpc_callers(client, 900) == 0);
    CHECK(pv_client_argument_count(client, steer) == 2);
    CHECK(std::string(pv_client_argument_name(client, steer, 1)) == "number");
    CHECK(std::string(pv_client_argument_name(client, steer, 2)).empty());
    CHECK(std::string(pv_client_rpc_name(client, 900)).empty());

    CHECK(
        server.call({.entity = game.player}, schema.pings[6], Ping{3, 4'000'000'000U}).has_value());
    CHECK(server.call({}, schema.news[2], Ping{0, 8}).has_value());
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
    CHECK(pv_client_send_message(client, 0) == 0);  // no buffer was requested
    CHECK(pv_client_message_room(client, 65'535) == nullptr);
    for (const std::uint32_t size : {3U, 0U, 5'000U}) {
        std::uint8_t* const room = pv_client_message_room(client, size);
        REQUIRE(room != nullptr);
        std::memset(room, 9, size);
        CHECK(pv_client_send_message(client, size + 1) == 0);
        CHECK(pv_client_send_message(client, size) == 1);
        CHECK(pv_client_send_message(client, size) == 0);  // each buffer is sent once
    }
    for (int i = 0; i < 12; ++i) step();
    CHECK(game.messages == std::vector<std::size_t>{3, 0, 5'000});
    CHECK(pv_client_message_room(nullptr, 1) == nullptr);
    CHECK(pv_client_send_message(nullptr, 0) == 0);
    // The entity of the call is despawned before the call is taken.
    CHECK(server.call({.entity = game.player}, schema.pings[6], Ping{1, 2}).has_value());
    for (int i = 0; i < 3; ++i) step();
    CHECK(server.world().despawn(game.player) == Status::ok);
    for (int i = 0; i < 3; ++i) step();
    REQUIRE(pv_client_take_calls(client) == 1);
    CHECK(pv_client_calls(client)[0].ghost == PV_NO_GHOST);
    CHECK(pv_client_calls(client)[0].ghost_left == 1);
    CHECK(server.close(game.came, CloseReason::kicked, "too loud") == Status::ok);
    step();
    CHECK(pv_client_state(client) == 4);
    CHECK(std::string(pv_client_reason_text(client)) == "too loud");
    pv_client_destroy(client);
}

}  // namespace purview::test
