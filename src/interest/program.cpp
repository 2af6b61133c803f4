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
                              step.kernel->domain() != KeyDomain::none &&
                              kernel.depends_on() == DependsOn::key;
        if (!same_key) return false;
    }
    return true;
}

class Compiler {
  public:
    Compiler(const InterestRules& rules, const AttributeNames& names,
             const std::function<std::uint32_t(NodeId)>& member_column_of, OldKernels old)
        : rules_(rules), names_(names), member_column_of_(member_column_of), old_(old) {}

    Program run() {
        if (rules_.nodes.empty()) {
            out_.open_nodes.push_back(NodeId{0});
            out_.whole.push_back({});
            out_.whole.back().everything = true;
        }
        for (const NodeDesc& node : rules_.nodes)
            out_.is_pipeline |= node.enabled && node.combine != StepOp::add;
        out_.written.resize(rules_.nodes.size());
        for (std::size_t n = 0; n < rules_.nodes.size(); ++n) compile_node(n);
        summarise();
        return std::move(out_);
    }

  private:
    std::shared_ptr<const InterestKernel> kernel_of(std::size_t n, std::size_t s) const {
        if (old_.rules != nullptr) {
            const auto* was = written_before(rules_, n, s, *old_.rules, *old_.program);
            if (was != nullptr) return was->kernel;
        }
        const NodeDesc& node = rules_.nodes[n];
        return make_kernel(node.steps[s].kernel, rules_, node.refresh.widen_m, names_);
    }

    void warn(const NodeDesc& node, std::size_t step, const char* what) {
        out_.warnings.push_back("node '" + node.name + "', step " + std::to_string(step + 1) +
                                ": " + what);
    }

    void keep(std::shared_ptr<const InterestKernel> kernel, std::vector<Step>& steps, StepOp op) {
        steps.emplace_back(op, *kernel);
        out_.kernels.push_back(std::move(kernel));
    }

