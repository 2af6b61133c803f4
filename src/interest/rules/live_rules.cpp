// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules: the first ones, other ones while running, and what others would change.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/validate.hpp"
#include "interest/edits.hpp"
#include "interest/rules/cell_side.hpp"
#include "interest/rules/rule_problems.hpp"

namespace purview {

namespace {

/// The farthest that anybody looks at the entities of a class.
float reach_of_class(const Program& program, const Rules& rules, std::size_t layer) {
    float reach = 0;
    for (const Spread& spread : program.spreads) {
        float radius = spread.enter;
        if (spread.range == RangeFrom::observer)
            radius = std::max(radius, rules.observer_range_max);
        if (spread.range == RangeFrom::entity && layer < rules.range_classes.size()) {
            radius = std::max(layer == 0 ? radius : 0.0F, rules.range_classes[layer]);
        }
        reach = std::max(reach, radius + spread.margin_m);
    }
    return reach;
}

}  // namespace

InterestData::InterestData(const Rules& def, const LogSink& log, WindowUpdate window_update)
    : rules_(def),
      window_update_(window_update),
      names_{def.flag_names, def.key_names, def.value_names},
      table_(def.axes == Axes::xyz),
      observers_(def.observers_max),
      push_(def.axes == Axes::xyz, exchanged(def.axes, def.min), exchanged(def.axes, def.max)),
      workers_(1) {
    warnings_.log = log;
    const Rules& rules = rules_;
    const bool three_d = table_.is_three_d();
    facts_table_.axes = rules.axes;
    // Cells are sized by what is compiled, and what is compiled needs columns, which need cells.
    const Program sized = compile(rules, names_, [](std::span<const NodeId>) { return 0U; });
    const std::size_t classes = std::max<std::size_t>(rules.range_classes.size(), 1);
    for (std::size_t layer = 0; layer < classes; ++layer) {
        table_.add_layer(exchanged(rules.axes, rules.min), exchanged(rules.axes, rules.max),
                         cell_side(rules, three_d, reach_of_class(sized, rules, layer)));
    }
    if (rules.group_radius_max > 0) {
        bounds_layer_ = static_cast<std::uint32_t>(classes);
        table_.add_layer(
            exchanged(rules.axes, rules.min), exchanged(rules.axes, rules.max),
            cell_side(rules, three_d,
                      reach_of_class(sized, rules, classes - 1) + rules.group_radius_max));
    }
    abstract_layer_ = table_.add_abstract_layer();
    PURVIEW_ASSERT(abstract_layer_ + 1 == table_.layers().size());
    table_.reserve(rules.entities_expected);
    facts_table_.columns = Columns::add_to(table_, def);
    if (rules_.measure_scores) table_.note_moves(facts_table_.columns.changed);
    compile_rules({});
    set_custom_nodes();
}

/// Replaces the program, and all that is derived from it alone, by that of rules_. Rows are
/// empty then.
void InterestData::compile_rules(OldKernels old) {
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

/// For every ready observer: units that he sees without his window.
std::vector<std::vector<EntityId>> InterestData::x_outside_windows() const {
    std::vector<std::vector<EntityId>> out(observers_.size());
    FlatMap<std::uint32_t, std::uint8_t> seen;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        seen.clear();
        for_each_x_unit(o, [&](EntityId unit) {
            if (!x_holds(o, unit) || in_window(o, unit) || seen.contains(index_of(unit))) return;
            seen[index_of(unit)] = 1;
            out[o].push_back(unit);
        });
    }
    return out;
}

/// Of what every observer sees without his window, since `before`.
void InterestData::tell_difference(const std::vector<std::vector<EntityId>>& before) {
    PURVIEW_ASSERT(before.size() == observers_.size());
    const auto after = x_outside_windows();
    FlatMap<std::uint32_t, std::uint8_t> had;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        had.clear();
        for (const EntityId unit : before[o]) {
            had[index_of(unit)] = 1;
            note(o, unit, true, x_holds(o, unit));
        }
        for (const EntityId unit : after[o]) {
            if (!had.contains(index_of(unit))) note(o, unit, false, true);
        }
    }
}

