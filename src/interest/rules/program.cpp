// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/hash.hpp"
#include "interest/relations/bindings.hpp"

namespace purview {

namespace {

/// May an add of this kernel live in a row, with these steps behind it?
bool is_shareable(const InterestKernel& kernel, const std::vector<Step>& steps, std::size_t at) {
    if (kernel.depends_on() == DependsOn::pair || steps[at].inner != nullptr) return false;
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

/// Of so many radii it is worth looking up which of them a move has crossed.
constexpr std::size_t edges_max = 64;

class Compiler {
  public:
    Compiler(const InterestRules& rules, const AttributeNames& names,
             const MemberColumnOf& member_column_of, OldKernels old)
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
        settle_classes();
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

    /// The step that is the bucket of a dispatcher.
    Step bucket_of(const NodeDesc& node, StepOp op) {
        std::vector<Step> steps;
        keep(make_cells_kernel(*node.dispatcher), steps, op);
        if (!node.inner.empty()) {
            auto inner = std::make_shared<InnerNodes>();
            inner->dispatcher = node.dispatcher.get();
            for (const std::vector<StepDesc>& list : node.inner)
                inner->programs.push_back(inner_program(list, node.refresh.widen_m));
            steps.back().inner = inner.get();
            out_.inner_nodes.push_back(std::move(inner));
        }
        return steps.back();
    }

    NodeProgram inner_program(const std::vector<StepDesc>& list, float widen_m) {
        NodeProgram program;
        if (list.empty() || list.front().op != StepOp::add)
            keep(make_everything_kernel(), program.steps, StepOp::add);
        for (const StepDesc& step : list) {
            keep(make_kernel(step.kernel, rules_, widen_m, names_), program.steps, step.op);
            const InterestKernel& kernel = *program.steps.back().kernel;
            out_.is_restless |= kernel.is_restless();
            out_.looks_from_owned |= kernel.needs_place() && kernel.looks_from() == LookFrom::owned;
            out_.needs_owned |=
                step.kernel.type == KernelType::owner || kernel.looks_from() == LookFrom::owned;
        }
        return program;
    }

    void compile_node(std::size_t n) {
        const NodeDesc& node = rules_.nodes[n];
        const NodeId id{static_cast<std::uint16_t>(n)};
        std::vector<Step> steps;
        const bool is_dispatcher = node.type == NodeType::dispatcher;
        const bool is_whole = node.steps.empty() && !is_dispatcher;
        // The result of a dispatcher starts with its bucket, unless its first step adds; whatever
        // is added is cut to the bucket in the end.
        const auto adds_step = [](const StepDesc& step) { return step.op == StepOp::add; };
        const bool adds_any = std::any_of(node.steps.begin(), node.steps.end(), adds_step);
        const bool adds_first = !node.steps.empty() && adds_step(node.steps.front());
        const std::size_t implied =
            (is_dispatcher && !adds_first) || (is_whole && out_.is_pipeline) ? 1 : 0;
        if (is_dispatcher && implied > 0) {
            steps.push_back(bucket_of(node, StepOp::add));
        } else if (implied > 0) {
            keep(make_everything_kernel(), steps, StepOp::add);
        }
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            out_.written[n].push_back({kernel_of(n, s), no_plane});
            keep(out_.written[n].back().kernel, steps, node.steps[s].op);
        }
        if (is_dispatcher && adds_any) steps.push_back(bucket_of(node, StepOp::require));
        bucket_is_pulled_ = false;
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
            const bool is_written = s >= implied && s - implied < node.steps.size();
            const KernelDesc* desc = is_written ? &node.steps[s - implied].kernel : nullptr;
            if (step.op == StepOp::add && !out_.is_pipeline &&
                is_shareable(*step.kernel, steps, s)) {
                add_row(node, id, steps, s, false, is_dispatcher && !is_written);
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
                if (is_written) out_.written[n][s - implied].plane = step.plane;
            }
            if (desc != nullptr) note_places(step, *desc);
            program.steps.push_back(step);
        }
        if (!has_candidates && !out_.is_pipeline) return;
        program.is_near = std::all_of(
            program.steps.begin(), program.steps.end(),
            [](const Step& step) { return step.op != StepOp::add || step.kernel->needs_place(); });
        if (node.waits()) program.result_plane = out_.plane_count++;
        whole.program.refresh = node.refresh;
        whole.program.result_plane = program.result_plane;
        const bool remembers = std::any_of(program.steps.begin(), program.steps.end(),
                                           [](const Step& step) { return step.plane != no_plane; });
        if (node.members == NodeMembers::bound && !out_.is_pipeline && !remembers &&
            program.result_plane == no_plane)
            return add_to_class(n, std::move(program));
        const std::array alone{id};
        if (node.members != NodeMembers::all) program.member_column = member_column_of_(alone);
        out_.nodes.push_back(std::move(program));
    }

