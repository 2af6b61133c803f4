// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Steps and nodes of rules in one line, for tests of the engine and of a server.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "purview/kernel.hpp"
#include "purview/rules.hpp"

namespace purview::test::lines {

// -- steps ----------------------------------------------------------------------------------------

inline StepDesc step(StepOp op, KernelType type) {
    StepDesc step;
    step.op = op;
    step.kernel.type = type;
    return step;
}
inline StepDesc within(StepOp op, float enter_m, float margin_m = 0) {
    StepDesc near = step(op, KernelType::distance);
    near.kernel.enter_m = enter_m;
    near.kernel.leave_m = enter_m + margin_m;
    return near;
}
inline StepDesc within(float enter_m, float margin_m = 0) {
    return within(StepOp::add, enter_m, margin_m);
}
inline StepDesc flag(StepOp op, std::uint8_t number) {
    StepDesc flag = step(op, KernelType::flag);
    flag.kernel.flag = FlagId{number};
    return flag;
}
inline StepDesc same(StepOp op, std::uint8_t domain) {
    StepDesc same = step(op, KernelType::same_group);
    same.kernel.domain = KeyDomain{domain};
    return same;
}
inline StepDesc own_kernel(StepOp op, std::shared_ptr<const InterestKernel> kernel) {
    StepDesc own = step(op, KernelType::custom);
    own.kernel.custom = std::move(kernel);
    return own;
}
inline StepDesc cells(float width_m, float height_m, std::uint16_t rings = 1, float depth_m = 0) {
    StepDesc cells = step(StepOp::add, KernelType::neighbourhood);
    cells.kernel.cells = {width_m, height_m, depth_m, rings};
    return cells;
}
inline StepDesc inside_areas() {
    return step(StepOp::add, KernelType::area);
}

// -- nodes ----------------------------------------------------------------------------------------

inline NodeDesc node(std::string name, std::vector<StepDesc> steps,
                     NodeMembers members = NodeMembers::all) {
    NodeDesc node;
    node.name = std::move(name);
    node.type = steps.empty() ? NodeType::everything : NodeType::grid;
    node.steps = std::move(steps);
    node.members = members;
    return node;
}

}  // namespace purview::test::lines
