// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Validates the definition of a server. Must not know: a running server.
#pragma once

#include <cstdint>
#include <string>

#include "purview/server.hpp"

namespace purview {

struct Refusal {
    Status status = Status::ok;
    std::string why;  ///< human-readable; empty with Status::ok
};

/// Checks everything that Server::create requires.
Refusal refusal_of(const ServerDef& def);
/// Returns bad_argument, too_large, or ok. The schema must be valid.
Refusal refusal_of_budget(const ServerDef& def, std::uint32_t budget_bytes);

/// Returns why valid rules do not match the schema, or an empty string.
std::string problem_of_rules(const ServerDef& def);

WorldDef world_def_of(const ServerDef& def);
/// Adds settings for each kind of the schema, which must be valid.
Rules rules_of(const ServerDef& def);

}  // namespace purview
