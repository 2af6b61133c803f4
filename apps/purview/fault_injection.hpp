// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Test builds can inject faults into a demo's server, to verify that its checks detect them.
// Release builds cannot. Only this file of the program differs between the two builds.
#pragma once

#include <string>
#include <vector>

#include "purview/server.hpp"

namespace purview::app {

/// Modes that --break accepts. Empty: the option does not exist.
std::vector<std::string> injected_fault_names();
/// Injects the fault of the given mode, one of injected_fault_names(). An empty mode injects
/// nothing.
void inject_fault(Server& server, const std::string& mode);

}  // namespace purview::app
