// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview replay, and what a recording of this program keeps beside the events: from which world
// and with which options the server was made.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "server_app.hpp"

namespace purview::app {

struct ReplayOptions {
    std::string path;
    std::string world_path;     ///< instead of the one that the recording names
    std::uint32_t threads = 1;  ///< that make packets
};

/// Exit code: 0 the same, 2 a bad file or another world, 3 something differs.
int run_replay(const ReplayOptions& options);

/// Into a recording's beginning.
std::map<std::string, std::string> options_of(const ServeOptions& options, const WorldSetup& world);
/// What an operator asks, as a note: he may change rules. And that he has gone.
std::string operator_note(std::uint32_t connection, std::string_view text);
std::string operator_closed_note(std::uint32_t connection);
/// That a client is asked for all that it holds.
std::string state_note(ObserverId observer);

}  // namespace purview::app
