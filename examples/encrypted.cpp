// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An encrypted connection with a connect token of the game's backend. Backend, server and client
// are parts of this program; in a game they are three. Needs purview::net.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <purview/client.hpp>
#include <purview/net/encryption.hpp>
#include <purview/net/random.hpp>
#include <purview/net/server_loop.hpp>
#include <purview/net/udp_client.hpp>
#include <purview/server.hpp>
#include <string>
#include <thread>

using namespace purview;

namespace {

void expect(bool condition, const char* what) {
    std::printf("%s: %s\n", what, condition ? "yes" : "NO");
    if (!condition) std::exit(1);
}

struct Shared {
    Schema schema;
    KindId pawn = schema.kind("pawn", {});
};

/// The backend knows who the user is, and has a key in common with the servers. It sends the token
/// to the client over HTTPS.
std::string log_in(const SecretKey& key) {
    net::ConnectTokenDef token;
    token.game_id = 1;
    token.user_id = 4711;
    token.user_data = {std::byte{'v'}, std::byte{'i'}, std::byte{'p'}};
    token.expires_s = static_cast<std::uint64_t>(std::time(nullptr)) + 30;
    return net::make_connect_token(token, key).value();
}

struct Room final : Game {
    std::optional<EntityId> on_join(Server& server, ObserverId,
                                    const JoinRequest& request) override {
        user_id = request.user_id;  // written by the backend, not by the client
        return server.world().spawn({.kind = shared.pawn});
    }
    void on_tick(Server&, Tick) override {}
    Shared shared;
    std::atomic<std::uint64_t> user_id = 0;
};

/// Runs a client until it has joined or is refused.
ClientState connect(const Shared& shared, const std::string& token, std::uint16_t port,
                    RefuseReason& reason) {
    ClientDef def;
    def.schema = &shared.schema;
    def.nonce = net::random_number();
    if (!token.empty()) {
        def.key = net::read_connect_token(token).value().key;
        def.encryption = net::encryption();
    }
    Client client(def);
    net::UdpClient connection(client, "127.0.0.1", port);
    for (int i = 0; i < 500 && client.state() < ClientState::joined; ++i) {
        connection.update();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const ClientState state = client.state();
    reason = client.refuse_reason();
    client.leave();
    connection.update();
    return state;
}

}  // namespace

int main() {
    const SecretKey backend_key = net::random_secret();
    Room room;
    net::TokenReaderDef reader_def;
    reader_def.keys = {backend_key};
    reader_def.game_id = 1;
    net::TokenReader reader(std::move(reader_def));

    ServerDef def;
    def.schema = &room.shared.schema;
    def.rules.node("all").add(everything());
    def.secret = net::random_secret();
    def.mac = net::mac;
    def.key_reader = &reader;
    def.encryption = net::encryption();
    Server server = Server::create(def, room).value();
    net::ServerLoop loop(server, {.udp_port = 0});
    expect(loop.problem().empty(), "the port is open");
    std::thread thread([&] { loop.run(30); });

    RefuseReason reason{};
    const std::string token = log_in(backend_key);
    const ClientState first = connect(room.shared, token, loop.udp_port(), reason);
    const ClientState again = connect(room.shared, token, loop.udp_port(), reason);
    const RefuseReason used = reason;
    const ClientState plain = connect(room.shared, "", loop.udp_port(), reason);
    loop.stop();
    thread.join();

    expect(first == ClientState::joined && room.user_id == 4711, "a client with a token joins");
    expect(again == ClientState::refused && used == RefuseReason::key, "a token is valid once");
    expect(plain == ClientState::refused && reason == RefuseReason::key,
           "a client without a token is refused");
}
