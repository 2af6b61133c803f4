// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/profile.hpp"

#include <array>

namespace purview {

std::string_view to_string(Profile profile) noexcept {
    constexpr std::array<std::string_view, 4> names{"ngo", "mirror", "fusion", "phaser"};
    return names[static_cast<std::size_t>(profile)];
}

namespace {

NodeDesc one_step(const char* name, const KernelDesc& kernel) {
    NodeDesc node;
    node.name = name;
    node.type = NodeType::grid;
    node.steps = {{StepOp::add, kernel}};
    return node;
}

}  // namespace

InterestDef profile(Profile profile) {
    InterestDef def;
    InterestRules& rules = def.rules;
    switch (profile) {
        case Profile::ngo: {
            // An object without a node goes to the default node, which shows it to everybody.
            NodeDesc node;
            node.name = "default";
            node.members = NodeMembers::unbound;
            rules.nodes.push_back(node);
            rules.axes = Axes::xyz;  // a radius there is the distance of Vector3
            rules.bounds_max = {1024, 1024, 1024};
            break;
        }
        case Profile::mirror: {
            KernelDesc near;
            near.enter_m = near.leave_m = 10;
            near.range = RangeOf::entity;
            near.from = LookFrom::main;
            rules.nodes.push_back(one_step("distance", near));
            rules.axes = Axes::xyz;
            rules.bounds_max = {1024, 1024, 1024};
            rules.range_classes_m = {10, 100, 1000};
            def.ready_requires_entity = true;
            break;
        }
        case Profile::fusion: {
            KernelDesc area;
            area.type = KernelType::area;
            rules.nodes.push_back(one_step("area of interest", area));
            rules.nodes.back().settings.leave = LeavePolicy::freeze;
            rules.axes = Axes::xyz;
            rules.bounds_max = {1024, 1024, 1024};
            def.owner_sees = false;  // only regions, lists and global objects show anything
            break;
        }
        case Profile::phaser: {
            KernelDesc cells;
            cells.type = KernelType::neighbourhood;
            cells.cells = {34, 20, 0, 1};
            rules.nodes.push_back(one_step("neighbourhood", cells));
            break;
        }
    }
    return def;
}

}  // namespace purview
