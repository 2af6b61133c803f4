// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules compiled: what runs over every window, and what is shared in rows. An `add` whose answer
// depends on the entity or its key alone, and whose later steps of the node do so too, becomes a
// row source; everything else stays in the window program. Each add passes through the filters
// behind it, and union and filters distribute, so the two parts united are the node's result
// (N13-N16).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interest/kernel.hpp"

namespace purview {

inline constexpr std::uint32_t no_plane = 0xffffffffU;

struct Step {
    StepOp op = StepOp::add;
    const InterestKernel* kernel = nullptr;
    std::uint32_t plane = no_plane;  ///< where the kernel's memory lies, if it has one
};

/// The steps of one node that judge windows, in order. Its result starts empty.
struct NodeProgram {
    std::vector<Step> steps;
};

/// A node as it was written, rows and windows together: what explain and what-if questions ask.
struct WholeNode {
    std::string name;
    bool everything = false;  ///< it has no steps
    NodeProgram program;
};

/// A row of entities that several observers share.
struct RowSource {
    KeyDomain domain = KeyDomain::none;      ///< none: one row for all observers
    const InterestKernel* member = nullptr;  ///< who belongs to it
    std::vector<Step> filters;               ///< require and subtract steps behind the add
    /// A later step judges pairs: the row is not an answer, its members are candidates of the
    /// windows.
    bool pulled = false;
};

struct Program {
    std::vector<NodeProgram> nodes;  ///< only those with something to do per window
    std::vector<RowSource> rows;
    std::vector<WholeNode> whole;
    bool everything = false;  ///< some node says yes to all entities
    std::uint32_t plane_count = 0;
    bool everywhere = false;  ///< some add looks nowhere in particular: windows hold all cells
    float reach_m = 0;        ///< the farthest a window must look by place
    /// The kernel that is told which blocks lie wholly inside of its range: the farthest.
    const InterestKernel* inside_kernel = nullptr;
    /// Radii at which some answer changes: whoever moved without crossing one of them around a
    /// place of the observer looks the same to him.
    std::vector<float> edges_m;
    /// Some kernel's answer may change with any move this far from a place of the observer.
    /// Negative: with none; infinite: wherever the entity is.
    float any_move_m = -1;
    std::vector<float> all_edges_m;     ///< of steps outside of windows, too
    std::vector<std::string> warnings;  ///< what the dry run reports
    std::vector<std::shared_ptr<const InterestKernel>> kernels;
};

/// The rules must be sound (problem_of).
Program compile(const InterestRules& rules, const AttributeNames& names);

}  // namespace purview