    void compile_node(std::size_t n) {
        const NodeDesc& node = rules_.nodes[n];
        const NodeId id{static_cast<std::uint16_t>(n)};
        std::vector<Step> steps;
        const bool is_dispatcher = node.type == NodeType::dispatcher;
        const bool is_whole = node.steps.empty() && !is_dispatcher;
        const std::size_t implied = is_dispatcher || (is_whole && out_.is_pipeline) ? 1 : 0;
        if (is_dispatcher) {
            keep(make_cells_kernel(*node.dispatcher), steps, StepOp::add);
        } else if (implied > 0) {
            keep(make_everything_kernel(), steps, StepOp::add);
        }
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            out_.written[n].push_back({kernel_of(n, s), no_plane});
            keep(out_.written[n].back().kernel, steps, node.steps[s].op);
        }
        if (!node.enabled) return;
        WholeNode& whole = out_.whole.emplace_back();
        whole.id = id;
        whole.program.combine = node.combine;
        if (node.type == NodeType::custom) {
            whole.is_custom = true;
            out_.custom_nodes.push_back(id);
            return;
        }
        if (is_whole && !out_.is_pipeline) {
            whole.everything = true;
            out_.open_nodes.push_back(id);
            return;
        }
        whole.program.steps = steps;
        const bool adds = std::any_of(steps.begin(), steps.end(),
                                      [](const Step& s) { return s.op == StepOp::add; });
        if (!adds) {
            out_.warnings.push_back("node '" + node.name + "' has no add step: it is always empty");
            if (out_.is_pipeline) out_.nodes.emplace_back().combine = node.combine;
            return;
        }
        for (std::size_t s = 0; s < steps.size() && steps[s].op != StepOp::add; ++s)
            warn(node, s - implied, "nothing has been added before it: it has no effect");
        NodeProgram program;
        program.combine = node.combine;
        program.refresh = node.refresh;
        bool has_candidates = false;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            Step step = steps[s];
            const KernelDesc* desc = s < implied ? nullptr : &node.steps[s - implied].kernel;
            if (step.op == StepOp::add && !out_.is_pipeline &&
                is_shareable(*step.kernel, steps, s)) {
                add_row(node, id, steps, s, false);
                continue;
            }
            if (step.op == StepOp::add) {
                has_candidates = true;
                add_candidates(node, id, steps, s, desc);
            }
            if (step.kernel->planes() > 0) {
                step.plane = out_.plane_count;
                out_.plane_count += step.kernel->planes();
                whole.program.steps[s].plane = step.plane;
                if (s >= implied) out_.written[n][s - implied].plane = step.plane;
            }
            if (desc != nullptr) note_places(step, *desc);
            program.steps.push_back(step);
        }
        if (!has_candidates && !out_.is_pipeline) return;
        if (node.members != NodeMembers::all) program.member_column = member_column_of_(id);
        if (node.waits()) program.result_plane = out_.plane_count++;
        whole.program.refresh = node.refresh;
        whole.program.result_plane = program.result_plane;
        out_.nodes.push_back(std::move(program));
    }

    void add_row(const NodeDesc& node, NodeId id, const std::vector<Step>& steps, std::size_t s,
                 bool pulled) {
        RowSource row;
        row.node = id;
        row.pulled = pulled;
        row.member = steps[s].kernel;
        if (node.type == NodeType::dispatcher && s == 0) {
            row.by = RowsBy::cell;
            row.dispatcher = node.dispatcher.get();
        } else if (steps[s].kernel->depends_on() == DependsOn::key) {
            row.by = RowsBy::key;
            row.domain = steps[s].kernel->domain();
        }
        for (std::size_t f = s + 1; !pulled && f < steps.size(); ++f) {
            if (steps[f].op != StepOp::add) row.filters.push_back(steps[f]);
        }
        out_.rows.push_back(std::move(row));
    }

    /// Where the windows find those to whom an add may say yes.
    void add_candidates(const NodeDesc& node, NodeId id, const std::vector<Step>& steps,
                        std::size_t s, const KernelDesc* desc) {
        const InterestKernel& kernel = *steps[s].kernel;
        if (kernel.depends_on() != DependsOn::pair) {
            add_row(node, id, steps, s, true);
            warn(node, s,
                 out_.is_pipeline ? "nodes count in order, so this rule copies rows"
                                  : "a later step judges pairs, so this rule copies rows");
        } else if (desc != nullptr && desc->type == KernelType::owner) {
            out_.pulls_owned = true;
        } else if (!kernel.looks_into_areas() &&
                   (!kernel.needs_place() || !(kernel.reach_m() > 0))) {
            out_.everywhere = true;
            warn(node, s, "it has no reach, so every observer is asked about all");
        }
    }

    /// A kernel that remembers must see every entity in its reach, or its memory has holes.
    void note_places(const Step& step, const KernelDesc& desc) {
        const InterestKernel& kernel = *step.kernel;
        out_.is_restless |= kernel.is_restless();
        const bool is_owner = desc.type == KernelType::owner;
        out_.looks_from_owned |= kernel.needs_place() && kernel.looks_from() == LookFrom::owned;
        out_.needs_owned |= is_owner || kernel.looks_from() == LookFrom::owned;
        if (desc.type == KernelType::area) {
            out_.looks_into_areas = true;
            out_.area_margin_m = std::max(out_.area_margin_m, kernel.reach_m());
            return;
        }
        if (step.op != StepOp::add && !kernel.remembers()) return;
        if (!(kernel.reach_m() > 0)) return;
        Spread spread;
        spread.from = kernel.looks_from();
        spread.enter_m = kernel.reach_m();
        if (desc.type == KernelType::distance) {
            spread.range = desc.range;
            spread.enter_m = kernel.inside_m();
            spread.margin_m = desc.leave_m - desc.enter_m + (kernel.inside_m() - desc.enter_m);
        }
        for (Spread& known : out_.spreads) {
            if (known.from != spread.from || known.range != spread.range) continue;
            known.enter_m = std::max(known.enter_m, spread.enter_m);
            known.margin_m = std::max(known.margin_m, spread.margin_m);
            return;
        }
        out_.spreads.push_back(spread);
    }

    void summarise() {
        for (const WholeNode& node : out_.whole) {
            for (const Step& step : node.program.steps) {
                for (const float edge : step.kernel->edges_m()) out_.all_edges_m.push_back(edge);
            }
        }
        out_.all_wait = !out_.nodes.empty();
        out_.skips_empty = true;
        for (const NodeProgram& node : out_.nodes) {
            out_.all_wait &= node.result_plane != no_plane;
            // Whoever remembers must be asked in every tick, also about those who wait.
            for (const Step& step : node.steps) {
                out_.all_wait &= step.plane == no_plane;
                out_.skips_empty &= step.op != StepOp::add || step.kernel->skips_empty();
                summarise(step);
            }
        }
        find_nearness();
        std::sort(out_.edges_m.begin(), out_.edges_m.end());
        out_.edges_m.erase(std::unique(out_.edges_m.begin(), out_.edges_m.end()),
                           out_.edges_m.end());
        out_.is_pushable = !out_.spreads.empty() && !out_.everywhere && !out_.looks_into_areas &&
                           !out_.needs_owned && !out_.is_restless && !out_.is_pipeline &&
                           out_.any_move_m <= out_.reach_m();
        for (const Spread& spread : out_.spreads) out_.is_pushable &= spread.range == RangeOf::rule;
        for (const NodeProgram& node : out_.nodes)
            out_.is_pushable &= node.result_plane == no_plane;
    }

    /// Whether all strengths are one step's.
    void find_nearness() {
        if (out_.nodes.size() != 1 || out_.nodes.front().result_plane != no_plane) return;
        const Step* only = nullptr;
        for (const Step& step : out_.nodes.front().steps) {
            if (step.op == StepOp::subtract) continue;
            if (only != nullptr || step.op == StepOp::require) return;
            only = &step;
        }
        if (only == nullptr) return;
        out_.nearness_m = only->kernel->nearness_m();
        out_.nearness_from = only->from;
    }

    void summarise(const Step& step) {
        const InterestKernel& kernel = *step.kernel;
        const float known = out_.inside_kernel == nullptr ? 0 : out_.inside_kernel->inside_m();
        if (kernel.tells_inside() && kernel.inside_m() > known) out_.inside_kernel = &kernel;
        const std::vector<float> edges = kernel.edges_m();
        out_.edges_m.insert(out_.edges_m.end(), edges.begin(), edges.end());
        if (!edges.empty() || !kernel.reads_places()) return;
        const float reach = kernel.reach_m();
        out_.any_move_m =
            std::max(out_.any_move_m, reach > 0 ? reach : std::numeric_limits<float>::infinity());
    }

    const InterestRules& rules_;
    const AttributeNames& names_;
    const std::function<std::uint32_t(NodeId)>& member_column_of_;
    OldKernels old_;
    Program out_;
};

}  // namespace

const Program::Written* written_before(const InterestRules& rules, std::size_t n, std::size_t s,
                                       const InterestRules& old_rules, const Program& old) {
    const NodeDesc& node = rules.nodes[n];
    const auto is_same = [&](const NodeDesc& was) {
        return was.name == node.name && s < was.steps.size() &&
               was.steps[s].kernel == node.steps[s].kernel &&
               was.refresh.widen_m == node.refresh.widen_m;
    };
    // Nodes may share a name: of those it is the one with its number, if that is the same.
    if (n < old_rules.nodes.size() && is_same(old_rules.nodes[n])) return &old.written[n][s];
    for (std::size_t o = 0; o < old_rules.nodes.size(); ++o) {
        if (is_same(old_rules.nodes[o])) return &old.written[o][s];
    }
    return nullptr;
}

float Program::reach_m() const noexcept {
    float reach = 0;
    for (const Spread& spread : spreads) reach = std::max(reach, spread.enter_m + spread.margin_m);
    return reach;
}

Program compile(const InterestRules& rules, const AttributeNames& names,
                const std::function<std::uint32_t(NodeId)>& member_column_of, OldKernels old) {
    return Compiler(rules, names, member_column_of, old).run();
}

}  // namespace purview
