// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Computes the relevance scores of the entities that changed in this tick, for each observer. The
// slots of many windows (visible block sets) are scored together, while the windows are in the
// cache. For some entities the window alone does not decide: those that may be explicitly relevant,
// and members of groups. These special entities are few and are scored one by one with
// Answers::score.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/queries/answers.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "interest/windows/changed_units.hpp"

namespace purview {

class ChangedScores {
  public:
    ChangedScores(InterestStores& stores, const EntityLookup& lookup,
                  const ExplicitRelevance& explicit_relevance, const Relevance& relevance,
                  const Answers& answers)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          answers_(answers),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          tick_(stores.tick),
          summary_(stores.summary),
          rows_(stores.rows),
          pairs_(stores.pairs),
          groups_(stores.groups),
          splits_(stores.splits),
          split_queue_(stores.split_queue),
          observers_(stores.observers),
          workers_(stores.workers),
          counts_(stores.counts) {}

    /// Returns the scores of the observer's changed entities. Valid until the next tick.
    Scores changed_scores(ObserverId observer);
    /// Returns whether the scores of this tick are computed after all windows, by
    /// measure_changed_late().
    bool is_late() const noexcept { return measures_late_; }
    void begin_changed();
    void measure_changed_late();
    void measure_scores(const ObserverScan& observer_scan, WindowWorker& worker);
    void measure_together(WindowWorker& worker);

  private:
    bool has_changed(Slot slot) const noexcept;
    template <class Visit>
    void for_each_changed_explicit(std::uint32_t observer, Visit&& visit) const;
    void score_special(ScoreList::Part& part, WindowWorker& worker);
    void add_known(ScoreList::Part& part, WindowWorker& worker);
    void resolve_entities();

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    const Answers& answers_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Program& program_;
    const Tick& tick_;
    const ProgramSummary& summary_;
    std::vector<RowStore>& rows_;
    PairTable& pairs_;
    GroupStore& groups_;
    SplitLinks& splits_;
    SplitQueue& split_queue_;
    ObserverStore& observers_;
    std::vector<WindowWorker>& workers_;
    UnitCounts& counts_;
    ChangedUnits changed_;
    std::vector<Scores> scores_;
    Tick resolved_tick_ = 0;
    bool measures_together_ = false;
    bool measures_late_ = false;
};

}  // namespace purview
