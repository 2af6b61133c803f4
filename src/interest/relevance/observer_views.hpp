// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Collects where an observer views from in a tick, and makes the input of its scan. Only reads the
// stores.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

class ObserverViews {
  public:
    ObserverViews(const InterestStores& stores, const EntityLookup& lookup)
        : lookup_(lookup),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          rules_revision_(stores.rules_revision),
          tick_(stores.tick),
          has_custom_queries_(stores.has_custom_queries),
          pairs_(stores.pairs),
          new_units_(stores.new_units),
          observers_(stores.observers),
          counts_(stores.counts),
          layers_(stores.layers) {}

    void collect(std::uint32_t observer, Sight& sight) const { collect(observer, sight, tick_); }
    void collect(std::uint32_t observer, Sight& sight, Tick tick) const;
    ScanInput input_of(std::uint32_t observer, const Sight& sight) const noexcept;

  private:
    void collect_owned(std::uint32_t observer, std::vector<EntityId>& out) const;

    const EntityLookup& lookup_;
    const Rules& rules_;
    const BlockTable& table_;
    const EntityFacts& facts_table_;
    const Program& program_;
    const std::uint64_t& rules_revision_;
    const Tick& tick_;
    const bool& has_custom_queries_;
    const PairTable& pairs_;
    const NewUnits& new_units_;
    const ObserverStore& observers_;
    const UnitCounts& counts_;
    const UnitLayers& layers_;
};

}  // namespace purview
