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
/// The margin is beyond the enter radius.
inline StepDesc within(StepOp op, float enter_m, float margin_m = 0) {
    return {op, purview::within(enter_m, enter_m + margin_m)};
}
inline StepDesc flag(StepOp op, std::uint8_t number) {
    return {op, flagged(FlagId{number})};
}
inline StepDesc same(StepOp op, std::uint8_t domain) {
    return {op, purview::same(KeyDomain{domain})};
}
inline StepDesc own_kernel(StepOp op, std::shared_ptr<const InterestKernel> kernel) {
    return {op, ask(std::move(kernel))};
}
inline StepDesc cells(float width_m, float height_m, std::uint16_t rings = 1, float depth_m = 0) {
    return add(neighbourhood({width_m, height_m, depth_m, rings}));
}
inline StepDesc inside_areas() {
    return add(in_area());
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
