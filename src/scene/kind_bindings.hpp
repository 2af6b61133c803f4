// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which rules kinds can live with that are bound to nodes: when a world begins, and whenever its
// rules change.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "purview/interest.hpp"
#include "purview/rules.hpp"
#include "scene/loaded.hpp"

namespace purview::scene {

/// The first node that shows every kind, whatever it is bound to; their number, if there is none.
std::size_t node_for_all(const Rules& rules);

/// Kinds are bound to nodes by number. Where a node that kinds are bound to would not be the one
/// that it was, or no longer for those that are bound, that is a problem; so is the first node for
/// all where a kind is bound to none.
std::optional<Problem> problem_of_bindings(const Rules& before, const Rules& after,
                                           const std::vector<KindRules>& kinds);

}  // namespace purview::scene
