// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Lives a recording again: a server made from the same things is given the same datagrams at the
// same times, and must send the same bytes and come to the same states.
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
    std::string text;  ///< the first difference, or what is wrong with the file
    std::uint64_t ticks = 0;
    std::uint64_t received = 0;
    std::uint64_t sent = 0;    ///< compared
    std::uint64_t states = 0;  ///< compared
    std::uint64_t last_state = 0;
};

/// Does what the program noted; empty, or why it cannot.
using OnNote = std::function<std::string(std::string_view note)>;

/// What follows the beginning. `server` must be as it was when recording began. `after_tick`: what
/// the program does after every tick, if it does something.
ReplayResult replay(Reader& reader, Server& server, const OnNote& on_note,
                    const std::function<void()>& after_tick = {});

}  // namespace purview::record
