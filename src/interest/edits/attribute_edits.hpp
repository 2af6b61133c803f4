// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Attributes of entities: flags, keys, values, ranges, velocities. An edit that may change
// relevance runs in edit_unit.
#pragma once

#include "interest/edits/membership.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/positions.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class AttributeEdits {
  public:
    AttributeEdits(InterestStores& stores, const EntityLookup& lookup, RelevanceEdits& edits,
                   Positions& positions, Membership& membership, ObserverEdits& observer_edits)
        : lookup_(lookup),
          edits_(edits),
          positions_(positions),
          membership_(membership),
          observer_edits_(observer_edits),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          groups_(stores.groups),
          layers_(stores.layers) {}

    Status set_flag(EntityId entity, FlagId flag, bool value);
    Status set_key(EntityId entity, KeyId domain, Key key);
    Status edit_more_keys(EntityId entity, KeyId domain, Key key, bool adds);
    Status set_value(EntityId entity, ValueId value, float number);
    Status set_range(EntityId entity, float range);
    Status set_group_radius(EntityId entity, float radius);
    Status set_velocity(EntityId entity, Vec3 velocity);

  private:
    const EntityLookup& lookup_;
    RelevanceEdits& edits_;
    Positions& positions_;
    Membership& membership_;
    ObserverEdits& observer_edits_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    GroupStore& groups_;
    const UnitLayers& layers_;
};

}  // namespace purview
