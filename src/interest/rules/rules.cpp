// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/rules.hpp"
#include "core/priority.hpp"
#include "interest/rules/custom_kernel.hpp"

#include <algorithm>
#include <cmath>

#include "core/finite.hpp"
#include "interest/rules/kernel_facts.hpp"
#include "interest/rules/program.hpp"
#include "interest/rules/rule_problems.hpp"
#include "purview/limits.hpp"
#include "purview/schema.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

constexpr std::uint32_t refresh_ticks_max = 65'535;
constexpr std::size_t nodes_max = 4096, steps_max = 32, classes_max = 6;
/// Maximum number of masks that all kernels of all nodes may keep for a block.
constexpr unsigned planes_max = 30;

bool is_positive(float v) noexcept {
    return std::isfinite(v) && v > 0;
}

/// Returns whether the value is 0 to reach_max, so that its square is finite. False for NaN.
bool is_reach(float meters) noexcept {
    return meters >= 0 && meters <= reach_max;
}

/// Returns what is wrong with the kernel, or an empty string.
std::string problem_of(const Kernel& kernel, const NodeDef& node) {
    switch (kernel.type) {
        case KernelType::distance:
            if (!is_positive(kernel.enter) || !std::isfinite(kernel.leave) ||
                kernel.leave < kernel.enter) {
                return "a distance needs 0 < enter <= leave";
            }
            return is_reach(kernel.leave + 2 * node.widen)
                       ? ""
                       : "the distance is too large: its leave radius with twice the widening may "
                         "be at most 1e18 m";
        case KernelType::same_key:
            return kernel.key == KeyId::none ? "unknown key" : "";
        case KernelType::flag:
            return kernel.flag == FlagId::none ? "unknown flag" : "";
        case KernelType::custom:
            if (kernel.custom == nullptr) return "a custom step needs a kernel";
            if (!is_reach(engine_kernel(kernel.custom)->reach()))
                return "the reach of a custom step must be 0 to 1e18 m";
            return {};
        case KernelType::area:
            return kernel.leave >= 0 && is_reach(kernel.leave + node.widen)
                       ? ""
                       : "the margin of areas plus the widening must be 0 to 1e18 m";
        case KernelType::owner:
        case KernelType::everything:
            return {};
        case KernelType::value:
            if (kernel.value == ValueId::none) return "unknown value";
            return kernel.min <= kernel.max ? "" : "a value needs min <= max";
        case KernelType::cells:
            if (!is_positive(kernel.cell_size.x) || !is_positive(kernel.cell_size.y) ||
                !std::isfinite(kernel.cell_size.z) || kernel.cell_size.z < 0) {
                return "cells need a width and a height above 0";
            }
            if (const float rings = static_cast<float>(kernel.rings) + 1;
                !is_reach(rings * kernel.cell_size.x) || !is_reach(rings * kernel.cell_size.y) ||
                !is_reach(rings * kernel.cell_size.z))
                return "cells are too large: with their rings they may reach at most 1e18 m";
            return {};
        case KernelType::hexagons:
            if (!is_positive(kernel.cell_size.x)) return "hexagons need a side above 0";
            return is_reach(2.001F * kernel.cell_size.x * (static_cast<float>(kernel.rings) + 1))
                       ? ""
                       : "hexagons are too large: with their rings they may reach at most 1e18 m";
        case KernelType::line_of_sight:
            if (kernel.rays == nullptr) return "line of sight needs a RayTest";
            if (!is_reach(kernel.enter)) return "line of sight needs a distance of 0 to 1e18 m";
            if (kernel.ray_entities_per_tick == 0 || kernel.ray_valid_ticks < 2)
                return "line of sight needs at least 1 test per tick and a grace time of at least "
                       "2 ticks";
            return {};
    }
    return "unknown kernel";
}

unsigned planes_of(const Kernel& kernel) noexcept {
    switch (kernel.type) {
        case KernelType::distance:
            return kernel.leave > kernel.enter ? 1 : 0;
        case KernelType::area:
            return kernel.leave > 0 ? 1 : 0;
        case KernelType::line_of_sight:
            return 3;
        case KernelType::custom:
            return engine_kernel(kernel.custom)->planes();
        default:
            return 0;
    }
}

