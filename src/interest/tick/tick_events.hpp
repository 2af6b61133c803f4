// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Turns changes of windows and explicit changes into the events of the tick.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

/// The window changes of one chunk of observers.
struct ChunkChanges {
    std::uint32_t chunk;
    std::span<const WindowChange> changes;
};

class TickEvents {
  public:
    TickEvents(InterestStores& stores, const EntityLookup& lookup,
               const ExplicitRelevance& explicit_relevance, const Relevance& relevance,
               RelevanceEdits& edits)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          edits_(edits),
          rules_(stores.rules),
          table_(stores.table),
          tick_(stores.tick),
          summary_(stores.summary),
          pairs_(stores.pairs),
          minimum_relevance_(stores.minimum_relevance),
          groups_(stores.groups),
          splits_(stores.splits),
          split_queue_(stores.split_queue),
          spawned_(stores.spawned),
          observers_(stores.observers),
          changes_(stores.changes),
          workers_(stores.workers),
          events_(stores.events),
          counts_(stores.counts) {}

    void report_changes();
    void publish();

  private:
    void report_change(const WindowChange& change, bool may_be_explicit);
    bool is_spatial_only() const noexcept;
    void begin_minimum_time(std::uint32_t observer, EntityId unit);

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    RelevanceEdits& edits_;
    const Rules& rules_;
    BlockTable& table_;
    const Tick& tick_;
    const ProgramSummary& summary_;
    PairTable& pairs_;
    MinimumRelevance& minimum_relevance_;
    GroupStore& groups_;
    SplitLinks& splits_;
    SplitQueue& split_queue_;
    SpawnedEntities& spawned_;
    ObserverStore& observers_;
    ExplicitChangeLog& changes_;
    std::vector<WindowWorker>& workers_;
    EventList& events_;
    UnitCounts& counts_;
    std::vector<ChunkChanges> parts_;
};

}  // namespace purview