    // -- bound nodes with equal steps: what they say together is what the steps say of the members
    // of any of them

    static bool is_equal(const NodeDesc& left, const NodeDesc& right) {
        return left.type == right.type && left.steps == right.steps &&
               left.dispatcher == right.dispatcher && left.inner == right.inner &&
               left.refresh.widen_m == right.refresh.widen_m;
    }
    /// Of what most nodes differ in.
    static std::uint64_t hash_of(const NodeDesc& node) {
        std::uint64_t hash = node.steps.size();
        const auto add = [&](std::uint64_t value) { hash = mix64(hash ^ value); };
        add(static_cast<std::uint64_t>(node.type));
        for (const StepDesc& step : node.steps) {
            add(static_cast<std::uint64_t>(step.op) << 8 |
                static_cast<std::uint64_t>(step.kernel.type));
            add(std::uint64_t{std::bit_cast<std::uint32_t>(step.kernel.enter_m)} << 32 |
                std::bit_cast<std::uint32_t>(step.kernel.leave_m));
            add(std::uint64_t{index_of(step.kernel.flag)} << 32 | index_of(step.kernel.domain));
        }
        return hash;
    }
    void add_to_class(std::size_t n, NodeProgram program) {
        const NodeId id{static_cast<std::uint16_t>(n)};
        auto& same_hash = classes_of_hash_[hash_of(rules_.nodes[n])];
        for (const std::size_t c : same_hash) {
            const NodeId first = classes_[c].nodes.front();
            if (!is_equal(rules_.nodes[index_of(first)], rules_.nodes[n])) continue;
            classes_[c].nodes.push_back(id);
            return;
        }
        same_hash.push_back(classes_.size());
        classes_.push_back({{id}, std::move(program)});
    }
    void settle_classes() {
        if (classes_.size() <= Program::dense_classes_max) {
            for (Class& one : classes_) {
                one.program.member_column = member_column_of_(one.nodes);
                out_.nodes.push_back(std::move(one.program));
            }
            return;
        }
        out_.class_of_node.assign(rules_.nodes.size(), Bindings::no_class);
        for (std::uint32_t c = 0; c < classes_.size(); ++c) {
            for (const NodeId node : classes_[c].nodes) out_.class_of_node[index_of(node)] = c;
            out_.classes.push_back(std::move(classes_[c].program));
        }
    }

