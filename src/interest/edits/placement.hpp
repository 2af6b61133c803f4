// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Inserts a cull group into the table, with its kind, attributes, bindings and grid layer.
#pragma once

#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/overrides.hpp"
#include "interest/edits/positions.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class Placement {
  public:
    Placement(InterestStores& stores, const EntityLookup& lookup, CustomNodes& custom_nodes,
              Positions& positions, Overrides& overrides, Membership& membership)
        : lookup_(lookup),
          custom_nodes_(custom_nodes),
          positions_(positions),
          overrides_(overrides),
          membership_(membership),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          summary_(stores.summary),
          cell_movers_(stores.cell_movers),
          warnings_(stores.warnings),
          kinds_(stores.kinds),
          ownership_(stores.ownership),
          new_units_(stores.new_units),
          observers_(stores.observers),
          counts_(stores.counts),
          layers_(stores.layers) {}

    Status check_def(const EntityDef& def) const noexcept;
    void set_kind(EntityId entity, KindId kind);
    Slot place_unit(EntityId unit, const EntityDef& def);

  private:
    void bind(EntityId entity, const EntityDef& def);

    const EntityLookup& lookup_;
    CustomNodes& custom_nodes_;
    Positions& positions_;
    Overrides& overrides_;
    Membership& membership_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const ProgramSummary& summary_;
    std::vector<EntityId>& cell_movers_;
    RuleWarnings& warnings_;
    EntityKinds& kinds_;
    Ownership& ownership_;
    NewUnits& new_units_;
    ObserverStore& observers_;
    UnitCounts& counts_;
    const UnitLayers& layers_;
};

}  // namespace purview
