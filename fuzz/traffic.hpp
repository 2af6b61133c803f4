// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a small world says on its line, cut into what decoders read.
#pragma once

#include <string>
#include <vector>

#include "small_game.hpp"

namespace purview::test {

struct Traffic {
    using Packets = std::vector<std::string>;
    std::string schema;    ///< as a welcome has it
    Packets handshakes;    ///< whole datagrams of both sides
    Packets links;         ///< behind the seal, from the server to its first client
    Packets snapshots;     ///< and what follows them
    Packets calls;         ///< of the server, and what follows them
    Packets client_calls;  ///< of a client, and what follows them
    Packets inputs;        ///< of a client, behind their one bit
    Packets corrections;   ///< messages, behind their type
};
Traffic traffic_of_today();

/// Of that traffic: a herd in shared sections, and carts that are driven.
SmallSchema schema_of_traffic();

/// A file: somebody joins an idle game of the small schema.
std::string recording_of_today();

/// Until all clients of a new world have joined; from then on there are calls.
constexpr std::uint32_t ticks_to_join = 60;
void join_all(SmallWorld& world);

/// What the server of a new world and the last of its clients say to each other in so many ticks
/// after join_all: packets behind their number.
struct Said {
    Traffic::Packets by_server, by_client;
};
Said said_after_join(SmallWorld& world, std::uint32_t ticks);

/// A client's packets behind their number, with every kind of message that it may send, and some
/// that it may not.
std::vector<std::string> client_messages();

/// Each behind its size, as targets cut their input: in one byte, or in two.
std::string cut_by_bytes(const std::vector<std::string>& packets);
std::string cut_by_words(const std::vector<std::string>& packets);

}  // namespace purview::test
