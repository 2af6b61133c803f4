// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/net/udp_client.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "net/udp_socket.hpp"
#include "purview/client.hpp"

namespace purview {

TEST_CASE("net: a UDP client sends the handshake and reports an invalid address") {
    net::UdpSocket server;
    REQUIRE(server.bind("127.0.0.1", 0) == "");
    ClientDef def;
    def.nonce = 77;
    Client client(def);
    net::UdpClient connection(client, "127.0.0.1", server.port());
    REQUIRE(connection.problem() == "");
    std::size_t received = 0;
    const Micros begin = connection.update();
    while (received == 0 && connection.update() < begin + 20'000'000) {
        server.receive(
            8, [&](std::span<const std::byte> bytes, const Address&) { received += bytes.size(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(received > 0);
    Client other(def);
    net::UdpClient nowhere(other, "no address", 1);
    CHECK(nowhere.problem() != "");
    CHECK(nowhere.update() > 0);  // harmless
    CHECK(other.state() == ClientState::connecting);
}

}  // namespace purview
