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
#include "terminal.hpp"

using namespace purview;

// Draws all ghosts: the client's own player as '@', the others as the first letters of their names.
void draw(const Client& client, const Room& room) {
    std::vector<std::string> rows(11, std::string(41, '.'));
    client.for_each([&](GhostId ghost) {
        const Body body = client.get(ghost, room.body).value();
        const char letter = client.is_owned(ghost) ? '@' : body.name[0];
        rows[std::lround(body.at.y / 10)][std::lround(body.at.x / 2.5F)] = letter;
    });
    for (const std::string& row : rows) std::puts(row.c_str());
}

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
            if (event.change == Change::updated && event.has(room.cloak.id))
                std::printf("%s is %s\n", name.c_str(),
                            client.get(event.ghost, room.cloak)->is_on ? "cloaked" : "visible");
            if (event.has(room.body.id) && !body->walks)
                std::printf("%s is at %.0f %.0f\n", name.c_str(), body->at.x, body->at.y);
        }
        client.clear_events();
        ReceivedRpc rpc;
        while (client.next_rpc(rpc)) {
            const auto body = client.get(rpc.ghost, room.body);
            const auto line = rpc.as(room.said);
            if (body && line)
                std::printf("%s: %s\n", text_of(body->name).c_str(), text_of(line->text).c_str());
        }
        if (const auto line = typed_line()) {
            Goal goal;
            if (std::sscanf(line->c_str(), "go %f %f", &goal.x, &goal.y) == 2)
                client.send_command(std::as_bytes(std::span(&goal, 1)));
            if (*line == "look") draw(client, room);
            if (line->starts_with("say ")) {
                Line words;
                set_text(words.text, line->substr(4));
                client.call(room.say, GhostId::none, words);
            }
            if (*line == "cloak" || *line == "uncloak")
                client.call(room.set_cloak, GhostId::none, Cloak{*line == "cloak"});
            if (*line == "quit") client.leave();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(16));
    }
    connection.update();  // sends the disconnect of leave()
    if (client.state() == ClientState::refused)
        std::printf("refused: %s\n", std::string(client.reason_text()).c_str());
    else
        std::printf("closed: %s\n", to_string(client.close_reason()).data());
}
