// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Parts of problem_of(Rules), for rules that are not complete yet.
#pragma once

#include <string>

#include "purview/rules.hpp"

namespace purview {

/// Returns what is wrong with bounds, nodes and steps, or an empty string. Does not check that
/// attributes are declared.
std::string problem_of_structure(const Rules& rules);
/// The same, and checks that steps use declared attributes only.
std::string problem_of_nodes(const Rules& rules);
/// Returns an error if `wanted` changes a setting of `in_force` that is fixed at creation, or an
/// empty string. A setting with its default value counts as not set.
std::string change_of_fixed(const Rules& wanted, const Rules& in_force);

}  // namespace purview