/// Windows keep what kernels remember that are the same at the same place of the same node.
void InterestData::replace_planes(const Rules& old_rules, const Program& old) {
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

/// With all else as it is fixed.
Rules InterestData::with_fixed(const Rules& wanted) const {
    Rules rules = rules_;
    rules.nodes = wanted.nodes;
    rules.level = wanted.level;
    rules.minimum_relevance_ticks = wanted.minimum_relevance_ticks;
    return rules;
}

std::string InterestData::set_rules(const Rules& wanted) {
    Rules rules = with_fixed(wanted);
    if (std::string wrong = problem_of_nodes(rules); !wrong.empty()) return wrong;
    const auto before = x_outside_windows();
    const Rules old_rules = std::move(rules_);
    rules_ = std::move(rules);
    const Program old = std::move(program_);
    for (Observer& observer : observers_) observer.rows.clear();
    compile_rules({&old_rules, &old});
    log_warnings();
    warnings_.of_uncovered = false;
    ++rules_revision_;
    set_custom_nodes();
    for_each_unit([&](EntityId unit) {
        update_membership(unit);
        update_rows(unit);
        note_hide(unit);
    });
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_.is_live(o)) continue;
        find_wanted_rows(o);
        take_wanted_rows(o);
        observers_.must_scan(o);
    }
    replace_planes(old_rules, old);
    push_.stop(table_);
    tell_difference(before);
    if (rules_.minimum_relevance_ticks < old_rules.minimum_relevance_ticks) {
        minimum_relevance_.shorten(rules_.minimum_relevance_ticks);
        expire_stays();
    }
    touch_all_mixed();
    return {};
}

void InterestData::set_level(InterestLevel level) {
    if (level == rules_.level) return;
    const auto before = x_outside_windows();
    rules_.level = level;
    tell_difference(before);
}

/// After a copy: its windows lie in the memory of the other one.
void InterestData::detach() {
    for (Observer& observer : observers_) observer.window.repack(workers_.front().scratch.arena);
    executor_ = {};
    workers_.resize(1);
    notices_.clear();
    notifies_nodes_ = false;
    rules_.measure_scores = false;
    warnings_.log = LogSink::none();
}

/// The first `observers_max` by index are asked; others are as if they were not ready.
RuleTrial InterestData::try_some(const Rules& wanted, const Visibility& visibility,
                                 std::size_t observers_max) const {
    RuleTrial trial;
    InterestData with(*this), without(*this);
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        const bool is_asked = trial.observers_asked < observers_max;
        with.observers_[o].ready = without.observers_[o].ready = is_asked;
        ++(is_asked ? trial.observers_asked : trial.observers_left_out);
    }
    with.detach();
    without.detach();
    (void)with.set_rules(wanted);
    trial.warnings = with.program_.warnings;
    with.tick(visibility);
    without.tick(visibility);
    std::vector<EntityId> a, b, only;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!with.observers_[o].ready) continue;
        a.clear();
        b.clear();
        without.for_each_relevant(o, [&](EntityId entity) { a.push_back(entity); });
        with.for_each_relevant(o, [&](EntityId entity) { b.push_back(entity); });
        trial.pairs_now += a.size();
        trial.pairs_then += b.size();
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        only.clear();
        std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only));
        for (const EntityId entity : only) trial.gains.push_back({id_of(o), entity});
        only.clear();
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
        for (const EntityId entity : only) trial.losses.push_back({id_of(o), entity});
    }
    return trial;
}

/// As many as are sure to be within the bound, and then as many as are likely to be.
RuleTrial InterestData::try_rules(const Rules& wanted, const Visibility& visibility,
                                  std::size_t pairs_max) const {
    RuleTrial trial;
    trial.problem = problem_of_nodes(with_fixed(wanted));
    if (!trial.problem.empty()) return trial;
    const std::size_t sure = std::max<std::size_t>(pairs_max / (table_.index_end() + 1), 1);
    trial = try_some(wanted, visibility, sure);
    if (trial.observers_left_out == 0) return trial;
    const std::size_t pairs = trial.gains.size() + trial.losses.size() + 1;
    const std::size_t likely = sure * (pairs_max / pairs);
    return likely > sure ? try_some(wanted, visibility, likely) : trial;
}

}  // namespace purview
