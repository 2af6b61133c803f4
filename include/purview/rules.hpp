// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules as plain data: what a world file or a program says about interest. The interest engine
// compiles them; the truth check reads the same text with other eyes. One `InterestRules` holds
// nodes; each node holds steps that count in order (Unity RFC 0015; BEHAVIOURS N13-N18, N48).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "purview/ids.hpp"

namespace purview {

class InterestKernel;

/// What a step does with its kernel's answer. add: result |= yes; require: result &= yes;
/// subtract: result &= ~(yes or unknown).
enum class StepOp : std::uint8_t { add = 0, subtract = 1, require = 2 };

enum class KernelType : std::uint8_t {
    distance = 0,    ///< within enter_m of the observer's place; once in, up to leave_m (<= both)
    same_group = 1,  ///< entity and observer have the same key, not Key::none
    flag = 2,        ///< the entity has the flag
    custom = 3,      ///< a kernel of your own (purview/kernel.hpp)
};

struct KernelDesc {
    KernelType type = KernelType::distance;
    float enter_m = 0;                   ///< distance
    float leave_m = 0;                   ///< distance; >= enter_m
    KeyDomain domain = KeyDomain::none;  ///< same_group
    FlagId flag = FlagId::none;          ///< flag
    std::shared_ptr<const InterestKernel> custom = nullptr;
};

struct StepDesc {
    StepOp op = StepOp::add;
    KernelDesc kernel;
};

enum class NodeType : std::uint8_t {
    everything = 0,  ///< all its entities are candidates (the default node)
    grid = 1,        ///< candidates are found by place, distances are exact
};

struct NodeDesc {
    std::string name;
    NodeType type = NodeType::everything;
    /// Without steps: all candidates of the node (N13).
    std::vector<StepDesc> steps;
};

struct InterestRules {
    /// Where entities are. What lies outside is found all the same, only slower.
    Vec3 bounds_min{0, 0, 0};
    Vec3 bounds_max{1024, 1024, 0};
    /// Side of a grid cell; 0 = derived from the radius and the expected number of entities.
    float cell_m = 0;
    std::uint32_t entities_expected = 10'000;
    /// Results of nodes are merged by union (N11). Empty = the default node: everybody is told
    /// everything (N2, M1).
    std::vector<NodeDesc> nodes;
};

/// Empty when the rules are sound, else what is wrong with them.
std::string problem_of(const InterestRules& rules);

}  // namespace purview