std::string problem_of(const NodeDef& node) {
    if (node.steps.size() > steps_max) return "more than 32 steps";
    if (node.custom != nullptr && !node.steps.empty()) return "a custom node has no steps";
    if (node.custom != nullptr && node.dispatcher != nullptr)
        return "a node has a dispatcher or a custom node, not both";
    if (node.every_ticks == 0 || node.every_ticks > refresh_ticks_max)
        return "every_ticks must be 1 to 65535";
    if (node.dormant && node.every_ticks > 1)
        return "a dormant node is evaluated every tick: every_ticks must be 1";
    if (!is_reach(node.widen)) return "widening must be 0 to 1e18 m";
    if (!is_priority(node.replication.priority)) return "priority must be 1e-6 to 1e6";
    if (node.replication.every_ticks == 0 ||
        node.replication.every_ticks > limits::send_interval_ticks)
        return "the send interval must be 1 to 10,000 ticks";
    for (std::size_t s = 0; s < node.steps.size(); ++s) {
        const std::string wrong = problem_of(node.steps[s], node);
        if (!wrong.empty()) return "step " + std::to_string(s + 1) + ": " + wrong;
    }
    if (!node.inner.empty() && node.dispatcher == nullptr)
        return "only a dispatcher has inner nodes with steps";
    if (node.inner.size() > nodes_max) return "more than 4096 lists of inner steps";
    for (std::size_t list = 0; list < node.inner.size(); ++list) {
        const auto& steps = node.inner[list];
        const auto inner = "inner steps " + std::to_string(list);
        if (steps.size() > steps_max) return inner + ": more than 32 steps";
        for (std::size_t s = 0; s < steps.size(); ++s) {
            std::string wrong = problem_of(steps[s], node);
            if (wrong.empty() && planes_of(steps[s]) > 0) {
                wrong =
                    "a step of an inner node cannot have memory: no leave radius above the enter "
                    "radius, no line of sight";
            }
            if (!wrong.empty()) return inner + ", step " + std::to_string(s + 1) + ": " + wrong;
        }
    }
    return {};
}

constexpr std::uint32_t cells_max = 1U << 20;  ///< for a node with a shared payload
constexpr std::uint32_t shared_rings_max = 3;

/// Returns why the node's entities cannot be serialized for several observers at once, or an empty
/// string.
std::string problem_of_mode(const NodeDef& node, const Rules& rules) {
    if (node.payload == Payload::per_observer) return {};
    const std::string mode =
        node.payload == Payload::update_many ? "mode 'update many': " : "mode 'read many': ";
    if (node.custom != nullptr || node.dispatcher != nullptr || node.steps.empty() ||
        node.steps.front().combine != Combine::add ||
        node.steps.front().type != KernelType::cells) {
        return mode + "the first step must add a neighborhood of cells";
    }
    for (std::size_t s = 1; s < node.steps.size(); ++s) {
        const KernelType type = node.steps[s].type;
        if (type != KernelType::flag && type != KernelType::value) {
            return mode + "step " + std::to_string(s + 1) +
                   " depends on the observer; after the neighborhood, only flags and values "
                   "are allowed";
        }
        if (node.steps[s].combine == Combine::add)
            return mode + "step " + std::to_string(s + 1) + " adds entities of other cells";
    }
    if (node.combine != Combine::add || node.dormant || node.every_ticks > 1)
        return mode + "the node must be an add node, not dormant, and evaluated in every tick";
    if (node.replication.every_ticks != 1)
        return mode + "state is sent to every observer in every tick: every_ticks must be 1";
    const Kernel& cells = node.steps.front();
    if (cells.cell_size.z > 0) return mode + "cells must have no depth";
    if (cells.rings > shared_rings_max) return mode + "more than 3 rings";
    const CellGrid grid = cell_grid_of(rules, cells);
    if (std::uint64_t{grid.columns} * grid.rows > cells_max)
        return mode + "more than 1048576 cells cover the bounds";
    return {};
}