    void add_row(const NodeDesc& node, NodeId id, const std::vector<Step>& steps, std::size_t s,
                 bool pulled, bool is_bucket) {
        RowSource row;
        row.node = id;
        row.pulled = pulled;
        row.member = steps[s].kernel;
        if (is_bucket) {
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
        const bool is_spatial =
            kernel.looks_into_areas() || (kernel.needs_place() && kernel.reach_m() > 0);
        const bool is_owner = desc != nullptr && desc->type == KernelType::owner;
        if (node.type == NodeType::dispatcher && !is_spatial && !is_owner) {
            // Nothing outside of the bucket matters: its rows are the candidates.
            if (std::exchange(bucket_is_pulled_, true)) return;
            const std::size_t bucket = desc == nullptr ? s : steps.size() - 1;
            add_row(node, id, steps, bucket, true, true);
            warn(node, s, "a later step judges pairs, so this rule copies rows");
        } else if (kernel.depends_on() != DependsOn::pair) {
            add_row(node, id, steps, s, true, false);
            warn(node, s,
                 out_.is_pipeline ? "nodes count in order, so this rule copies rows"
                                  : "a later step judges pairs, so this rule copies rows");
        } else if (is_owner) {
            out_.pulls_owned = true;
        } else if (!is_spatial) {
            out_.everywhere = true;
            warn(node, s, "it has no reach, so it is evaluated for every observer and entity");
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
        out_.all_wait = !out_.nodes.empty() && out_.classes.empty();
        out_.skips_empty = true;
        for (const NodeProgram& node : out_.nodes) {
            out_.all_wait &= node.result_plane != no_plane;
            // Whoever remembers must be asked in every tick, also about those who wait.
            for (const Step& step : node.steps) {
                out_.all_wait &= step.plane == no_plane;
                out_.skips_empty &= step.op != StepOp::add || step.kernel->skips_empty();
                summarise(step);
                note_inside(*step.kernel);
            }
        }
        for (const NodeProgram& one : out_.classes) {
            for (const Step& step : one.steps) summarise(step);
        }
        find_nearness();
        std::sort(out_.edges_m.begin(), out_.edges_m.end());
        out_.edges_m.erase(std::unique(out_.edges_m.begin(), out_.edges_m.end()),
                           out_.edges_m.end());
        out_.is_pushable = !out_.spreads.empty() && !out_.everywhere && !out_.looks_into_areas &&
                           !out_.needs_owned && !out_.is_restless && !out_.is_pipeline &&
                           out_.any_move_m <= out_.reach_m() && out_.edges_m.size() <= edges_max;
        for (const Spread& spread : out_.spreads) out_.is_pushable &= spread.range == RangeOf::rule;
        for (const NodeProgram& node : out_.nodes)
            out_.is_pushable &= node.result_plane == no_plane;
    }

    /// Whether all strengths are one step's.
    void find_nearness() {
        if (out_.nodes.size() != 1 || !out_.classes.empty()) return;
        if (out_.nodes.front().result_plane != no_plane) return;
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

    void note_inside(const InterestKernel& kernel) {
        const float known = out_.inside_kernel == nullptr ? 0 : out_.inside_kernel->inside_m();
        if (kernel.tells_inside() && kernel.inside_m() > known) out_.inside_kernel = &kernel;
    }

    void summarise(const Step& step) {
        const InterestKernel& kernel = *step.kernel;
        const std::vector<float> edges = kernel.edges_m();
        out_.edges_m.insert(out_.edges_m.end(), edges.begin(), edges.end());
        constexpr float infinity = std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; step.inner != nullptr && i < step.inner->programs.size(); ++i) {
            for (const Step& inner : step.inner->programs[i].steps)
                if (inner.kernel->reads_places()) out_.any_move_m = infinity;
        }
        if (!edges.empty() || !kernel.reads_places()) return;
        const float reach = kernel.reach_m();
        out_.any_move_m = std::max(out_.any_move_m, reach > 0 ? reach : infinity);
    }

    const InterestRules& rules_;
    const AttributeNames& names_;
    const MemberColumnOf& member_column_of_;
    OldKernels old_;
    Program out_;
    struct Class {
        std::vector<NodeId> nodes;
        NodeProgram program;
    };
    std::vector<Class> classes_;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> classes_of_hash_;
    bool bucket_is_pulled_ = false;  ///< of the node that is compiled
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
                const MemberColumnOf& member_column_of, OldKernels old) {
    return Compiler(rules, names, member_column_of, old).run();
}

}  // namespace purview
