// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Queries between ticks: observers of an entity, entities in a box, scores, coverage. Read-only;
// several threads may query at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/queries/covering.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/observer_views.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

struct ScoreScratch;  // answers.cpp

class Answers {
  public:
    Answers(const InterestStores& stores, const EntityLookup& lookup,
            const ExplicitRelevance& explicit_relevance, const Relevance& relevance,
            const ObserverViews& observer_views)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          observer_views_(observer_views),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          pairs_(stores.pairs),
          custom_(stores.custom_nodes),
          kinds_(stores.kinds),
          views_(stores.views),
          observers_(stores.observers),
          observer_counts_(stores.observer_counts) {}

    bool has_key(EntityId entity, KeyId domain, Key key) const noexcept;
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    bool is_ready(ObserverId observer) const noexcept;
    bool is_denied(ObserverId observer, EntityId entity) const noexcept;
    /// If this is false, is_denied() is false for all observers.
    bool is_denied_to_any(EntityId entity) const noexcept;
    void observers_of(EntityId entity, std::vector<ObserverId>& out) const;
    std::uint32_t observer_count(EntityId entity) const noexcept;
    void score(ObserverId observer, std::span<const EntityId> entities, std::span<float> score,
               std::span<Replication> settings = {}) const;
    void find_scored(std::uint32_t observer, std::span<const EntityId> entities,
                     std::span<float> score, bool with_settings, ScoreScratch& scratch) const;
    void measure_scored(std::uint32_t observer, std::span<float> score,
                        std::span<Replication> settings, ScoreScratch& scratch) const;
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const;
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    void observers_covering(std::span<const Vec3> positions, std::vector<Covering>& out) const;

  private:
    struct SpatialSteps {
        std::vector<NodeProgram> nodes;
        float reach = 0;
        bool is_bounded = true;
    };
    SpatialSteps spatial_steps() const;

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    const ObserverViews& observer_views_;
    const Rules& rules_;
    const BlockTable& table_;
    const EntityFacts& facts_table_;
    const Program& program_;
    const PairTable& pairs_;
    const std::vector<CustomNodeState>& custom_;
    const EntityKinds& kinds_;
    const GroupViews& views_;
    const ObserverStore& observers_;
    const ObserverCounts& observer_counts_;
};

}  // namespace purview
