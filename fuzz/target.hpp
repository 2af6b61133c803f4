// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a fuzz target says of itself, beside the function that libFuzzer calls.
#pragma once

#include <string>
#include <vector>

/// Inputs from real traffic of today's wire: files grow old with it, these do not.
std::vector<std::string> fresh_seeds();
/// Null, or what no input so far has got through to. Asked after the fresh seeds.
const char* never_reached();
