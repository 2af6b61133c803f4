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
#include "purview/status.hpp"

namespace purview {

namespace {

/// Returns whether an add of this kernel can be stored in a row, with the steps after `at`.
bool is_shareable(const InterestKernel& kernel, const std::vector<Step>& steps, std::size_t at) {
    if (kernel.depends_on() == DependsOn::pair || steps[at].inner != nullptr) return false;
    for (std::size_t later = at + 1; later < steps.size(); ++later) {
        const Step& step = steps[later];
        if (step.combine == Combine::add || step.kernel->depends_on() == DependsOn::entity)
            continue;
        const bool same_key = step.kernel->depends_on() == DependsOn::key &&
                              step.kernel->domain() == kernel.domain() &&
                              step.kernel->domain() != KeyId::none &&
                              kernel.depends_on() == DependsOn::key;
        if (!same_key) return false;
    }
    return true;
}

/// With more radii than this, finding those that a move has crossed is too expensive.
constexpr std::size_t edges_max = 64;

class Compiler {
  public:
    Compiler(const Rules& rules, const AttributeNames& names,
             const MemberColumnOf& member_column_of, OldKernels old)
        : rules_(rules), names_(names), member_column_of_(member_column_of), old_(old) {}

    Program run() {
        if (rules_.nodes.empty()) {
            out_.open_nodes.push_back(id_at<NodeId>(0));
            out_.whole.push_back({});
            out_.whole.back().id = id_at<NodeId>(0);  // the default node
            out_.whole.back().everything = true;
        }
        for (const NodeDef& node : rules_.nodes)
            out_.is_pipeline |= node.enabled && node.combine != Combine::add;
        out_.written.resize(rules_.nodes.size());
        for (std::size_t n = 0; n < rules_.nodes.size(); ++n) compile_node(n);
        settle_classes();
        summarize();
        PURVIEW_ASSERT(out_.classes.empty() || out_.classes.size() > Program::dense_classes_max);
        PURVIEW_ASSERT(out_.plane_count < 32);  // a set of planes is a word of bits
        return std::move(out_);
    }

  private:
    std::shared_ptr<const InterestKernel> kernel_of(std::size_t n, std::size_t s) const {
        if (old_.rules != nullptr) {
            const auto* was = written_before(rules_, n, s, *old_.rules, *old_.program);
            if (was != nullptr) return was->kernel;
        }
        const NodeDef& node = rules_.nodes[n];
        return make_kernel(node.steps[s], rules_, node.widen, names_);
    }

    void warn(const NodeDef& node, std::size_t step, const char* what) {
        out_.warnings.push_back("node '" + node.name + "', step " + std::to_string(step + 1) +
                                ": " + what);
    }

    void keep(std::shared_ptr<const InterestKernel> kernel, std::vector<Step>& steps, Combine op) {
        steps.emplace_back(op, *kernel);
        out_.kernels.push_back(std::move(kernel));
    }

    /// Makes the bucket step of a dispatcher.
    Step bucket_of(const NodeDef& node, Combine op) {
        std::vector<Step> steps;
        keep(make_cells_kernel(*node.dispatcher), steps, op);
        if (!node.inner.empty()) {
            auto inner = std::make_shared<InnerNodes>();
            inner->dispatcher = node.dispatcher.get();
            for (const std::vector<Kernel>& list : node.inner)
                inner->programs.push_back(inner_program(list, node.widen));
            steps.back().inner = inner.get();
            out_.inner_nodes.push_back(std::move(inner));
        }
        return steps.back();
    }

    NodeProgram inner_program(const std::vector<Kernel>& list, float widen) {
        NodeProgram program;
        if (list.empty() || list.front().combine != Combine::add)
            keep(make_everything_kernel(), program.steps, Combine::add);
        for (const Kernel& step : list) {
            keep(make_kernel(step, rules_, widen, names_), program.steps, step.combine);
            const InterestKernel& kernel = *program.steps.back().kernel;
            out_.needs_every_tick |= kernel.needs_every_tick();
            out_.looks_from_owned |=
                kernel.needs_position() && kernel.looks_from() == Viewpoints::owned;
            out_.needs_owned |=
                step.type == KernelType::owner || kernel.looks_from() == Viewpoints::owned;
        }
        return program;
    }

