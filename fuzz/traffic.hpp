// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Traffic of a small world, split into inputs for each decoder.
#pragma once

#include <string>
#include <vector>

#include "small_game.hpp"

namespace purview::test {

struct Traffic {
    using Packets = std::vector<std::string>;
    std::string schema;    ///< as in a welcome message
    Packets handshakes;    ///< whole datagrams of both sides
    Packets links;         ///< from the server to its first client, without header checksum
    Packets snapshots;     ///< each with the rest of its packet
    Packets calls;         ///< of the server, each with the rest of its packet
    Packets client_calls;  ///< of a client, each with the rest of its packet
    Packets inputs;        ///< of a client, without the preceding bit
    Packets corrections;   ///< messages, without their type
};
Traffic current_traffic();

/// The schema of this traffic: a herd with shared cell payloads, and driven carts.
SmallSchema schema_of_traffic();

/// A recording of a client that joins an idle game with the small schema.
std::string current_recording();

/// Maximum ticks until all clients of a new world have joined. From then on there are calls.
constexpr std::uint32_t ticks_to_join = 60;
void join_all(SmallWorld& world);

/// Packets between the server of a new world and its last client, in the given number of ticks
/// after join_all; without sequence numbers.
struct SentPackets {
    Traffic::Packets by_server, by_client;
};
SentPackets sent_after_join(SmallWorld& world, std::uint32_t ticks);

/// A client's packets without sequence numbers, with all kinds of messages that it may send, and
/// some that it must not send.
std::vector<std::string> client_messages();

/// Concatenates packets, each preceded by its size in one byte (cut_by_bytes) or two
/// (cut_by_words). The fuzz targets split their input in the same way.
std::string cut_by_bytes(const std::vector<std::string>& packets);
std::string cut_by_words(const std::vector<std::string>& packets);

}  // namespace purview::test
