// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Explains why an entity is relevant to an observer or not, and which changes would reverse that.
// The entity is copied into a table of its own and evaluated there by the code of the tick:
// `evaluate` and PairFacts::decide. A what-if query changes the copy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/queries/answers.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/observer_views.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

struct Case;
class Evaluator;

class Explainer {
  public:
    Explainer(const InterestStores& stores, const EntityLookup& lookup,
              const ExplicitRelevance& explicit_relevance, const Relevance& relevance,
              const ObserverViews& observer_views, const Answers& answers)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          observer_views_(observer_views),
          answers_(answers),
          rules_(stores.rules),
          names_(stores.names),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          tick_(stores.tick),
          pairs_(stores.pairs),
          custom_(stores.custom_nodes),
          ownership_(stores.ownership),
          groups_(stores.groups),
          observers_(stores.observers) {}

    /// Returns the replication settings of the pair. `by`, if not null, receives the names of the
    /// nodes that set each value.
    Replication settings(ObserverId observer, EntityId entity,
                         ExplainedSettings* by = nullptr) const;
    Explanation explain(ObserverId observer, EntityId entity) const;

  private:
    friend class Evaluator;
    Case case_of(std::uint32_t observer, EntityId unit) const;
    Explanation explain_hidden(std::uint32_t observer, EntityId entity, Explanation out) const;
    std::vector<WhatIf> changes_of(std::uint32_t observer, EntityId unit, const Case& now,
                                   std::span<const Vec3> positions) const;

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    const ObserverViews& observer_views_;
    const Answers& answers_;
    const Rules& rules_;
    const AttributeNames& names_;
    const BlockTable& table_;
    const EntityFacts& facts_table_;
    const Program& program_;
    const Tick& tick_;
    const PairTable& pairs_;
    const std::vector<CustomNodeState>& custom_;
    const Ownership& ownership_;
    const GroupStore& groups_;
    const ObserverStore& observers_;
};

}  // namespace purview
