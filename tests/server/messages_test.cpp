// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Messages between the game and a client, refusals and disconnects of clients, and the counters of
// both.
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview/host_view.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

class MessageGame final : public Game {
  public:
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        observers.push_back(observer);
        if (when_joined && !when_joined(server, observer)) return std::nullopt;
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId observer) override { left_ones.push_back(observer); }
    void on_command(Server& server, ObserverId observer, std::span<const std::byte> data) override {
        commands.emplace_back(reinterpret_cast<const char*>(data.data()), data.size());
        if (when_command) when_command(server, observer);
    }
    void on_message(Server& server, ObserverId observer,
                    std::span<const std::byte> bytes) override {
        messages.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        commands_before.push_back(commands.size());
        if (when_message) when_message(server, observer);
    }
    void on_tick(Server&, Tick) override {}

    std::function<void(Server&, ObserverId)> when_message;
    std::vector<std::string> messages;
    std::vector<std::size_t> commands_before;  ///< [messages]: commands before it
    std::function<bool(Server&, ObserverId)> when_joined;
    std::function<void(Server&, ObserverId)> when_command;
    std::vector<ObserverId> observers, left_ones;
    std::vector<std::string> commands;
};

struct Presented final : HostPresentation {
    void show(EntityId, Reason) override {}
    void hide(EntityId, Reason) override {}
    void changed(EntityId, ComponentId) override {}
};

