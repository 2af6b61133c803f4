// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/validate.hpp"
#include "interest/rules/rule_problems.hpp"

namespace purview {

InterestEngine::InterestEngine(InterestStores stores)
    : stores_(std::move(stores)),
      lookup(stores_),
      explicit_relevance(stores_, lookup),
      relevance(stores_, lookup, explicit_relevance),
      observer_views(stores_, lookup),
      edits_(stores_, lookup, explicit_relevance, relevance),
      split_groups_(stores_, lookup, relevance, edits_),
      custom_nodes(stores_, lookup, explicit_relevance, edits_),
      positions(stores_, lookup),
      overrides(stores_, lookup, explicit_relevance, edits_, custom_nodes),
      membership_(stores_, explicit_relevance, custom_nodes, positions, edits_),
      placement_(stores_, lookup, custom_nodes, positions, overrides, membership_),
      observers(stores_, lookup, explicit_relevance, relevance, edits_, split_groups_, overrides,
                observer_views, custom_nodes),
      groups(stores_, lookup, explicit_relevance, edits_, split_groups_, custom_nodes, overrides,
             membership_, placement_, observers),
      entities(stores_, lookup, edits_, split_groups_, custom_nodes, overrides, membership_,
               placement_, observers, groups),
      attributes(stores_, lookup, edits_, positions, membership_, observers),
      nodes(stores_, lookup, edits_, custom_nodes, positions, membership_, observers),
      live_rules(stores_, lookup, edits_, split_groups_, custom_nodes, membership_, observers),
      answers(stores_, lookup, explicit_relevance, relevance, observer_views),
      explainer(stores_, lookup, explicit_relevance, relevance, observer_views, answers),
      changed_scores(stores_, lookup, explicit_relevance, relevance, answers),
      windows(stores_, observer_views, changed_scores),
      tick_events_(stores_, lookup, explicit_relevance, relevance, edits_) {}

InterestEngine::InterestEngine(const Rules& rules, const LogSink& log, WindowUpdate window_update)
    : InterestEngine(InterestStores(rules, log, window_update)) {
    live_rules.compile_rules({});
    custom_nodes.set_custom_nodes();
}

/// Makes a copy for a trial. Its windows have memory of their own, and it sends no notifications.
InterestEngine::InterestEngine(const InterestEngine& other)
    : InterestEngine(InterestStores(other.stores_)) {
    stores_.workers.resize(1);
    for (Observer& observer : stores_.observers)
        observer.window.repack(stores_.workers.front().scratch.arena);
    stores_.notices.list.clear();
    stores_.notices.enabled = false;
    stores_.rules.measure_scores = false;
    stores_.warnings.set_log(LogSink::none());
}

void InterestEngine::tick(const Visibility& visibility) {
    ++stores_.tick;
    PURVIEW_VALIDATE(stores_);  // checks the last tick and the edits since
    const auto is_known = [&](EntityId entity) { return lookup.is_known(entity); };
    stores_.rebound.last.swap(stores_.rebound.pending);
    stores_.rebound.pending.clear();
    stores_.observers.expire_areas(stores_.tick, is_known);
    positions.apply_position_sources();
    membership_.update_moved_cells();
    observers.update_cells();
    custom_nodes.update_custom_nodes(visibility);
    edits_.check_hides();
    stores_.table.settle_moves();
    shuffle_lanes();
    stores_.new_units.locate(stores_.table);
    if (stores_.rules.measure_scores) changed_scores.begin_changed();
    windows.update_windows();
    tick_events_.report_changes();
    edits_.expire_minimum_relevance();
    split_groups_.settle_split_groups();
    tick_events_.publish();
    caller.user_data.write_to(stores_.events.all());
    stores_.observer_counts.begin_tick();
    if (stores_.rules.count_observers)
        stores_.observer_counts.count(stores_.events.all(), is_known);
    if (stores_.rules.measure_scores && changed_scores.is_late())
        changed_scores.measure_changed_late();
    stores_.has_custom_queries = false;
    stores_.new_units.clear();
    stores_.table.end_tick();
    stores_.observers.recycle();
}

std::span<const InterestEvent> InterestEngine::events_of(ObserverId observer) const noexcept {
    if (!stores_.observers.is_live(observer)) return {};
    return stores_.events.of(observer);
}

void InterestEngine::shuffle_lanes() {
    const std::uint32_t cells = stores_.table.layers().back().first_cell;
    for (std::uint32_t i = 0; i < shuffle.cells && cells > 0; ++i)
        stores_.table.shuffle_cell(shuffle.random.below(cells));
}

/// Compares the first `observers_max` ready observers by index; the others count as not ready.
RuleTrial InterestEngine::try_some(const Rules& wanted, const Visibility& visibility,
                                   std::size_t observers_max) const {
    RuleTrial trial;
    InterestEngine with(*this), without(*this);
    for (std::uint32_t o = 0; o < stores_.observers.size(); ++o) {
        if (!stores_.observers[o].ready) continue;
        const bool is_evaluated = trial.observers_evaluated < observers_max;
        with.stores_.observers[o].ready = without.stores_.observers[o].ready = is_evaluated;
        ++(is_evaluated ? trial.observers_evaluated : trial.observers_skipped);
    }
    const std::string refusal = with.live_rules.set_rules(with.live_rules.with_fixed(wanted));
    PURVIEW_ASSERT(refusal.empty());  // try_rules checked them
    (void)refusal;
    trial.warnings = with.warnings();
    with.tick(visibility);
    without.tick(visibility);
    std::vector<EntityId> a, b, only;
    for (std::uint32_t o = 0; o < stores_.observers.size(); ++o) {
        if (!with.stores_.observers[o].ready) continue;
        a.clear();
        b.clear();
        without.relevance.for_each_relevant(o, [&](EntityId entity) { a.push_back(entity); });
        with.relevance.for_each_relevant(o, [&](EntityId entity) { b.push_back(entity); });
        trial.pairs_now += a.size();
        trial.pairs_then += b.size();
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        only.clear();
        std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only));
        for (const EntityId entity : only)
            trial.gains.push_back({stores_.observers.id_of(o), entity});
        only.clear();
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
        for (const EntityId entity : only)
            trial.losses.push_back({stores_.observers.id_of(o), entity});
    }
    return trial;
}

/// Tries first the observers that certainly fit into `pairs_max`, then as many as probably fit.
RuleTrial InterestEngine::try_rules(const Rules& wanted, const Visibility& visibility,
                                    std::size_t pairs_max) const {
    RuleTrial trial;
    trial.problem = problem_of_nodes(live_rules.with_fixed(wanted));
    if (trial.problem.empty()) trial.problem = change_of_fixed(wanted, stores_.rules);
    if (!trial.problem.empty()) return trial;
    const std::size_t sure = std::max<std::size_t>(pairs_max / (stores_.table.index_end() + 1), 1);
    trial = try_some(wanted, visibility, sure);
    if (trial.observers_skipped == 0) return trial;
    const std::size_t pairs = trial.gains.size() + trial.losses.size() + 1;
    const std::size_t likely = sure * (pairs_max / pairs);
    return likely > sure ? try_some(wanted, visibility, likely) : trial;
}

std::size_t relevant_count(const InterestEngine& engine, ObserverId observer) noexcept {
    std::size_t count = 0;
    if (engine.lookup.is_observer(observer))
        engine.relevance.for_each_relevant(index_of(observer), [&](EntityId) { ++count; });
    return count;
}

}  // namespace purview
