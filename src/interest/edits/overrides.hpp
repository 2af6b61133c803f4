// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Overrides that the caller sets for an entity or a pair: hide, show to all, mode, owner, allow,
// deny. The overrides of a group member are counted in its cull group.
#pragma once

#include <cstdint>
#include <span>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class Overrides {
  public:
    Overrides(InterestStores& stores, const EntityLookup& lookup,
              const ExplicitRelevance& explicit_relevance, RelevanceEdits& edits,
              CustomNodes& custom_nodes)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          edits_(edits),
          custom_nodes_(custom_nodes),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          pairs_(stores.pairs),
          minimum_relevance_(stores.minimum_relevance),
          ownership_(stores.ownership),
          groups_(stores.groups),
          observers_(stores.observers),
          pairs_queried_(stores.pairs_queried),
          counts_(stores.counts) {}

    Status set_mode(EntityId entity, EntityMode mode);
    Status set_owner(EntityId entity, ObserverId owner);
    Status force_hide(EntityId entity, bool hidden);
    Status show_to_all(EntityId entity, bool shown);
    void keep_hides(EntityId member);
    Status edit_pair(ObserverId observer, EntityId entity, PairMark mark, bool value);
    Status edit_pairs(std::span<const PairEdit> edits, PairMark mark);
    void update_special(EntityId unit);
    void update_no_window(EntityId unit);
    void drop_pairs(EntityId unit);
    void add_owned(EntityId unit, EntityId owned, ObserverId owner, int delta);
    void count_marks(EntityId unit, EntityId member, int delta);
    bool is_plain_member(EntityId entity) const noexcept;
    void forget_pairs(std::uint32_t observer);
    void forget_holds(std::uint32_t observer);

  private:
    void add_marks(EntityId unit, int cuts, int shows);
    void add_member_allow(std::uint32_t observer, EntityId unit, int delta);
    void set_member_pair(std::uint32_t observer, EntityId member, PairMark mark, bool value);
    Status mark_member(EntityId member, bool MemberMarks::*field, bool value);
    /// Sets the mark `of_member` of a group member. For any other entity, sets the flag `column`
    /// and calls `also()` within the same edit.
    template <class Edit>
    Status mark(EntityId entity, bool MemberMarks::*of_member, std::uint32_t column, bool value,
                Edit&& also);
    Status mark_mode(EntityId member, EntityMode mode);
    Status edit_member_pair(std::uint32_t observer, EntityId member, PairMark mark, bool value);
    void forget_member_pair(std::uint32_t observer, EntityId member);

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    RelevanceEdits& edits_;
    CustomNodes& custom_nodes_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Program& program_;
    PairTable& pairs_;
    MinimumRelevance& minimum_relevance_;
    Ownership& ownership_;
    GroupStore& groups_;
    ObserverStore& observers_;
    std::uint64_t& pairs_queried_;
    UnitCounts& counts_;
};

}  // namespace purview
