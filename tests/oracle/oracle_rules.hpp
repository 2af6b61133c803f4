// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Random rules over everything that rules can say, how to change them at random, and how to write
// them down.
#pragma once

#include <string>

#include "core/hash.hpp"
#include "oracle_features.hpp"
#include "oracle_twins.hpp"
#include "purview/rules.hpp"

namespace purview::test {

/// In what world the rules are to make sense.
struct RuleSpace {
    Features features;
    TwinSpace twins;
    std::uint32_t values = 2;
    float height = 60;  ///< of the third axis, where it counts
    /// Largest range of an entity or observer; above the last of range_classes for none.
    float range_max_m = 60;
};

/// One to four nodes of up to five steps; now and then none at all.
Rules random_rules(SplitMix& random, const RuleSpace& space);

/// A change of one or two things, as a program makes it while it runs: a radius, a step, a node,
/// their order.
Rules changed_rules(SplitMix& random, const RuleSpace& space, const Rules& rules);

/// All of it, in a few lines.
std::string text_of(const Rules& rules);
/// The tree without its numbers: what counts as the same rule.
std::string shape_of(const Rules& rules);
/// Steps that stand on one another in the deepest node.
unsigned depth_of(const Rules& rules);
bool has_kernel(const Rules& rules, KernelType type);

}  // namespace purview::test
