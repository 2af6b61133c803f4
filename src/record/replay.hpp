// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Replays a recording: a server that was created from the same definition receives the same
// datagrams at the same times. It must send the same bytes and reach the same states.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "purview/server.hpp"
#include "record/recording.hpp"

namespace purview::record {

struct ReplayResult {
    enum class Outcome { same, differs, bad_file };
    Outcome outcome = Outcome::same;
    std::string text;  ///< the first difference, or the error in the file
    std::uint64_t ticks = 0;
    std::uint64_t received = 0;
    std::uint64_t sent = 0;    ///< number of compared datagrams
    std::uint64_t states = 0;  ///< number of compared states
    std::uint64_t last_state = 0;
};

/// Repeats a noted action of the program. Returns an error text, or an empty string.
using OnNote = std::function<std::string(std::string_view note)>;

/// Replays everything after the beginning. `server` must be as it was when the recording began.
/// `after_tick`: called after every tick.
ReplayResult replay(Reader& reader, Server& server, const OnNote& on_note,
                    const std::function<void()>& after_tick = {});

}  // namespace purview::record
