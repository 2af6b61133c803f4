// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/live_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/validate.hpp"
#include "interest/rules/cell_side.hpp"
#include "interest/rules/rule_problems.hpp"
#include "purview/status.hpp"

namespace purview {

/// Compiles `rules_` and replaces everything that is derived from the program. Observers must not
/// read rows then; all rows are empty afterwards.
void LiveRules::compile_rules(OldKernels old) {
    for (const Observer& observer : observers_) PURVIEW_ASSERT(observer.rows.empty());
    member_columns_.reset(table_, rules_.nodes.size());
    const auto column_of = [this](auto nodes) { return member_columns_.acquire(table_, nodes); };
    program_ = compile(rules_, names_, column_of, old);
    PURVIEW_VALIDATE(member_columns_);
    warn_of_kinds(rules_, program_.warnings);
    rows_.assign(program_.rows.size(), RowStore());
    summary_ = ProgramSummary(rules_, program_);
    facts_table_.bindings.set_classes(program_.class_of_node);
}

/// Windows keep the memory of each kernel that is unchanged at the same step of the same node.
void LiveRules::replace_planes(const Rules& old_rules, const Program& old) {
    PURVIEW_ASSERT(program_.written.size() == rules_.nodes.size());
    std::vector<std::uint32_t> from(program_.plane_count, no_plane);
    for (std::size_t n = 0; n < program_.written.size(); ++n) {
        for (std::size_t s = 0; s < program_.written[n].size(); ++s) {
            const Program::Written& step = program_.written[n][s];
            const Program::Written* was = written_before(rules_, n, s, old_rules, old);
            if (step.plane == no_plane || was == nullptr || was->plane == no_plane) continue;
            for (unsigned p = 0; p < step.kernel->planes(); ++p)
                from[step.plane + p] = was->plane + p;
        }
    }
    ScanScratch& scratch = workers_.front().scratch;
    for (Observer& observer : observers_)
        observer.window.replace_planes(from, scratch.masks, scratch.arena);
}

/// Returns the rules in force with the changeable parts of `wanted`: nodes, level and minimum
/// relevance time.
Rules LiveRules::with_fixed(const Rules& wanted) const {
    Rules rules = rules_;
    rules.nodes = wanted.nodes;
    rules.level = wanted.level;
    rules.minimum_relevance_ticks = wanted.minimum_relevance_ticks;
    return rules;
}

std::string LiveRules::set_rules(const Rules& wanted) {
    Rules rules = with_fixed(wanted);
    if (std::string wrong = problem_of_nodes(rules); !wrong.empty()) return wrong;
    if (std::string wrong = change_of_fixed(wanted, rules_); !wrong.empty()) return wrong;
    const auto before = edits_.explicit_outside_windows();
    const Rules old_rules = std::move(rules_);
    rules_ = std::move(rules);
    const Program old = std::move(program_);
    for (Observer& observer : observers_) observer.rows.clear();
    compile_rules({&old_rules, &old});
    warnings_.write(program_.warnings);
    warnings_.rules_changed();
    ++rules_revision_;
    custom_nodes_.set_custom_nodes();
    lookup_.for_each_unit([&](EntityId unit) {
        membership_.update_membership(unit);
        membership_.update_rows(unit);
        edits_.note_hide(unit);
    });
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_.is_live(o)) continue;
        observer_edits_.find_wanted_rows(o);
        observer_edits_.take_wanted_rows(o);
        observers_.must_scan(o);
    }
    replace_planes(old_rules, old);
    push_.stop(table_);
    edits_.report_difference(before);
    if (rules_.minimum_relevance_ticks < old_rules.minimum_relevance_ticks) {
        minimum_relevance_.shorten(rules_.minimum_relevance_ticks);
        edits_.expire_minimum_relevance();
    }
    split_groups_.touch_split_groups();
    return {};
}

void LiveRules::set_level(InterestLevel level) {
    if (level == rules_.level) return;
    const auto before = edits_.explicit_outside_windows();
    rules_.level = level;
    edits_.report_difference(before);
}

}  // namespace purview
