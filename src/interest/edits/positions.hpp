// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Positions of entities: moves, positions that follow another entity, dormant entities, and the
// layer of the grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

class Positions {
  public:
    Positions(InterestStores& stores, const EntityLookup& lookup)
        : lookup_(lookup),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          summary_(stores.summary),
          position_sources_(stores.position_sources),
          dormant_(stores.dormant),
          cell_movers_(stores.cell_movers),
          kinds_(stores.kinds),
          groups_(stores.groups),
          counters_(stores.counters),
          counts_(stores.counts),
          layers_(stores.layers) {}

    Status move(EntityId entity, Vec3 position);
    void move(std::span<const Move> moves);
    void move(const PositionColumns& columns);
    Status set_position_source(EntityId entity, EntityId other);
    std::uint32_t layer_for(const KindRules* kind, float range) const noexcept;
    std::uint32_t layer_of(EntityId unit) const noexcept;
    void write_bounds(Slot slot, float radius);
    void write_position(EntityId entity, Vec3 inner_position);
    void apply_position_sources();

  private:
    /// Returns the length of the longest chain of position sources that ends at the cull group, up
    /// to `most`.
    std::size_t links_behind(EntityId unit, std::size_t most) const;
    void end_position_source(EntityId entity, PositionSource was);

    const EntityLookup& lookup_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const ProgramSummary& summary_;
    PositionSources& position_sources_;
    EntityMap<Vec3>& dormant_;
    std::vector<EntityId>& cell_movers_;
    EntityKinds& kinds_;
    GroupStore& groups_;
    InterestCounters& counters_;
    UnitCounts& counts_;
    const UnitLayers& layers_;
    std::vector<Move> moves_;
};

}  // namespace purview
