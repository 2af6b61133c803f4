// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Spawns and despawns entities. An edit that may change relevance runs in edit_unit.
#pragma once

#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/group_edits.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/overrides.hpp"
#include "interest/edits/placement.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/edits/split_groups.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class EntityEdits {
  public:
    EntityEdits(InterestStores& stores, const EntityLookup& lookup, RelevanceEdits& edits,
                SplitGroups& split_groups, CustomNodes& custom_nodes, Overrides& overrides,
                Membership& membership, Placement& placement, ObserverEdits& observer_edits,
                GroupEdits& group_edits)
        : lookup_(lookup),
          edits_(edits),
          split_groups_(split_groups),
          custom_nodes_(custom_nodes),
          overrides_(overrides),
          membership_(membership),
          placement_(placement),
          observer_edits_(observer_edits),
          group_edits_(group_edits),
          table_(stores.table),
          facts_table_(stores.facts_table),
          pairs_(stores.pairs),
          position_sources_(stores.position_sources),
          dormant_(stores.dormant),
          kinds_(stores.kinds),
          ownership_(stores.ownership),
          groups_(stores.groups),
          splits_(stores.splits),
          split_queue_(stores.split_queue),
          spawned_(stores.spawned),
          counts_(stores.counts) {}

    /// `def.id` and `def.owner` are not read.
    Status spawn(EntityId entity, const EntityDef& def);
    Status despawn(EntityId entity);

  private:
    void forget_entity(EntityId entity);

    const EntityLookup& lookup_;
    RelevanceEdits& edits_;
    SplitGroups& split_groups_;
    CustomNodes& custom_nodes_;
    Overrides& overrides_;
    Membership& membership_;
    Placement& placement_;
    ObserverEdits& observer_edits_;
    GroupEdits& group_edits_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    PairTable& pairs_;
    PositionSources& position_sources_;
    EntityMap<Vec3>& dormant_;
    EntityKinds& kinds_;
    Ownership& ownership_;
    GroupStore& groups_;
    SplitLinks& splits_;
    SplitQueue& split_queue_;
    SpawnedEntities& spawned_;
    UnitCounts& counts_;
    std::vector<MemberView> views_before_;
};

}  // namespace purview
