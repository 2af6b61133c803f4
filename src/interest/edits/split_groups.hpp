// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Partly split groups. Edits and windows only mark the cull groups that they touch. When the facts
// and windows of the tick are final, each touched group is evaluated as a whole, once for each
// touched observer, and compared with what the observer had. So a promotion or a window bit that
// toggles within a tick makes no event, and a member that joins or leaves in between makes one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interest/edits/relevance_edits.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/relevance/split_group.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class SplitGroups {
  public:
    SplitGroups(InterestStores& stores, const EntityLookup& lookup, const Relevance& relevance,
                RelevanceEdits& edits)
        : lookup_(lookup),
          relevance_(relevance),
          edits_(edits),
          rules_(stores.rules),
          table_(stores.table),
          tick_(stores.tick),
          minimum_relevance_(stores.minimum_relevance),
          splits_(stores.splits),
          views_(stores.views),
          split_queue_(stores.split_queue),
          observers_(stores.observers),
          changes_(stores.changes),
          events_(stores.events) {}

    void touch_split_groups();
    void touch_split_groups(std::uint32_t observer);
    void settle_split_groups();
    Status join_split(EntityId member, EntityId root, EntityId parent);
    void leave_split(EntityId member);

  private:
    bool keep_minimum_relevance(std::uint32_t observer, std::span<const SplitGroupUnit> group,
                                std::span<const SplitGroupResult> answers);
    void report_split_group(std::uint32_t observer, std::span<const SplitGroupUnit> group);
    void release_split_group();

    const EntityLookup& lookup_;
    const Relevance& relevance_;
    RelevanceEdits& edits_;
    const Rules& rules_;
    BlockTable& table_;
    const Tick& tick_;
    MinimumRelevance& minimum_relevance_;
    SplitLinks& splits_;
    GroupViews& views_;
    SplitQueue& split_queue_;
    ObserverStore& observers_;
    ExplicitChangeLog& changes_;
    EventList& events_;
    std::vector<SplitGroupUnit> split_group_;
    std::vector<SplitGroupResult> split_group_results_;
};

}  // namespace purview
