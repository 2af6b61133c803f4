// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Random rules that use all settings, random changes of them, and their text form.
#pragma once

#include <string>

#include "core/hash.hpp"
#include "oracle_features.hpp"
#include "oracle_twins.hpp"
#include "purview/rules.hpp"

namespace purview::test {

/// The world that the rules are made for.
struct RuleSpace {
    Features features;
    TwinSpace twins;
    std::uint32_t values = 2;
    float height = 60;  ///< extent of the third axis, if used
    /// Largest range of an entity or observer. Range classes are fractions of it.
    float range_max_m = 60;
};

/// Returns rules with one to four nodes of up to five steps, sometimes without nodes.
Rules random_rules(SplitMix& random, const RuleSpace& space);

/// Returns the rules with one or two changes, as a game makes them at run time: a radius, a step, a
/// node, the order of nodes.
Rules changed_rules(SplitMix& random, const RuleSpace& space, const Rules& rules);

/// Returns all rules as a few lines of text.
std::string text_of(const Rules& rules);
/// Returns the tree without its numbers. Rules with equal shapes count as the same.
std::string shape_of(const Rules& rules);
/// Returns the largest number of steps of a node. A dispatcher counts as one step.
unsigned depth_of(const Rules& rules);
bool has_kernel(const Rules& rules, KernelType type);

}  // namespace purview::test
