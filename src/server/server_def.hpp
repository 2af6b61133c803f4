// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a server is to be made of, held against what there can be. Must not know: a running server.
#pragma once

#include <cstdint>
#include <string>

#include "purview/server.hpp"

namespace purview {

struct Refusal {
    Status status = Status::ok;
    std::string why;  ///< for people; empty with ok
};

/// Of all that Server::create asks for.
Refusal refusal_of(const ServerDef& def);
/// bad_argument, too_large, or ok. The schema must be sound.
Refusal refusal_of_budget(const ServerDef& def, std::uint32_t budget_bytes);

/// Empty, or what about rules that are sound in themselves does not go with the schema.
std::string problem_of_rules(const ServerDef& def);

WorldDef world_def_of(const ServerDef& def);
/// With settings for each kind of the schema, which must be sound.
Rules rules_of(const ServerDef& def);

}  // namespace purview