/// One server, one client.
struct MessagePeers {
    explicit MessagePeers(const std::function<void(ServerDef&)>& edit = {}) {
        ServerDef def;
        def.schema = &schema.schema;
        def.rules = small_rules(schema);
        def.mac = &test_mac;
        def.secret = test_secret;
        if (edit) edit(def);
        server = std::make_unique<Server>(std::move(Server::create(def, game)).value());
        connect();
    }
    void connect() {
        ClientDef def;
        def.nonce = ++nonce;
        client = std::make_unique<Client>(def);
        address.carrier = Address::Carrier::memory;
        address.port = static_cast<std::uint16_t>(nonce);
    }
    void step(std::uint32_t ticks) {
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            client->tick(now);
            std::span<const std::byte> sent;
            while (client->next_datagram(sent)) {
                if (++sent_count % 3 != 0 || !loses) server->receive(sent, address, now);
            }
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out)) {
                carried += out.bytes.size();
                if (out.to == address) client->receive(out.bytes, now);
            }
        }
    }
    /// Takes all messages that the client has received.
    std::vector<std::string> messages() {
        std::vector<std::string> all;
        std::span<const std::byte> message;
        while (client->next_message(message))
            all.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
        return all;
    }

    SmallSchema schema;
    MessageGame game;
    std::unique_ptr<Server> server;
    std::unique_ptr<Client> client;
    Address address;
    std::uint64_t nonce = 0, carried = 0, sent_count = 0;
    bool loses = false;  ///< every third datagram to the server
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("messages: a message sent in joined() arrives after the client has joined") {
    MessagePeers peers;
    // More than the budget of a tick, so only a part of it arrives with the confirmation of the
    // join.
    const std::string speech(9'000, 'w');
    peers.game.when_joined = [&](Server& server, ObserverId observer) {
        CHECK(server.send_message(observer, bytes_of("welcome")) == Status::ok);
        CHECK(server.send_message(observer, bytes_of(speech)) == Status::ok);
        CHECK(server.call({.only = observer}, peers.schema.news[2], Ping{1, 2}).has_value());
        return true;
    };
    int ticks = 0;
    for (; peers.client->state() != ClientState::joined && ticks < 40; ++ticks) peers.step(1);
    REQUIRE(peers.client->state() == ClientState::joined);
    // The confirmation of the join is sent first. The large message is still in flight.
    CHECK(peers.messages() == std::vector<std::string>{"welcome"});
    ReceivedRpc call;
    peers.step(3);
    CHECK(peers.client->next_rpc(call));
    CHECK(call.rpc == peers.schema.news[2].id);
    CHECK(peers.server->send_message(peers.game.observers[0], bytes_of("")) == Status::ok);
    peers.step(3);
    CHECK(peers.messages() == std::vector<std::string>{speech, ""});
}

TEST_CASE("messages: a client's messages arrive beside many large commands in every tick") {
    for (const std::size_t bytes : {2U, 200U}) {
        for (const int commands : {1, 3, 6}) {
            CAPTURE(bytes);
            CAPTURE(commands);
            MessagePeers peers;
            peers.step(20);
            REQUIRE(peers.client->state() == ClientState::joined);
            const std::string command(bytes, 'c'), speech(1'000, 'w');
            const auto step = [&] {
                for (int i = 0; i < commands; ++i)
                    (void)peers.client->send_command(bytes_of(command));
                peers.step(1);
            };
            for (int i = 0; i < 5; ++i) step();
            CHECK(peers.client->send_message(bytes_of("hello")) == Status::ok);
            step();
            CHECK(peers.game.messages == std::vector<std::string>{"hello"});
            CHECK(peers.client->send_message(bytes_of(speech)) == Status::ok);
            for (int i = 0; i < 8; ++i) step();
            CHECK(peers.game.messages.size() == 2);
            CHECK(peers.game.commands.size() > 10);
        }
    }
}

TEST_CASE("messages: a client's messages arrive in order, before the commands of the tick") {
    for (const bool loses : {false, true}) {
        MessagePeers peers;
        CHECK(peers.client->send_message(bytes_of("early")) == Status::not_ready);
        peers.step(10);
        REQUIRE(peers.client->state() == ClientState::joined);
        peers.loses = loses;
        CHECK(peers.client->send_message(bytes_of(std::string(65'535, 'x'))) == Status::too_large);
        const std::vector<std::string> all{"hello", "", std::string(65'534, 'l'), "and", "so on"};
        for (const std::string& one : all)
            CHECK(peers.client->send_message(bytes_of(one)) == Status::ok);
        CHECK(peers.client->send_command(bytes_of("go")) == Status::ok);
        peers.step(1);
        if (!loses) {
            CHECK(peers.game.messages == std::vector<std::string>{"hello", ""});
            CHECK(peers.game.commands_before == std::vector<std::size_t>{0, 0});
        }
        peers.step(200);
        CHECK(peers.game.messages == all);
        CHECK(peers.game.commands == std::vector<std::string>{"go"});
        // The capacity that a tick does not need is released.
        CHECK(internal(*peers.server).sessions[0]->messages.capacity() <= 4'096);
        peers.client->leave();
        CHECK(peers.client->send_message(bytes_of("late")) == Status::not_ready);
    }
}

TEST_CASE("messages: a client that sends too much gets Status::capacity; nothing is lost") {
    MessagePeers peers;
    peers.step(10);
    REQUIRE(peers.client->state() == ClientState::joined);
    std::size_t sent = 0;
    for (const std::size_t size : {std::size_t{9'000}, std::size_t{1}}) {
        const std::string text(size, 'm');
        while (peers.client->send_message(bytes_of(text)) == Status::ok) ++sent;
        CHECK(peers.client->send_message(bytes_of(text)) == Status::capacity);
    }
    peers.step(400);
    CHECK(peers.game.messages.size() == sent);
    CHECK(peers.client->send_message(bytes_of("again")) == Status::ok);
    peers.step(3);
    CHECK(peers.game.messages.back() == "again");
    CHECK(internal(*peers.server).drops.malformed_packet == 0);
}

TEST_CASE("messages: data of a client that the game closes at a message is dropped") {
    MessagePeers peers;
    peers.step(10);
    REQUIRE(peers.client->state() == ClientState::joined);
    peers.game.when_message = [](Server& server, ObserverId observer) {
        CHECK(server.close(observer, CloseReason::kicked) == Status::ok);
    };
    CHECK(peers.client->send_message(bytes_of("one")) == Status::ok);
    CHECK(peers.client->send_message(bytes_of("two")) == Status::ok);
    CHECK(peers.client->send_command(bytes_of("go")) == Status::ok);
    peers.step(4);
    CHECK(peers.game.messages == std::vector<std::string>{"one"});
    CHECK(peers.game.commands.empty());
    CHECK(peers.game.left_ones == peers.game.observers);
    CHECK(peers.client->close_reason() == CloseReason::kicked);
}

TEST_CASE("messages: a client keeps the newest untaken messages and counts dropped ones") {
    MessagePeers peers;
    peers.step(10);
    REQUIRE(peers.client->state() == ClientState::joined);
    const ObserverId observer = peers.game.observers[0];
    const std::size_t most = limits::messages_received_bytes / (2 + limits::message_overhead_bytes);
    for (std::size_t i = 0; i < most + 100; ++i) {
        CHECK(peers.server->send_message(observer, bytes_of(i < 100 ? "is" : "of")) == Status::ok);
        if (i % 500 == 0) peers.step(2);
    }
    peers.step(10);
    CHECK(peers.client->stats().messages_dropped == 100);
    auto kept = peers.messages();
    REQUIRE(kept.size() == most);
    CHECK(kept.front() == "of");
    const std::string large(60'000, 'x');
    for (int i = 0; i < 20; ++i) {
        CHECK(peers.server->send_message(observer, bytes_of(large)) == Status::ok);
        peers.step(40);
    }
    kept = peers.messages();
    CHECK(kept.size() == limits::messages_received_bytes / large.size());
    CHECK(peers.client->stats().messages_dropped == 100 + 20 - kept.size());
    CHECK(peers.server->send_message(observer, bytes_of("again")) == Status::ok);
    peers.step(3);
    CHECK(peers.messages() == std::vector<std::string>{"again"});
}

TEST_CASE("messages: a client joins although the game fills its message queue in joined()") {
    for (const std::size_t size : {std::size_t{1}, std::size_t{400}, std::size_t{60'000}}) {
        MessagePeers peers;
        const std::string text(size, 't');
        std::size_t sent = 0;
        peers.game.when_joined = [&](Server& server, ObserverId observer) {
            while (server.send_message(observer, bytes_of(text)) == Status::ok) ++sent;
            CHECK(server.send_message(observer, bytes_of(text)) == Status::capacity);
            return true;
        };
        for (int i = 0; i < 40 && peers.client->state() != ClientState::joined; ++i) peers.step(1);
        REQUIRE(peers.client->state() == ClientState::joined);
        CHECK(sent * (size + 3) > 180'000);
        std::size_t received = 0;
        for (int i = 0; i < 4'000 && received < sent; ++i) {
            peers.step(1);
            received += peers.messages().size();
        }
        CHECK(received == sent);
        CHECK(peers.client->stats().messages_dropped == 0);
    }
}

TEST_CASE("messages: messages to a client with a refused join are not sent") {
    MessagePeers peers;
    const std::string speech(60'000, 'w');
    peers.game.when_joined = [&](Server& server, ObserverId observer) {
        CHECK(server.send_message(observer, bytes_of("welcome")) == Status::ok);
        CHECK(server.send_message(observer, bytes_of(speech)) == Status::ok);
        return false;
    };
    const std::uint64_t most = 20'000;  // enough for a schema, not for the speech
    for (int i = 0; i < 200 && peers.client->state() != ClientState::refused; ++i) peers.step(1);
    REQUIRE(peers.client->state() == ClientState::refused);
    CHECK(peers.messages().empty());
    CHECK(peers.client->stats().bytes_received < most);
    CHECK(peers.carried < most);
}

TEST_CASE("messages: a refused client stays refused when the server closes its session") {
    MessagePeers peers;
    peers.game.when_joined = [](Server& server, ObserverId observer) {
        CHECK(server.send_message(observer, bytes_of("not delivered")) == Status::ok);
        return false;
    };
    peers.step(10);
    CHECK(peers.client->state() == ClientState::refused);
    CHECK(peers.messages().empty());
    peers.step(150);  // longer than the join timeout
    CHECK(peers.server->stats().sessions == 0);
    CHECK(peers.client->state() == ClientState::refused);
    CHECK(peers.client->refuse_reason() == RefuseReason::join);
    CHECK(peers.server->send_message(peers.game.observers[0], bytes_of("x")) == Status::stale_id);
    CHECK(peers.game.left_ones.empty());
}

TEST_CASE("messages: commands of a client closed in joined() or at a command are dropped") {
    MessagePeers peers;
    peers.game.when_joined = [](Server& server, ObserverId observer) {
        CHECK(server.close(observer, CloseReason::kicked) == Status::ok);
        return true;
    };
    peers.step(10);
    CHECK(peers.client->state() == ClientState::closed);
    CHECK(peers.client->close_reason() == CloseReason::kicked);
    CHECK(peers.game.left_ones == peers.game.observers);
    CHECK(peers.server->stats().sessions == 0);

    peers.game.when_joined = nullptr;
    peers.connect();
    peers.step(10);
    REQUIRE(peers.client->state() == ClientState::joined);
    peers.game.when_command = [](Server& server, ObserverId observer) {
        (void)server.close(observer, CloseReason::kicked);
    };
    for (const char* text : {"first", "second", "third"})
        CHECK(peers.client->send_command(bytes_of(text)) == Status::ok);
    peers.step(3);
    CHECK(peers.game.commands == std::vector<std::string>{"first"});
    CHECK(peers.client->close_reason() == CloseReason::kicked);
    CHECK(peers.game.left_ones.size() == 2);
}

TEST_CASE("messages: bytes_sent includes sessions that have ended") {
    MessagePeers peers;
    std::uint64_t before = 0;
    for (int i = 0; i < 5; ++i) {
        peers.step(10);
        REQUIRE(peers.client->state() == ClientState::joined);
        peers.client->leave();
        peers.step(3);
        CHECK(peers.server->stats().sessions == 0);
        CHECK(peers.server->stats().bytes_sent == peers.carried);
        CHECK(peers.server->stats().bytes_sent > before);
        before = peers.server->stats().bytes_sent;
        peers.connect();
    }
}

TEST_CASE("messages: a reference client is not closed with any session") {
    MessagePeers peers;
    peers.step(10);
    const ObserverId probe = *peers.server->add_reference_client();
    peers.step(2);
    CHECK(peers.server->close(probe, CloseReason::kicked) == Status::stale_id);
    peers.server->address_closed(Address{});
    peers.step(2);
    CHECK(peers.game.left_ones.empty());
    CHECK(peers.server->visibility().is_ready(probe));
    CHECK(peers.server->stats().bytes_sent == peers.carried);
}

TEST_CASE("messages: assigning a HostView ends the one that it replaces") {
    MessagePeers peers;
    Presented nothing;
    HostView view = std::move(HostView::create(*peers.server, nothing)).value();
    const ObserverId first = view.observer();
    view = std::move(HostView::create(*peers.server, nothing)).value();
    peers.step(1);
    CHECK_FALSE(peers.server->visibility().is_ready(first));
    CHECK(peers.server->visibility().is_ready(view.observer()));
}

TEST_CASE("messages: all interest settings can be used in a server (F18)") {
    MessagePeers peers([](ServerDef& def) {
        def.rules.areas_max = 3;
        def.rules.ready_requires_viewpoint = true;
        def.rules.count_observers = true;
        def.rules.measure_scores = true;
    });
    const auto visibility = [&]() -> Visibility& { return peers.server->visibility(); };
    peers.step(10);
    REQUIRE(peers.client->state() == ClientState::joined);
    const ObserverId observer = peers.game.observers[0];
    CHECK_FALSE(visibility().is_ready(observer));
    const EntityId player =
        peers.server->world().spawn({.kind = peers.schema.player, .position = {20, 20, 0}});
    CHECK(visibility().set_viewpoint(observer, player) == Status::ok);
    peers.step(1);
    CHECK(visibility().is_ready(observer));
    REQUIRE(visibility().newly_observed().size() == 1);
    CHECK(visibility().newly_observed()[0] == player);
    CHECK(visibility().no_longer_observed().empty());
    for (std::uint32_t key = 1; key <= 4; ++key) {
        const Status status = visibility().set_area(observer, key, Area::sphere({20, 20, 0}, 5));
        CHECK(status == (key <= 3 ? Status::ok : Status::capacity));
    }
    CHECK(peers.server->world().move(player, {21, 20, 0}) == Status::ok);
    peers.step(1);
    CHECK(visibility().changed_scores(observer).entities.size() == 1);
    peers.step(3);
    CHECK(peers.client->ghost_count() == 1);

    MessagePeers single([](ServerDef& def) { def.rules.single_area = true; });
    single.step(10);
    const ObserverId only = single.game.observers[0];
    for (std::uint32_t key = 1; key <= 20; ++key) {
        CHECK(single.server->visibility().set_area(only, key, Area::sphere({20, 20, 0}, 5)) ==
              Status::ok);
    }
    ServerDef def;
    def.schema = &single.schema.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    def.rules.areas_max = limits::areas_per_observer + 1;
    CHECK(Server::create(def, single.game).error() == Status::bad_configuration);
}

}  // namespace purview::test