std::string problem_of_space(const Rules& rules) {
    const Vec3 min = rules.min, max = rules.max;
    const bool second = rules.axes == Axes::xz ? min.z < max.z : min.y < max.y;
    if (!is_finite(min) || !is_finite(max) || !(min.x < max.x) || !second ||
        (rules.axes == Axes::xyz && !(min.z < max.z))) {
        return "bounds must be finite, with min below max on every axis in use";
    }
    if (!is_finite({max.x - min.x, max.y - min.y, max.z - min.z}))
        return "bounds are too far apart: their distance overflows a float";
    if (!std::isfinite(rules.cell_size) || rules.cell_size < 0)
        return "cell_size must be 0 or more";
    if (rules.range_classes.size() > classes_max) return "more than 6 range classes";
    float last = 0;
    for (const float range : rules.range_classes) {
        if (!is_positive(range) || range <= last || !is_reach(range))
            return "range classes must ascend, and be above 0 and at most 1e18 m";
        last = range;
    }
    if (!is_reach(rules.group_radius_max)) return "group_radius_max must be 0 to 1e18 m";
    if (!is_reach(rules.observer_range_max)) return "observer_range_max must be 0 to 1e18 m";
    return {};
}

}  // namespace

CellGrid cell_grid_of(const Rules& rules, const Kernel& cells) {
    const bool is_flat = rules.axes == Axes::xz;
    const Vec3 min = rules.min, max = rules.max;
    CellGrid grid;
    grid.origin = {min.x, is_flat ? min.z : min.y, 0};
    grid.width = cells.cell_size.x;
    grid.height = cells.cell_size.y;
    // The far border is inside, so the cell that begins there counts.
    const auto count = [](float span, float side) {
        return static_cast<std::uint32_t>(std::min(std::floor(span / side), 1e6F)) + 1;
    };
    grid.columns = count(max.x - min.x, cells.cell_size.x);
    grid.rows = count(is_flat ? max.z - min.z : max.y - min.y, cells.cell_size.y);
    return grid;
}

std::string problem_of_structure(const Rules& rules) {
    if (std::string wrong = problem_of_space(rules); !wrong.empty()) return wrong;
    if (rules.nodes.size() > nodes_max) return "more than 4096 nodes";
    unsigned planes = 0;
    bool is_pipeline = false, has_custom = false;
    for (const NodeDef& node : rules.nodes) {
        if (const std::string wrong = problem_of(node); !wrong.empty())
            return "node '" + node.name + "', " + wrong;
        if (const std::string wrong = problem_of_mode(node, rules); !wrong.empty())
            return "node '" + node.name + "', " + wrong;
        is_pipeline |= node.combine != Combine::add;
        has_custom |= node.custom != nullptr;
        planes += waits(node) ? 1 : 0;
        for (const Kernel& step : node.steps) planes += planes_of(step);
    }
    if (is_pipeline && has_custom)
        return "a custom node cannot be combined with nodes that require or subtract";
    if (planes > planes_max) return "steps with memory need more than 30 masks per block";
    return {};
}

namespace {

/// Returns what the kernel of a step refers to that is not declared, or an empty string.
std::string missing_in(const Kernel& kernel, const Rules& def) {
    if (kernel.type == KernelType::flag && index_of(kernel.flag) >= def.flag_names.size())
        return "flag that is not declared";
    if (kernel.type == KernelType::same_key && index_of(kernel.key) >= def.key_names.size())
        return "key that is not declared";
    if (kernel.type == KernelType::custom &&
        engine_kernel(kernel.custom)->depends_on() == DependsOn::key &&
        index_of(engine_kernel(kernel.custom)->domain()) >= def.key_names.size())
        return "kernel that depends on a key that is not declared";
    if (kernel.type == KernelType::value && index_of(kernel.value) >= def.value_names.size())
        return "value that is not declared";
    return {};
}

}  // namespace

