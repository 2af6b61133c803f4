// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/program.hpp"

#include <algorithm>
#include <limits>

namespace purview {

namespace {

/// May an add of this kernel live in a row, with these steps behind it?
bool is_shareable(const InterestKernel& kernel, const std::vector<Step>& steps, std::size_t at) {
    if (kernel.depends_on() == DependsOn::pair) return false;
    for (std::size_t later = at + 1; later < steps.size(); ++later) {
        const Step& step = steps[later];
        if (step.op == StepOp::add || step.kernel->depends_on() == DependsOn::entity) continue;
        const bool same_key = step.kernel->depends_on() == DependsOn::key &&
                              step.kernel->domain() == kernel.domain() &&
                              kernel.depends_on() == DependsOn::key;
        if (!same_key) return false;
    }
    return true;
}

void compile_node(const NodeDesc& node, const AttributeNames& names, Program& out) {
    out.whole.push_back({node.name, node.steps.empty(), {}});
    if (node.steps.empty()) {
        out.everything = true;
        return;
    }
    std::vector<Step> steps;
    for (const StepDesc& desc : node.steps) {
        out.kernels.push_back(make_kernel(desc.kernel, names));
        steps.push_back({desc.op, out.kernels.back().get(), no_plane});
    }
    out.whole.back().program.steps = steps;
    const bool adds =
        std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.op == StepOp::add; });
    if (!adds) {
        out.warnings.push_back("node '" + node.name + "' has no add step: it is always empty");
        return;
    }
    NodeProgram program;
    bool candidates = false;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        Step step = steps[s];
        if (step.op == StepOp::add && is_shareable(*step.kernel, steps, s)) {
            RowSource row{step.kernel->domain(), step.kernel, {}, false};
            for (std::size_t f = s + 1; f < steps.size(); ++f) {
                if (steps[f].op != StepOp::add) row.filters.push_back(steps[f]);
            }
            out.rows.push_back(std::move(row));
            continue;
        }
        if (step.op == StepOp::add) {
            candidates = true;
            if (step.kernel->depends_on() != DependsOn::pair) {
                out.rows.push_back({step.kernel->domain(), step.kernel, {}, true});
                out.warnings.push_back("node '" + node.name + "', step " + std::to_string(s + 1) +
                                       ": a later step judges pairs, so this rule copies rows");
            } else if (!(step.kernel->reach_m() > 0)) {
                out.everywhere = true;
                out.warnings.push_back("node '" + node.name + "', step " + std::to_string(s + 1) +
                                       ": it has no reach, so every observer is asked about all");
            }
        }
        if (step.kernel->remembers()) step.plane = out.plane_count++;
        out.whole.back().program.steps[s].plane = step.plane;
        // A kernel that remembers must see every entity in its reach, or its memory has holes.
        if (step.op == StepOp::add || step.kernel->remembers()) {
            out.reach_m = std::max(out.reach_m, step.kernel->reach_m());
        }
        program.steps.push_back(step);
    }
    if (candidates) out.nodes.push_back(std::move(program));
}

}  // namespace

Program compile(const InterestRules& rules, const AttributeNames& names) {
    Program out;
    if (rules.nodes.empty()) {
        out.everything = true;
        out.whole.push_back({"default", true, {}});
    }
    for (const NodeDesc& node : rules.nodes) compile_node(node, names, out);
    for (const WholeNode& node : out.whole) {
        for (const Step& step : node.program.steps) {
            for (const float edge : step.kernel->edges_m()) out.all_edges_m.push_back(edge);
        }
    }
    for (const NodeProgram& node : out.nodes) {
        for (const Step& step : node.steps) {
            if (step.kernel->inside_m() >
                (out.inside_kernel == nullptr ? 0 : out.inside_kernel->inside_m()))
                out.inside_kernel = step.kernel;
            const std::vector<float> edges = step.kernel->edges_m();
            out.edges_m.insert(out.edges_m.end(), edges.begin(), edges.end());
            if (!edges.empty() || !step.kernel->reads_places()) continue;
            const float reach = step.kernel->reach_m();
            out.any_move_m = std::max(out.any_move_m,
                                      reach > 0 ? reach : std::numeric_limits<float>::infinity());
        }
    }
    std::sort(out.edges_m.begin(), out.edges_m.end());
    out.edges_m.erase(std::unique(out.edges_m.begin(), out.edges_m.end()), out.edges_m.end());
    return out;
}

}  // namespace purview
