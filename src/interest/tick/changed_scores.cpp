// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/changed_scores.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "purview/status.hpp"

namespace purview {

bool ChangedScores::has_changed(Slot slot) const noexcept {
    return table_.flag(facts_table_.columns.changed, slot);
}

void ChangedScores::begin_changed() {
    // Partly split groups and minimum relevance times can change relevance after the window pass.
    measures_late_ =
        splits_.any() || split_queue_.any_released() || explicit_.has_minimum_relevance();
    measures_together_ = program_.nearness_m > 0 && counts_.bounded == 0;
    for (WindowWorker& worker : workers_) worker.scores.clear();
    changed_.begin(rows_.size());
    const bool any_sees_all = !observers_.unculled().empty() || rules_.level != InterestLevel::full;
    const bool is_any_open = counts_.open > 0 || counts_.shown > 0;
    if (measures_late_ || (!any_sees_all && !is_any_open && !summary_.has_shared_rows)) return;
    const auto flags = table_.flags(facts_table_.columns.changed);
    PURVIEW_ASSERT(flags.size() == table_.block_end());
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        Mask rest = flags[block] & table_.occupied(block);
        for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            const EntityId unit = table_.entity(slot);
            if (any_sees_all) changed_.add(unit);
            if (is_any_open && explicit_.has_open_flag(slot)) changed_.add_open(unit);
            for (std::uint32_t s = 0; s < rows_.size(); ++s) {
                if (program_.rows[s].pulled) continue;
                for (const RowStore::Membership at : rows_[s].memberships(unit))
                    changed_.add_to_row({s, at.row}, unit);
            }
        }
    }
}

/// Calls visit(unit) for each changed cull group that may be explicitly relevant. May visit a cull
/// group twice.
template <class Visit>
void ChangedScores::for_each_changed_explicit(std::uint32_t o, Visit&& visit) const {
    const Observer& observer = observers_[o];
    changed_.for_each_of(observer, explicit_.sees_all(observer), visit);
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) {
        const Slot slot = table_.slot_of(unit);
        if (slot != no_slot && has_changed(slot)) visit(unit);
    });
}

/// The visible block set alone does not decide about explicitly relevant entities and group
/// members. Removes their slots from the part and scores these entities with one call of
/// Answers::score.
void ChangedScores::score_special(ScoreList::Part& part, WindowWorker& worker) {
    const std::uint32_t o = part.observer;
    worker.special.clear();
    const auto take_out = [&](EntityId unit, Slot slot) {
        worker.scores.drop(part, slot);
        relevance_.for_each_visible(o, unit, true,
                                    [&](EntityId one) { worker.special.push_back(one); });
    };
    if (explicit_.may_be_explicit())
        for_each_changed_explicit(o, [&](EntityId unit) { take_out(unit, table_.slot_of(unit)); });
    if (groups_.any()) {
        worker.scores.for_each_lane(part, [&](Slot slot, std::uint32_t) {
            const EntityId unit = table_.entity(slot);
            if (groups_.has_members(unit)) take_out(unit, slot);
        });
    }
    std::sort(worker.special.begin(), worker.special.end());
    worker.special.erase(std::unique(worker.special.begin(), worker.special.end()),
                         worker.special.end());
    add_known(part, worker);
}

/// Scores the entities in worker.special and adds those with a score above 0 to the part.
void ChangedScores::add_known(ScoreList::Part& part, WindowWorker& worker) {
    part.known = worker.scores.known_size();
    if (!worker.special.empty()) {
        worker.special_scores.resize(worker.special.size());
        answers_.score(observers_.id_of(part.observer), worker.special, worker.special_scores);
    }
    for (std::size_t i = 0; i < worker.special.size(); ++i) {
        if (worker.special_scores[i] > 0)
            worker.scores.add_known(index_of(worker.special[i]), worker.special_scores[i]);
    }
    part.known_end = worker.scores.known_size();
}

/// Scores the changed slots of one observer. If the score depends only on the distance to one
/// viewpoint, queues the observer for measure_together() instead.
void ChangedScores::measure_scores(const ObserverScan& observer_scan, WindowWorker& worker) {
    PURVIEW_ASSERT(!measures_late_);
    const std::uint32_t o = observer_scan.observer;
    const std::span<const Vec3> positions = observer_scan.input->views.of(program_.nearness_from);
    if (measures_together_ && positions.size() == 1) {
        worker.scores.look_at(o, observers_[o].window, positions.front());
        return;
    }
    ScoreList& out = worker.scores;
    const Window& window = observers_[o].window;
    auto& part = out.add(o, window, table_.flags(facts_table_.columns.changed));
    measure_relevant(*observer_scan.input, window, out.blocks(part), out.lanes(part),
                     out.score_of(part), worker.measure);
    score_special(part, worker);
}

void ChangedScores::measure_together(WindowWorker& worker) {
    const auto parts =
        worker.scores.add(table_.flags(facts_table_.columns.changed), table_, program_.nearness_m);
    if (!explicit_.may_be_explicit() && !groups_.any()) return;
    for (ScoreList::Part& part : parts) score_special(part, worker);
}

void ChangedScores::measure_changed_late() {
    PURVIEW_ASSERT(measures_late_);
    WindowWorker& worker = workers_.front();
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        worker.special.clear();
        relevance_.for_each_relevant(o, [&](EntityId entity) {
            const Slot slot = table_.slot_of(lookup_.unit_of(entity));
            if (slot != no_slot && has_changed(slot)) worker.special.push_back(entity);
        });
        add_known(worker.scores.add(o), worker);
    }
}

/// Looks up the entities of the scored slots for all observers at once, because observers near each
/// other share much of the data.
void ChangedScores::resolve_entities() {
    scores_.assign(observers_.size(), {});
    for (WindowWorker& worker : workers_) {
        worker.scores.name(table_);
        for (const ScoreList::Part& part : worker.scores.parts()) {
            PURVIEW_ASSERT(scores_[part.observer].entities.empty());  // one part per observer
            scores_[part.observer] = worker.scores.of(part);
        }
    }
    resolved_tick_ = tick_;
}

Scores ChangedScores::changed_scores(ObserverId observer) {
    if (!observers_.is_live(observer) || !rules_.measure_scores) return {};
    if (resolved_tick_ != tick_) resolve_entities();
    const std::uint32_t o = index_of(observer);
    return o < scores_.size() ? scores_[o] : Scores{};
}

}  // namespace purview
