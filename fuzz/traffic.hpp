// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a small world says on its line, cut into what decoders read.
#pragma once

#include <string>
#include <vector>

namespace purview::test {

struct Traffic {
    using Packets = std::vector<std::string>;
    std::string schema;    ///< as a welcome has it
    Packets handshakes;    ///< whole datagrams of both sides
    Packets links;         ///< behind the seal, from the server to its first client
    Packets snapshots;     ///< and what follows them
    Packets calls;         ///< of the server, and what follows them
    Packets client_calls;  ///< of a client
};
Traffic traffic_of_today();

/// A file: somebody joins an idle game of the small schema.
std::string recording_of_today();

/// A client's packets behind their number, with every kind of message that it may send, and some
/// that it may not.
std::vector<std::string> client_messages();

/// Each behind its size, as targets cut their input: in one byte, or in two.
std::string cut_by_bytes(const std::vector<std::string>& packets);
std::string cut_by_words(const std::vector<std::string>& packets);

}  // namespace purview::test
