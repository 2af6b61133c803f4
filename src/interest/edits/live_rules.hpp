// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compiles the rules, and replaces them while the engine runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/membership.hpp"
#include "interest/edits/observer_edits.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/edits/split_groups.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/stores/interest_stores.hpp"

namespace purview {

class LiveRules {
  public:
    LiveRules(InterestStores& stores, const EntityLookup& lookup, RelevanceEdits& edits,
              SplitGroups& split_groups, CustomNodes& custom_nodes, Membership& membership,
              ObserverEdits& observer_edits)
        : lookup_(lookup),
          edits_(edits),
          split_groups_(split_groups),
          custom_nodes_(custom_nodes),
          membership_(membership),
          observer_edits_(observer_edits),
          rules_(stores.rules),
          names_(stores.names),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          rules_revision_(stores.rules_revision),
          summary_(stores.summary),
          member_columns_(stores.member_columns),
          rows_(stores.rows),
          minimum_relevance_(stores.minimum_relevance),
          warnings_(stores.warnings),
          observers_(stores.observers),
          push_(stores.push),
          workers_(stores.workers) {}

    Rules with_fixed(const Rules& wanted) const;
    std::string set_rules(const Rules& rules);
    void set_level(InterestLevel level);
    void compile_rules(OldKernels old);

  private:
    void replace_planes(const Rules& old_rules, const Program& old);

    const EntityLookup& lookup_;
    RelevanceEdits& edits_;
    SplitGroups& split_groups_;
    CustomNodes& custom_nodes_;
    Membership& membership_;
    ObserverEdits& observer_edits_;
    Rules& rules_;
    AttributeNames& names_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    Program& program_;
    std::uint64_t& rules_revision_;
    ProgramSummary& summary_;
    MemberColumns& member_columns_;
    std::vector<RowStore>& rows_;
    MinimumRelevance& minimum_relevance_;
    RuleWarnings& warnings_;
    ObserverStore& observers_;
    PushUpdate& push_;
    std::vector<WindowWorker>& workers_;
};

}  // namespace purview
