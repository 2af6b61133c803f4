// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What messages on the reliable stream begin with, and the one that comes before all others. See
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
    joined = 2,         ///< the game let it in
    refused = 3,        ///< the game did not
    game = 4,           ///< the game's own bytes
    state_request = 5,  ///< a check has failed: what do you hold?
    view_complete = 6,  ///< all that was relevant at the join has arrived
    cells = 7,          ///< the cells of nodes in a shared mode
    correction = 8,     ///< of groups that the client predicts
};

/// Of one message `cells`.
inline constexpr std::size_t cell_grids_max = 16;

/// Why somebody is refused or closed; it stands in a close, too. At most limits::reason_text_bytes.
void write_reason_text(std::string_view text, BitWriter& out) noexcept;
/// Points into what `in` reads. Nothing if that is none.
std::optional<std::string_view> read_reason_text(BitReader& in) noexcept;

enum class ClientMessage : std::uint8_t {
    join = 1,
    game = 2,
    state = 3,  ///< the answer to a state request, from clients that send digests
};

/// A client asks to be let in. Of the first byte on: it is the whole message.
struct Join {
    Role role = Role::player;
    std::string_view name;                  ///< at most limits::join_name_bytes
    std::span<const std::byte> credential;  ///< at most limits::credential_bytes
};
inline constexpr std::size_t join_bytes_max =
    5 + limits::join_name_bytes + limits::credential_bytes;

void write(const Join& join, BitWriter& out);
/// Behind its first byte. Points into what `in` reads. Nothing if that is no join.
std::optional<Join> read_join(BitReader& in);

}  // namespace purview
