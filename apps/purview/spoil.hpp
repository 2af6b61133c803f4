// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Test builds can spoil a demo's server, to see that its check notices. What is released cannot:
// this is the one file of the program that is compiled differently for the two.
#pragma once

#include <string>
#include <vector>

#include "purview/server.hpp"

namespace purview::app {

/// What may be asked for with --break; none: there is no such option.
std::vector<std::string> spoil_modes();
/// One of spoil_modes(), or an empty one, which spoils nothing.
void spoil(Server& server, const std::string& mode);

}  // namespace purview::app
