// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which shared interest groups (rows) and which columns of nodes a cull group belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/positions.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

class Membership {
  public:
    Membership(InterestStores& stores, const ExplicitRelevance& explicit_relevance,
               CustomNodes& custom_nodes, Positions& positions, RelevanceEdits& edits)
        : edits_(edits),
          explicit_(explicit_relevance),
          custom_nodes_(custom_nodes),
          positions_(positions),
          rules_(stores.rules),
          table_(stores.table),
          cell_movers_(stores.cell_movers),
          facts_table_(stores.facts_table),
          program_(stores.program),
          summary_(stores.summary),
          member_columns_(stores.member_columns),
          rows_(stores.rows),
          dormant_(stores.dormant),
          counts_(stores.counts) {}

    void update_membership(EntityId unit, std::span<const NodeId> left = {});
    void update_bound(EntityId unit, std::span<const NodeId> left = {});
    void update_rows(EntityId unit, std::span<const NodeId> left = {});
    bool is_in_its_rows(EntityId unit);
    void drop_rows(EntityId unit);
    void update_moved_cells();

  private:
    bool find_wanted_rows_of(EntityId unit, std::uint32_t source);

    RelevanceEdits& edits_;
    const ExplicitRelevance& explicit_;
    CustomNodes& custom_nodes_;
    Positions& positions_;
    const Rules& rules_;
    BlockTable& table_;
    std::vector<EntityId>& cell_movers_;
    EntityFacts& facts_table_;
    const Program& program_;
    const ProgramSummary& summary_;
    const MemberColumns& member_columns_;
    std::vector<RowStore>& rows_;
    EntityMap<Vec3>& dormant_;
    UnitCounts& counts_;
    std::vector<std::uint32_t> wanted_rows_;
    std::vector<CellId> cells_;
};

}  // namespace purview