std::string problem_of_nodes(const Rules& rules) {
    if (std::string wrong = problem_of_structure(rules); !wrong.empty()) return wrong;
    for (const NodeDef& node : rules.nodes) {
        std::string wrong;
        const auto check = [&](const std::vector<Kernel>& steps) {
            for (const Kernel& step : steps) {
                if (wrong.empty()) wrong = missing_in(step, rules);
            }
        };
        check(node.steps);
        for (const auto& steps : node.inner) check(steps);
        if (!wrong.empty()) return "node '" + node.name + "', a step uses a " + wrong;
    }
    return {};
}

std::string problem_of(const Rules& rules) {
    if (std::string wrong = problem_of_nodes(rules); !wrong.empty()) return wrong;
    const auto too_many = [](const char* what, std::uint64_t most) {
        return std::string("more than ") + std::to_string(most) + " " + what;
    };
    constexpr std::uint32_t observers_most = (1U << observer_index_bits) - 1;
    if (rules.flag_names.size() > Schema::flags_max) return too_many("flags", Schema::flags_max);
    if (rules.key_names.size() > Schema::keys_max) return too_many("keys", Schema::keys_max);
    if (rules.value_names.size() > Schema::values_max)
        return too_many("values", Schema::values_max);
    if (rules.observers_max > observers_most)
        return "observers_max must be at most " + std::to_string(observers_most);
    if (rules.areas_max > limits::areas_per_observer)
        return "areas_max must be at most " + std::to_string(limits::areas_per_observer);
    const auto& classes = rules.range_classes;
    for (std::size_t k = 0; k < rules.kinds.size(); ++k) {
        const KindRules& kind = rules.kinds[k];
        const std::string its_name =
            k < rules.kind_names.size() ? "'" + rules.kind_names[k] + "'" : std::to_string(k);
        if (!(kind.range >= 0 && kind.range <= (classes.empty() ? 0 : classes.back())))
            return "kind " + its_name + ", range must be 0 to the largest of range_classes";
        if (kind.uses_group_radius && !(rules.group_radius_max > 0))
            return "kind " + its_name + ", uses_group_radius needs a group_radius_max";
        for (const NodeId node : kind.nodes) {
            if (index_of(node) >= rules.nodes.size()) {
                return "kind " + its_name + ", node " + std::to_string(index_of(node)) +
                       " does not exist";
            }
        }
    }
    return {};
}

namespace {

template <class Id>
Id declare(std::vector<std::string>& names, std::string_view name) {
    const auto at = std::find(names.begin(), names.end(), name);
    const auto index = static_cast<std::size_t>(at - names.begin());
    if (at == names.end()) names.emplace_back(name);
    return id_at<Id>(index);
}

}  // namespace

FlagId Rules::flag(std::string_view name) {
    return declare<FlagId>(flag_names, name);
}
KeyId Rules::key(std::string_view name) {
    return declare<KeyId>(key_names, name);
}
ValueId Rules::value(std::string_view name) {
    return declare<ValueId>(value_names, name);
}
KindId Rules::kind(std::string_view name) {
    return declare<KindId>(kind_names, name);
}
NodeId Rules::node_id(std::string_view name) {
    const auto at = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const NodeDef& node) { return node.name == name; });
    const auto index = static_cast<std::size_t>(at - nodes.begin());
    if (at == nodes.end()) nodes.emplace_back().name = name;
    return id_at<NodeId>(index);
}
NodeDef& Rules::node(std::string_view name) {
    return nodes[index_of(node_id(name))];
}
KindRules& Rules::for_kind(KindId kind) {
    PURVIEW_ASSERT(index_of(kind) < Schema::kinds_max);
    if (index_of(kind) >= Schema::kinds_max) {
        static thread_local KindRules of_no_kind;
        return of_no_kind = {};
    }
    if (index_of(kind) >= kinds.size()) kinds.resize(index_of(kind) + std::size_t{1});
    return kinds[index_of(kind)];
}

}  // namespace purview
