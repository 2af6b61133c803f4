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

/// Index of the first node with members of all kinds, bound or not; the number of nodes if there is
/// none.
std::size_t node_for_all(const Rules& rules);

/// Kinds are bound to nodes by index. It is a problem if a node with bound kinds changes its index
/// or no longer uses bound members. It is also a problem if a first node for all kinds is added
/// while a kind is bound to none.
std::optional<Problem> problem_of_bindings(const Rules& before, const Rules& after,
                                           const std::vector<KindRules>& kinds);

}  // namespace purview::scene