    void compile_node(std::size_t n) {
        const NodeDef& node = rules_.nodes[n];
        const NodeId id = id_at<NodeId>(n);
        std::vector<Step> steps;
        const bool is_dispatcher = node.dispatcher != nullptr;
        const bool is_whole = node.steps.empty() && !is_dispatcher;
        // The result of a dispatcher starts with its bucket, unless its first step adds. Everything
        // added is limited to the bucket at the end.
        const auto adds_step = [](const Kernel& step) { return step.combine == Combine::add; };
        const bool adds_any = std::any_of(node.steps.begin(), node.steps.end(), adds_step);
        const bool adds_first = !node.steps.empty() && adds_step(node.steps.front());
        const std::size_t implied =
            (is_dispatcher && !adds_first) || (is_whole && out_.is_pipeline) ? 1 : 0;
        if (is_dispatcher && implied > 0) {
            steps.push_back(bucket_of(node, Combine::add));
        } else if (implied > 0) {
            keep(make_everything_kernel(), steps, Combine::add);
        }
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            out_.written[n].push_back({kernel_of(n, s), no_plane});
            keep(out_.written[n].back().kernel, steps, node.steps[s].combine);
        }
        if (is_dispatcher && adds_any) steps.push_back(bucket_of(node, Combine::require));
        bucket_is_pulled_ = false;
        if (!node.enabled) return;
        WholeNode& whole = out_.whole.emplace_back();
        whole.id = id;
        whole.program.combine = node.combine;
        if (node.custom != nullptr) {
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
                                      [](const Step& s) { return s.combine == Combine::add; });
        if (!adds) {
            out_.warnings.push_back("node '" + node.name + "' has no add step: it is always empty");
            if (out_.is_pipeline) out_.nodes.emplace_back().combine = node.combine;
            return;
        }
        for (std::size_t s = 0; s < steps.size() && steps[s].combine != Combine::add; ++s)
            warn(node, s - implied, "nothing has been added before it: it has no effect");
        NodeProgram program;
        program.combine = node.combine;
        program.every_ticks = node.every_ticks;
        program.lazy_leave = node.lazy_leave;
        bool has_candidates = false;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            Step step = steps[s];
            const bool is_written = s >= implied && s - implied < node.steps.size();
            const Kernel* desc = is_written ? &node.steps[s - implied] : nullptr;
            if (step.combine == Combine::add && !out_.is_pipeline &&
                is_shareable(*step.kernel, steps, s)) {
                add_row(node, id, steps, s, false, is_dispatcher && !is_written);
                continue;
            }
            if (step.combine == Combine::add) {
                has_candidates = true;
                add_candidates(node, id, steps, s, desc);
            }
            if (step.kernel->planes() > 0) {
                step.plane = out_.plane_count;
                out_.plane_count += step.kernel->planes();
                whole.program.steps[s].plane = step.plane;
                if (is_written) out_.written[n][s - implied].plane = step.plane;
            }
            if (desc != nullptr) note_positions(step, *desc);
            program.steps.push_back(step);
        }
        if (!has_candidates && !out_.is_pipeline) return;
        program.is_near =
            std::all_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
                return step.combine != Combine::add || step.kernel->needs_position();
            });
        if (waits(node)) program.result_plane = out_.plane_count++;
        whole.program.every_ticks = node.every_ticks;
        whole.program.lazy_leave = node.lazy_leave;
        whole.program.result_plane = program.result_plane;
        const bool remembers = std::any_of(program.steps.begin(), program.steps.end(),
                                           [](const Step& step) { return step.plane != no_plane; });
        if (node.members == Members::bound && !out_.is_pipeline && !remembers &&
            program.result_plane == no_plane)
            return add_to_class(n, std::move(program));
        const std::array alone{id};
        if (node.members != Members::all) program.member_column = member_column_of_(alone);
        out_.nodes.push_back(std::move(program));
    }

    // -- bound nodes with equal steps are evaluated as one: the steps apply to the members of any
    // of them

    static bool is_equal(const NodeDef& left, const NodeDef& right) {
        return left.steps == right.steps && left.dispatcher == right.dispatcher &&
               left.inner == right.inner && left.widen == right.widen;
    }
    /// Hashes the properties in which most nodes differ.
    static std::uint64_t hash_of(const NodeDef& node) {
        std::uint64_t hash = node.steps.size();
        const auto add = [&](std::uint64_t value) { hash = mix64(hash ^ value); };
        for (const Kernel& step : node.steps) {
            add(static_cast<std::uint64_t>(step.combine) << 8 |
                static_cast<std::uint64_t>(step.type));
            add(std::uint64_t{std::bit_cast<std::uint32_t>(step.enter)} << 32 |
                std::bit_cast<std::uint32_t>(step.leave));
            add(std::uint64_t{index_of(step.flag)} << 32 | index_of(step.key));
        }
        return hash;
    }
    void add_to_class(std::size_t n, NodeProgram program) {
        PURVIEW_ASSERT(program.result_plane == no_plane && program.member_column == no_column);
        const NodeId id = id_at<NodeId>(n);
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

    void add_row(const NodeDef& node, NodeId id, const std::vector<Step>& steps, std::size_t s,
                 bool pulled, bool is_bucket) {
        PURVIEW_ASSERT(pulled || !out_.is_pipeline);
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
            if (steps[f].combine != Combine::add) row.filters.push_back(steps[f]);
        }
        out_.rows.push_back(std::move(row));
    }

    /// Determines where windows find the candidates of an add step.
    void add_candidates(const NodeDef& node, NodeId id, const std::vector<Step>& steps,
                        std::size_t s, const Kernel* desc) {
        const InterestKernel& kernel = *steps[s].kernel;
        const bool is_spatial =
            kernel.looks_into_areas() || (kernel.needs_position() && kernel.reach() > 0);
        const bool is_owner = desc != nullptr && desc->type == KernelType::owner;
        if (node.dispatcher != nullptr && !is_spatial && !is_owner) {
            // Nothing outside the bucket matters, so its rows are the candidates.
            if (std::exchange(bucket_is_pulled_, true)) return;
            const std::size_t bucket = desc == nullptr ? s : steps.size() - 1;
            add_row(node, id, steps, bucket, true, true);
            warn(node, s,
                 "a later step is evaluated per pair, so shared groups are copied per observer");
        } else if (kernel.depends_on() != DependsOn::pair) {
            add_row(node, id, steps, s, true, false);
            warn(node, s,
                 out_.is_pipeline
                     ? "nodes are combined in order, so shared groups are copied per observer"
                     : "a later step is evaluated per pair, so shared groups are copied per "
                       "observer");
        } else if (is_owner) {
            out_.pulls_owned = true;
        } else if (!is_spatial) {
            out_.everywhere = true;
            warn(node, s,
                 "it has no range, so it is evaluated for every pair of observer and entity");
        }
    }

    /// A kernel with memory must see every entity in its reach, or its memory has gaps.
    void note_positions(const Step& step, const Kernel& desc) {
        const InterestKernel& kernel = *step.kernel;
        out_.needs_every_tick |= kernel.needs_every_tick();
        const bool is_owner = desc.type == KernelType::owner;
        out_.looks_from_owned |=
            kernel.needs_position() && kernel.looks_from() == Viewpoints::owned;
        out_.needs_owned |= is_owner || kernel.looks_from() == Viewpoints::owned;
        if (desc.type == KernelType::area) {
            out_.looks_into_areas = true;
            out_.area_margin_m = std::max(out_.area_margin_m, kernel.reach());
            return;
        }
        if (step.combine != Combine::add && !kernel.remembers()) return;
        if (!(kernel.reach() > 0)) return;
        Spread spread;
        spread.from = kernel.looks_from();
        spread.enter = kernel.reach();
        if (desc.type == KernelType::distance) {
            spread.range = desc.range;
            spread.enter = kernel.inside_m();
            spread.margin_m = desc.leave - desc.enter + (kernel.inside_m() - desc.enter);
        }
        for (Spread& known : out_.spreads) {
            if (known.from != spread.from || known.range != spread.range) continue;
            known.enter = std::max(known.enter, spread.enter);
            known.margin_m = std::max(known.margin_m, spread.margin_m);
            return;
        }
        out_.spreads.push_back(spread);
    }

    void summarize() {
        for (const WholeNode& node : out_.whole) {
            for (const Step& step : node.program.steps) {
                for (const float edge : step.kernel->edges_m()) out_.all_edges_m.push_back(edge);
            }
        }
        out_.all_wait = !out_.nodes.empty() && out_.classes.empty();
        out_.skips_empty = true;
        for (const NodeProgram& node : out_.nodes) {
            out_.all_wait &= node.result_plane != no_plane;
            // A kernel with memory must be evaluated in every tick, even while enters wait.
            for (const Step& step : node.steps) {
                out_.all_wait &= step.plane == no_plane;
                out_.skips_empty &= step.combine != Combine::add || step.kernel->skips_empty();
                summarize(step);
                note_inside(*step.kernel);
            }
        }
        for (const NodeProgram& one : out_.classes) {
            for (const Step& step : one.steps) summarize(step);
        }
        find_nearness();
        std::sort(out_.edges_m.begin(), out_.edges_m.end());
        out_.edges_m.erase(std::unique(out_.edges_m.begin(), out_.edges_m.end()),
                           out_.edges_m.end());
        out_.is_pushable = !out_.spreads.empty() && !out_.everywhere && !out_.looks_into_areas &&
                           !out_.needs_owned && !out_.needs_every_tick && !out_.is_pipeline &&
                           out_.any_move_m <= out_.reach() && out_.edges_m.size() <= edges_max;
        for (const Spread& spread : out_.spreads)
            out_.is_pushable &= spread.range == RangeFrom::kernel;
        for (const NodeProgram& node : out_.nodes)
            out_.is_pushable &= node.result_plane == no_plane;
    }

    /// Sets nearness_m if all scores come from one step.
    void find_nearness() {
        if (out_.nodes.size() != 1 || !out_.classes.empty()) return;
        if (out_.nodes.front().result_plane != no_plane) return;
        const Step* only = nullptr;
        for (const Step& step : out_.nodes.front().steps) {
            if (step.combine == Combine::subtract) continue;
            if (only != nullptr || step.combine == Combine::require) return;
            only = &step;
        }
        if (only == nullptr) return;
        out_.nearness_m = only->kernel->nearness_m();
        out_.nearness_from = only->from;
    }

    void note_inside(const InterestKernel& kernel) {
        const float known = out_.inside_kernel == nullptr ? 0 : out_.inside_kernel->inside_m();
        if (kernel.has_inside_test() && kernel.inside_m() > known) out_.inside_kernel = &kernel;
    }

    void summarize(const Step& step) {
        const InterestKernel& kernel = *step.kernel;
        const std::vector<float> edges = kernel.edges_m();
        out_.edges_m.insert(out_.edges_m.end(), edges.begin(), edges.end());
        constexpr float infinity = std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; step.inner != nullptr && i < step.inner->programs.size(); ++i) {
            for (const Step& inner : step.inner->programs[i].steps)
                if (inner.kernel->reads_positions()) out_.any_move_m = infinity;
        }
        if (!edges.empty() || !kernel.reads_positions()) return;
        const float reach = kernel.reach();
        out_.any_move_m = std::max(out_.any_move_m, reach > 0 ? reach : infinity);
    }

    const Rules& rules_;
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
    bool bucket_is_pulled_ = false;  ///< for the node that is compiled
};

}  // namespace

