// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Parts of problem_of(Rules), for rules that are not whole yet.
#pragma once

#include <string>

#include "purview/rules.hpp"

namespace purview {

/// Returns what is unsound about bounds, nodes and steps, whatever attributes are declared; empty:
/// nothing.
std::string problem_of_structure(const Rules& rules);
/// The same, and steps that name an attribute that is not declared.
std::string problem_of_nodes(const Rules& rules);
/// Returns what `wanted` sets otherwise than `in_force` though it is fixed at creation; empty:
/// nothing. A setting that has its default value counts as not set.
std::string change_of_fixed(const Rules& wanted, const Rules& in_force);

}  // namespace purview
