// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <purview/client.hpp>
#include <purview/net/random.hpp>
#include <purview/net/udp_client.hpp>
#include <thread>

#include "room.hpp"

using namespace purview;

int main(int count, char** arguments) {
    const Room room;
    ClientDef def;
    def.schema = &room.schema;
    def.nonce = net::random_number();
    def.name = count > 1 ? arguments[1] : "";
    Client client(def);
    const int port = count > 2 ? std::atoi(arguments[2]) : 7777;
    net::UdpClient connection(client, "127.0.0.1", static_cast<std::uint16_t>(port));

    while (client.state() <= ClientState::joined) {  // connecting, joining or joined
        connection.update();
        for (const ClientEvent& event : client.events()) {
            const auto body = client.get(event.ghost, room.body);
            if (!body) continue;
            const std::string name = text_of(body->name);
            const char* reason = to_string(event.reason).data();
            if (event.is_enter()) std::printf("%s enters (%s)\n", name.c_str(), reason);
            if (event.is_leave()) std::printf("%s leaves (%s)\n", name.c_str(), reason);
            if (event.has(room.body.id))
                std::printf("%s is at %.0f %.0f\n", name.c_str(), body->at.x, body->at.y);
        }
        client.clear_events();
        std::this_thread::sleep_for(std::chrono::milliseconds(16));
    }
    if (client.state() == ClientState::refused)
        std::printf("refused: %s\n", std::string(client.reason_text()).c_str());
    else
        std::printf("closed: %s\n", to_string(client.close_reason()).data());
}
