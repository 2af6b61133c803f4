// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The first byte of a message on the reliable stream. See PROTOCOL.md, "Messages".
#pragma once

#include <cstdint>

namespace purview {

enum class ServerMessage : std::uint8_t {
    welcome = 1,        ///< tick, rate, schema: everything a client needs to read snapshots
    joined = 2,         ///< the game let it in
    refused = 3,        ///< the game did not
    game = 4,           ///< the game's own bytes
    state_request = 5,  ///< a check has failed: what do you hold?
    view_complete = 6,  ///< all that was relevant at the join has arrived
    correction = 7,     ///< of groups that the client predicts
};

enum class ClientMessage : std::uint8_t {
    join = 1,
    game = 2,
    state = 3,  ///< the answer to a state request, from clients that send digests
};

}  // namespace purview
