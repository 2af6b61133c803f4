// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Message types on the reliable stream, and the join message, which precedes all others. See
// PROTOCOL.md, "Messages".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "purview/connection.hpp"
#include "purview/limits.hpp"

namespace purview {

class BitReader;
class BitWriter;

enum class ServerMessage : std::uint8_t {
    welcome = 1,        ///< tick, rate, schema: everything a client needs to read snapshots
    joined = 2,         ///< the game admitted the client
    refused = 3,        ///< the game did not admit the client
    game = 4,           ///< the game's own bytes
    state_request = 5,  ///< a check failed: requests the client's state
    view_complete = 6,  ///< all that was relevant at the join has arrived
    cells = 7,          ///< the cells of nodes in a shared mode
    correction = 8,     ///< state of groups that the client predicts
};

/// Maximum number of grids in one `cells` message.
inline constexpr std::size_t cell_grids_max = 16;

/// Writes the reason text of a refusal or of a close packet, at most limits::reason_text_bytes.
void write_reason_text(std::string_view text, BitWriter& out) noexcept;
/// Returns a view into the data of `in`, or nothing if the text is malformed.
std::optional<std::string_view> read_reason_text(BitReader& in) noexcept;

enum class ClientMessage : std::uint8_t {
    join = 1,
    game = 2,
    state = 3,  ///< the reply to a state request, from clients that send digests
};

/// The request to join. Starts at the message's first byte and is the whole message.
struct Join {
    Role role = Role::player;
    std::string_view name;                  ///< at most limits::join_name_bytes
    std::span<const std::byte> credential;  ///< at most limits::credential_bytes
};
inline constexpr std::size_t join_bytes_max =
    5 + limits::join_name_bytes + limits::credential_bytes;

void write(const Join& join, BitWriter& out);
/// Reads a join after its first byte. Returns views into the data of `in`, or nothing if the join
/// is malformed.
std::optional<Join> read_join(BitReader& in);

}  // namespace purview
