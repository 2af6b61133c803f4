// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <chrono>
#include <cstdio>
#include <purview/client.hpp>
#include <purview/net/random.hpp>
#include <purview/net/udp_client.hpp>
#include <thread>

#include "hello.hpp"

int main() {
    const Hello hello;
    purview::ClientDef def;
    def.schema = &hello.schema;
    def.nonce = purview::net::random_number();
    purview::Client client(def);
    purview::net::UdpClient connection(client, "127.0.0.1", 7777);
    while (client.state() <= purview::ClientState::joined) {  // connecting, joining or joined
        connection.update();
        for (const purview::ClientEvent& event : client.events()) {
            if (event.is_enter()) std::printf("ghost %u entered\n", index_of(event.ghost));
            if (event.is_leave()) std::printf("ghost %u left\n", index_of(event.ghost));
            if (!event.has(hello.body.id)) continue;
            if (const auto body = client.get(event.ghost, hello.body))
                std::printf("ghost %u is at %.2f\n", index_of(event.ghost), double(body->at.x));
        }
        client.clear_events();
        std::this_thread::sleep_for(std::chrono::milliseconds(16));
    }
    std::puts(client.reason_text().data());
}
