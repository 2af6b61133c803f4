// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes as JSON, in both directions: the format of operator messages (docs/operator.md).
#pragma once

#include <nlohmann/json.hpp>

#include "scene/rule_text.hpp"

namespace purview::admin {

nlohmann::json to_json(const scene::NodeText& node);
/// Reads the `nodes` of a message. Strict: an unknown key or a wrong type is a problem.
scene::Loaded<std::vector<scene::NodeText>> nodes_of(const nlohmann::json& message);

}  // namespace purview::admin
