// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview replay. Also defines the data that a recording of this program contains besides the
// events: the world file and the options of the server.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "server_app.hpp"

namespace purview::app {

struct ReplayOptions {
    std::string path;
    std::string world_path;     ///< replaces the world path of the recording
    std::uint32_t threads = 1;  ///< threads that encode packets
};

/// Returns the exit code: 0 identical, 2 a bad file or another world, 3 a difference.
int run_replay(const ReplayOptions& options);

/// Options stored at the beginning of a recording.
std::map<std::string, std::string> options_of(const ServeOptions& options, const WorldSetup& world);
/// Recording notes for an operator's request, because it may change rules, and for the end of an
/// operator connection.
std::string operator_note(std::uint32_t connection, std::string_view text);
std::string operator_closed_note(std::uint32_t connection);
/// Recording note: a client was requested to send its whole state.
std::string state_note(ObserverId observer);

}  // namespace purview::app
