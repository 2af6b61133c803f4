// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/program_summary.hpp"

#include <algorithm>

#include "interest/rules/kernel.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

bool depends_on_entity(const Step& step) noexcept {
    return step.kernel->depends_on() == DependsOn::entity;
}

/// Returns whether a step of an inner node subtracts by the entity's own attributes.
bool has_hiding_step(const InnerNodes& inner) {
    const auto hides = [](const Step& step) {
        return step.combine == Combine::subtract && depends_on_entity(step);
    };
    return std::any_of(inner.programs.begin(), inner.programs.end(), [&](const NodeProgram& node) {
        return std::any_of(node.steps.begin(), node.steps.end(), hides);
    });
}

bool has_hiding_step(const NodeProgram& node) {
    return std::any_of(node.steps.begin(), node.steps.end(), [&](const Step& step) {
        const bool may_hide =
            node.combine == Combine::subtract || step.combine == Combine::subtract;
        return (may_hide && depends_on_entity(step)) ||
               (step.inner != nullptr && has_hiding_step(*step.inner));
    });
}

}  // namespace

ProgramSummary::ProgramSummary(const Rules& rules, const Program& program) {
    const std::size_t nodes = std::max<std::size_t>(rules.nodes.size(), 1);
    sources_of_node.assign(nodes, {});
    open_nodes = Bitset(nodes);
    for (std::size_t n = 0; n < nodes; ++n) {
        const bool is_for_bound = !rules.nodes.empty() && rules.nodes[n].members == Members::bound;
        if (!is_for_bound) unbound_nodes.push_back(id_at<NodeId>(n));
    }
    for (std::uint32_t s = 0; s < program.rows.size(); ++s) {
        const RowSource& source = program.rows[s];
        PURVIEW_ASSERT(index_of(source.node) < rules.nodes.size());
        sources_of_node[index_of(source.node)].push_back(s);
        (source.pulled ? has_pulled_rows : has_shared_rows) = true;
        has_cells |= source.by == RowsBy::cell;
        has_moving_cells |= source.by == RowsBy::cell && source.dispatcher->reads_positions();
    }
    for (const NodeId node : program.open_nodes) open_nodes.set(index_of(node));
    for (const NodeProgram& node : program.nodes) {
        has_waiting |= node.result_plane != no_plane;
        has_lazy |= node.result_plane != no_plane && node.lazy_leave;
    }
    has_hiding_flags =
        std::any_of(program.whole.begin(), program.whole.end(),
                    [](const WholeNode& node) { return has_hiding_step(node.program); });
}

}  // namespace purview