/// Returns whether the kernels are equal, regardless of how their steps combine the result.
static bool is_same_kernel(const Kernel& left, Kernel right) {
    right.combine = left.combine;
    return left == right;
}

const Program::Written* written_before(const Rules& rules, std::size_t n, std::size_t s,
                                       const Rules& old_rules, const Program& old) {
    PURVIEW_ASSERT(old.written.size() == old_rules.nodes.size());
    const NodeDef& node = rules.nodes[n];
    const auto is_same = [&](const NodeDef& was) {
        return was.name == node.name && s < was.steps.size() &&
               is_same_kernel(was.steps[s], node.steps[s]) && was.widen == node.widen;
    };
    // Nodes may share a name. Then the node with the same index is preferred.
    if (n < old_rules.nodes.size() && is_same(old_rules.nodes[n])) return &old.written[n][s];
    for (std::size_t o = 0; o < old_rules.nodes.size(); ++o) {
        if (is_same(old_rules.nodes[o])) return &old.written[o][s];
    }
    return nullptr;
}

float Program::reach() const noexcept {
    float reach = 0;
    for (const Spread& spread : spreads) reach = std::max(reach, spread.enter + spread.margin_m);
    return reach;
}

Program compile(const Rules& rules, const AttributeNames& names,
                const MemberColumnOf& member_column_of, OldKernels old) {
    return Compiler(rules, names, member_column_of, old).run();
}

}  // namespace purview
