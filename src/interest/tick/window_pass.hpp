// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates the windows (visible block sets) of all observers. Each worker runs chunks of observers.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/relevance/observer_views.hpp"
#include "interest/stores/interest_stores.hpp"
#include "interest/tick/changed_scores.hpp"

namespace purview {

class WindowPass {
  public:
    WindowPass(InterestStores& stores, const ObserverViews& observer_views,
               ChangedScores& changed_scores)
        : observer_views_(observer_views),
          changed_scores_(changed_scores),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          rules_revision_(stores.rules_revision),
          summary_(stores.summary),
          rows_(stores.rows),
          groups_(stores.groups),
          new_units_(stores.new_units),
          observers_(stores.observers),
          order_(stores.order),
          push_(stores.push),
          workers_(stores.workers),
          counters_(stores.counters),
          counts_(stores.counts),
          layers_(stores.layers),
          window_update_(stores.window_update) {}

    void set_executor(const Executor& executor);
    void set_count_tested(bool value) noexcept;
    void update_windows();

  private:
    /// Observers per chunk. Results are joined chunk by chunk.
    static constexpr std::size_t chunk_observers = 64;
    void order_observers();
    void repack_windows();
    void update_chunk(WindowWorker& worker, std::size_t chunk);
    void prepare_scan(std::uint32_t observer, ObserverScan& observer_scan) const;
    bool may_meet_new(const ObserverScan& observer_scan) const noexcept;
    void update_window(const ObserverScan& observer_scan, WindowWorker& worker);
    void resolve_toggles(WindowWorker& worker);
    void prefetch_window(const Observer& observer) const noexcept;
    bool can_push() const noexcept;
    void choose_update();
    void set_region(std::uint32_t observer);

    const ObserverViews& observer_views_;
    ChangedScores& changed_scores_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Program& program_;
    const std::uint64_t& rules_revision_;
    const ProgramSummary& summary_;
    std::vector<RowStore>& rows_;
    GroupStore& groups_;
    NewUnits& new_units_;
    ObserverStore& observers_;
    ObserverOrder& order_;
    PushUpdate& push_;
    std::vector<WindowWorker>& workers_;
    InterestCounters& counters_;
    UnitCounts& counts_;
    const UnitLayers& layers_;
    WindowUpdate& window_update_;
    Sight sight_;
    std::vector<std::uint32_t> active_;
    Executor executor_;
};

}  // namespace purview
