// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities join and leave groups. A cull group has one slot; its members are evaluated with it.
#pragma once

#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/overrides.hpp"
#include "interest/edits/placement.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/edits/split_groups.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class GroupEdits {
  public:
    GroupEdits(InterestStores& stores, const EntityLookup& lookup,
               const ExplicitRelevance& explicit_relevance, RelevanceEdits& edits,
               SplitGroups& split_groups, CustomNodes& custom_nodes, Overrides& overrides,
               Membership& membership, Placement& placement, ObserverEdits& observer_edits)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          edits_(edits),
          split_groups_(split_groups),
          custom_nodes_(custom_nodes),
          overrides_(overrides),
          membership_(membership),
          placement_(placement),
          observer_edits_(observer_edits),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          tick_(stores.tick),
          pairs_(stores.pairs),
          minimum_relevance_(stores.minimum_relevance),
          position_sources_(stores.position_sources),
          dormant_(stores.dormant),
          ownership_(stores.ownership),
          groups_(stores.groups),
          splits_(stores.splits),
          counts_(stores.counts) {}

    Status join_unit(EntityId member, EntityId root, EntityId parent);
    Status leave_unit(EntityId member, const EntityDef& def, bool is_orphan);
    void forget_member(EntityId member);

  private:
    void join(EntityId member, EntityId root, EntityId parent);
    void leave(EntityId member, const EntityDef& def);
    void dissolve_into_member(EntityId unit);
    void keep_keys(EntityId unit);
    void dissolve_unit(EntityId unit);
    void leave_group(EntityId member);

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    RelevanceEdits& edits_;
    SplitGroups& split_groups_;
    CustomNodes& custom_nodes_;
    Overrides& overrides_;
    Membership& membership_;
    Placement& placement_;
    ObserverEdits& observer_edits_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Tick& tick_;
    PairTable& pairs_;
    MinimumRelevance& minimum_relevance_;
    PositionSources& position_sources_;
    EntityMap<Vec3>& dormant_;
    Ownership& ownership_;
    GroupStore& groups_;
    SplitLinks& splits_;
    UnitCounts& counts_;
    std::vector<MemberView> views_before_;
    std::vector<EntityId> moving_;
};

}  // namespace purview
