// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks that rules fit the kinds that are bound to nodes: when a world starts, and when its rules
// change.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "purview/interest.hpp"
#include "purview/rules.hpp"
#include "scene/loaded.hpp"

namespace purview::scene {

/// Returns the index of the first additive node with Members::all, or rules.nodes.size() if there
/// is none.
std::size_t node_for_all(const Rules& rules);

/// Kinds are bound to nodes by index. Returns an error if `after` moves or removes a node with
/// bound kinds (renaming it in place is allowed), changes its members from Members::bound, or adds
/// a first additive Members::all node while a kind requires a node and is bound to none.
std::optional<Problem> problem_of_bindings(const Rules& before, const Rules& after,
                                           const std::vector<KindRules>& kinds);

}  // namespace purview::scene
