// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Functions of a fuzz target besides the one that libFuzzer calls.
#pragma once

#include <string>
#include <vector>

/// Returns inputs from real traffic in the current wire format. They are generated in each run, so
/// they are never outdated.
std::vector<std::string> fresh_seeds();
/// Returns null, or a feature that no input has reached. Call it after the fresh seeds.
const char* never_reached();
