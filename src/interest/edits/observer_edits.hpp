// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Edits of observers: readiness, viewpoint, areas, keys, range, and the rows that they read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/edits/custom_nodes.hpp"
#include "interest/edits/overrides.hpp"
#include "interest/edits/relevance_edits.hpp"
#include "interest/edits/split_groups.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/observer_views.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class ObserverEdits {
  public:
    ObserverEdits(InterestStores& stores, const EntityLookup& lookup,
                  const ExplicitRelevance& explicit_relevance, const Relevance& relevance,
                  RelevanceEdits& edits, SplitGroups& split_groups, Overrides& overrides,
                  const ObserverViews& observer_views, CustomNodes& custom_nodes)
        : custom_nodes_(custom_nodes),
          lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          edits_(edits),
          split_groups_(split_groups),
          overrides_(overrides),
          observer_views_(observer_views),
          rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          program_(stores.program),
          tick_(stores.tick),
          summary_(stores.summary),
          rows_(stores.rows),
          pairs_(stores.pairs),
          views_(stores.views),
          observers_(stores.observers),
          order_(stores.order),
          changes_(stores.changes),
          pairs_queried_(stores.pairs_queried) {}

    Result<ObserverId> add_observer();
    Status remove_observer(ObserverId observer);
    Status set_ready(ObserverId observer, bool ready);
    Status set_viewpoint(ObserverId observer, EntityId entity);
    EntityId viewpoint(ObserverId observer) const noexcept {
        return observers_.is_live(observer) ? observers_[index_of(observer)].main : EntityId::none;
    }
    Status set_area(ObserverId observer, std::uint32_t key, const Area& area);
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    Status remove_area(ObserverId observer, std::uint32_t key);
    Status set_observer_key(ObserverId observer, KeyId domain, Key key);
    Status edit_more_observer_keys(ObserverId observer, KeyId domain, Key key, bool adds);
    bool has_key(ObserverId observer, KeyId domain, Key key) const noexcept;
    std::uint32_t keys_revision(ObserverId observer) const noexcept;
    Status set_observer_range(ObserverId observer, float range);
    Status set_lookahead(ObserverId observer, float seconds);
    Status set_unculled(ObserverId observer, bool value);
    Status rescan(ObserverId observer);
    void update_cells();
    void find_wanted_rows(std::uint32_t observer);
    void take_wanted_rows(std::uint32_t observer);
    void update_observers_of_main(EntityId entity);

  private:
    void apply_ready(std::uint32_t observer);
    void update_observer_keys(std::uint32_t observer);
    void edit_observer_rows(std::uint32_t observer);
    void leave_all(std::uint32_t observer);
    Status check_area(const Area& area) const noexcept;
    Area inner(const Area& given) const noexcept;
    KeyedArea keyed(std::uint32_t key, const Area& inner_area) const noexcept;
    void set_watched(EntityId entity);

    CustomNodes& custom_nodes_;
    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    RelevanceEdits& edits_;
    SplitGroups& split_groups_;
    Overrides& overrides_;
    const ObserverViews& observer_views_;
    const Rules& rules_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Program& program_;
    const Tick& tick_;
    const ProgramSummary& summary_;
    std::vector<RowStore>& rows_;
    PairTable& pairs_;
    GroupViews& views_;
    ObserverStore& observers_;
    ObserverOrder& order_;
    ExplicitChangeLog& changes_;
    std::uint64_t& pairs_queried_;
    std::vector<EntityId> edit_before_;
    std::vector<EntityId> edit_after_;
    FlatMap<std::uint32_t, std::uint8_t> edit_seen_;
    std::vector<SourceRow> wanted_sources_;
    std::vector<CellId> cells_;
    Sight sight_;
};

}  // namespace purview
