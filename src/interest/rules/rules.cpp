// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/rules.hpp"
#include "purview/kernel.hpp"

#include <algorithm>
#include <cmath>

#include "core/finite.hpp"
#include "interest/rules/kernel_facts.hpp"

namespace purview {

namespace {

constexpr std::uint32_t refresh_ticks_max = 65'535;
constexpr std::size_t nodes_max = 4096, steps_max = 32, classes_max = 6;
/// Masks that all kernels of all nodes may keep for a block.
constexpr unsigned planes_max = 30;

bool is_positive(float v) noexcept {
    return std::isfinite(v) && v > 0;
}

/// Neither it nor its square is infinite; NaN is not.
bool is_reach(float meters) noexcept {
    return meters >= 0 && meters <= reach_max_m;
}

/// Empty, or what is wrong with it.
std::string problem_of(const KernelDesc& kernel, const NodeDesc& node) {
    if (needs_position(kernel) && node.type == NodeType::everything) {
        return std::string(kernel.type == KernelType::distance ? "a distance"
                                                               : "a step that looks at places") +
               " needs a node of type grid";
    }
    switch (kernel.type) {
        case KernelType::distance:
            if (!is_positive(kernel.enter_m) || !std::isfinite(kernel.leave_m) ||
                kernel.leave_m < kernel.enter_m) {
                return "a distance needs 0 < enter <= leave";
            }
            return is_reach(kernel.leave_m + 2 * node.refresh.widen_m)
                       ? ""
                       : "the distance is too large: its leave radius with twice the widening may "
                         "be at most 1e18 m";
        case KernelType::same_group:
            return kernel.domain == KeyDomain::none ? "unknown key" : "";
        case KernelType::flag:
            return kernel.flag == FlagId::none ? "unknown flag" : "";
        case KernelType::custom:
            if (kernel.custom == nullptr) return "a custom step needs a kernel";
            if (!is_reach(kernel.custom->reach_m()))
                return "a custom step must reach 0 m or more, and at most 1e18 m";
            return {};
        case KernelType::area:
            return kernel.leave_m >= 0 && is_reach(kernel.leave_m + node.refresh.widen_m)
                       ? ""
                       : "the margin of areas, with the widening, must be 0 to 1e18 m";
        case KernelType::owner:
            return {};
        case KernelType::value:
            if (kernel.value == ValueId::none) return "unknown value";
            return kernel.value_min <= kernel.value_max ? "" : "a value needs min <= max";
        case KernelType::neighbourhood:
            if (!is_positive(kernel.cells.width_m) || !is_positive(kernel.cells.height_m) ||
                !std::isfinite(kernel.cells.depth_m) || kernel.cells.depth_m < 0) {
                return "cells need a width and a height above 0";
            }
            if (const float rings = static_cast<float>(kernel.cells.rings) + 1;
                !is_reach(rings * kernel.cells.width_m) ||
                !is_reach(rings * kernel.cells.height_m) || !is_reach(rings * kernel.cells.depth_m))
                return "cells are too large: with their rings they may reach at most 1e18 m";
            return {};
        case KernelType::hexagons:
            if (!is_positive(kernel.cells.width_m)) return "hexagons need a side above 0";
            return is_reach(2.001F * kernel.cells.width_m *
                            (static_cast<float>(kernel.cells.rings) + 1))
                       ? ""
                       : "hexagons are too large: with their rings they may reach at most 1e18 m";
        case KernelType::line_of_sight:
            if (kernel.sight == nullptr) return "line of sight needs a SightTest";
            if (!is_reach(kernel.enter_m)) return "line of sight needs a distance of 0 to 1e18 m";
            if (kernel.sight_def.tests_per_tick == 0 || kernel.sight_def.grace_ticks < 2)
                return "line of sight needs a test a tick, and a grace time of 2 ticks";
            return {};
    }
    return "unknown kernel";
}

unsigned planes_of(const KernelDesc& kernel) noexcept {
    switch (kernel.type) {
        case KernelType::distance:
            return kernel.leave_m > kernel.enter_m ? 1 : 0;
        case KernelType::area:
            return kernel.leave_m > 0 ? 1 : 0;
        case KernelType::line_of_sight:
            return 3;
        case KernelType::custom:
            return kernel.custom->planes();
        default:
            return 0;
    }
}

std::string problem_of(const NodeDesc& node) {
    if (node.steps.size() > steps_max) return "more than 32 steps";
    if (node.type == NodeType::dispatcher && node.dispatcher == nullptr)
        return "a dispatcher node needs a dispatcher";
    if (node.type == NodeType::custom && node.custom == nullptr)
        return "a custom node needs a node";
    if (node.type == NodeType::custom && !node.steps.empty()) return "a custom node has no steps";
    if (node.refresh.type == RefreshType::every &&
        (node.refresh.every_ticks == 0 || node.refresh.every_ticks > refresh_ticks_max))
        return "it must be refreshed every 1 to 65535 ticks";
    if (!is_reach(node.refresh.widen_m)) return "widening must be 0 to 1e18 m";
    if (!is_urgency(node.settings.urgency)) return "urgency is 1e-6 to 1e6";
    if (node.settings.every_ticks == 0) return "state must be sent every 1 tick or more";
    for (std::size_t s = 0; s < node.steps.size(); ++s) {
        const std::string wrong = problem_of(node.steps[s].kernel, node);
        if (!wrong.empty()) return "step " + std::to_string(s + 1) + ": " + wrong;
    }
    if (!node.inner.empty() && node.type != NodeType::dispatcher)
        return "only a dispatcher has inner nodes with steps";
    if (node.inner.size() > nodes_max) return "more than 4096 lists of inner steps";
    for (std::size_t list = 0; list < node.inner.size(); ++list) {
        const auto& steps = node.inner[list];
        const auto inner = "inner steps " + std::to_string(list);
        if (steps.size() > steps_max) return inner + ": more than 32 steps";
        for (std::size_t s = 0; s < steps.size(); ++s) {
            std::string wrong = problem_of(steps[s].kernel, node);
            if (wrong.empty() && planes_of(steps[s].kernel) > 0) {
                wrong =
                    "a step of an inner node cannot remember: no leave radius above the enter "
                    "radius, no line of sight";
            }
            if (!wrong.empty()) return inner + ", step " + std::to_string(s + 1) + ": " + wrong;
        }
    }
    return {};
}

constexpr std::uint32_t cells_max = 1U << 20;  ///< of a node that shares
constexpr std::uint32_t shared_rings_max = 3;

/// Empty, or why its entities cannot be written for several observers at once.
std::string problem_of_mode(const NodeDesc& node, const InterestRules& rules) {
    if (node.mode == NodeMode::per_observer) return {};
    const std::string mode =
        node.mode == NodeMode::update_many ? "mode 'update many': " : "mode 'read many': ";
    if (node.type != NodeType::grid || node.steps.empty() || node.steps.front().op != StepOp::add ||
        node.steps.front().kernel.type != KernelType::neighbourhood) {
        return mode + "the node must be a grid whose first step adds a neighbourhood";
    }
    for (std::size_t s = 1; s < node.steps.size(); ++s) {
        const KernelType type = node.steps[s].kernel.type;
        if (type != KernelType::flag && type != KernelType::value) {
            return mode + "step " + std::to_string(s + 1) +
                   " depends on the observer; behind the neighbourhood only flags and values "
                   "may count";
        }
        if (node.steps[s].op == StepOp::add)
            return mode + "step " + std::to_string(s + 1) + " adds entities of other cells";
    }
    if (node.combine != StepOp::add || node.refresh.type != RefreshType::exact)
        return mode + "the node must be added to the others, and its refresh exact";
    if (node.settings.every_ticks != 1)
        return mode + "every observer is told in every tick: every_ticks must be 1";
    const CellShape& cells = node.steps.front().kernel.cells;
    if (cells.depth_m > 0) return mode + "cells must have no depth";
    if (cells.rings > shared_rings_max) return mode + "at most 3 rings";
    const CellGrid grid = cell_grid_of(rules, cells);
    if (std::uint64_t{grid.columns} * grid.rows > cells_max)
        return mode + "more than 1048576 cells cover the bounds";
    return {};
}

std::string problem_of_space(const InterestRules& rules) {
    const Vec3 min = rules.bounds_min, max = rules.bounds_max;
    const bool second = rules.axes == Axes::xz ? min.z < max.z : min.y < max.y;
    if (!is_finite(min) || !is_finite(max) || !(min.x < max.x) || !second ||
        (rules.axes == Axes::xyz && !(min.z < max.z))) {
        return "bounds must be finite, with min below max on every axis that counts";
    }
    if (!is_finite({max.x - min.x, max.y - min.y, max.z - min.z}))
        return "bounds are too far from each other: as a float their distance is infinite";
    if (!std::isfinite(rules.cell_m) || rules.cell_m < 0) return "cell must be 0 or more";
    if (rules.range_classes_m.size() > classes_max) return "more than 6 classes of range";
    float last = 0;
    for (const float range : rules.range_classes_m) {
        if (!is_positive(range) || range <= last || !is_reach(range))
            return "classes of range must ascend from above 0, and be at most 1e18 m";
        last = range;
    }
    if (!is_reach(rules.group_bounds_max_m))
        return "the largest bounds of a group must be 0 to 1e18 m";
    if (!is_reach(rules.observer_range_max_m))
        return "the largest range of observers must be 0 to 1e18 m";
    return {};
}

}  // namespace

CellGrid cell_grid_of(const InterestRules& rules, const CellShape& cells) {
    const bool is_flat = rules.axes == Axes::xz;
    const Vec3 min = rules.bounds_min, max = rules.bounds_max;
    CellGrid grid;
    grid.origin = {min.x, is_flat ? min.z : min.y, 0};
    grid.width_m = cells.width_m;
    grid.height_m = cells.height_m;
    // What lies on the far border is inside, and so is the cell that begins there.
    const auto count = [](float span, float side) {
        return static_cast<std::uint32_t>(std::min(std::floor(span / side), 1e6F)) + 1;
    };
    grid.columns = count(max.x - min.x, cells.width_m);
    grid.rows = count(is_flat ? max.z - min.z : max.y - min.y, cells.height_m);
    return grid;
}

std::string problem_of(const InterestRules& rules) {
    if (std::string wrong = problem_of_space(rules); !wrong.empty()) return wrong;
    if (rules.nodes.size() > nodes_max) return "more than 4096 nodes";
    unsigned planes = 0;
    bool is_pipeline = false, has_custom = false;
    for (const NodeDesc& node : rules.nodes) {
        if (const std::string wrong = problem_of(node); !wrong.empty())
            return "node '" + node.name + "', " + wrong;
        if (const std::string wrong = problem_of_mode(node, rules); !wrong.empty())
            return "node '" + node.name + "', " + wrong;
        is_pipeline |= node.combine != StepOp::add;
        has_custom |= node.type == NodeType::custom;
        planes += node.waits() ? 1 : 0;
        for (const StepDesc& step : node.steps) planes += planes_of(step.kernel);
    }
    if (is_pipeline && has_custom)
        return "a custom node cannot stand beside nodes that require or subtract";
    if (planes > planes_max) return "more steps remember than the 30 masks of a block";
    return {};
}

}  // namespace purview
