// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The evaluation of a partly split group: its cull groups, and the result of each.
#pragma once

#include <cstdint>

#include "interest/relevance/pair_facts.hpp"
#include "purview/types.hpp"

namespace purview {

/// A cull group of a partly split group. In a list, those above it come before it.
struct SplitGroupUnit {
    EntityId unit;
    EntityId parent;      ///< the entity directly above it; none: it is the root
    std::uint32_t above;  ///< the cull group of the parent, by its index in the list
    bool hides;           ///< a step subtracts it by an attribute of its own
    bool promotes;        ///< it keeps its ancestors relevant
};

/// The result for a cull group.
struct SplitGroupResult {
    PairFacts facts;  ///< its own, and those that show cull groups below it
    Stage stage = Stage::no_node;
    bool own = false;     ///< relevant without the rest of its group
    bool shown = false;   ///< relevant with the rest of its group
    bool hidden = false;  ///< an override or a rule hides it or one above it
    EntityId promoted_by = EntityId::none;
};

/// The input of the evaluation of a cull group.
struct UnitResult {
    PairFacts facts;
    bool nodes = false;
    bool hides = false;  ///< a step subtracts it by an attribute of its own
};

}  // namespace purview
