// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Relevance of a pair of observer and entity: windows and explicit relevance together, with hidden
// members and partly split groups. Only reads the stores.
//
// A member is *cut* for an observer if an override hides it or an ancestor within its cull group.
// An independently culled member has a slot of its own. Its result depends on the cull groups above
// it. If it keeps its ancestors relevant, their results also depend on it.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/split_group.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

class Relevance {
  public:
    Relevance(const InterestStores& stores, const EntityLookup& lookup,
              const ExplicitRelevance& explicit_relevance)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          table_(stores.table),
          program_(stores.program),
          rows_(stores.rows),
          pairs_(stores.pairs),
          ownership_(stores.ownership),
          groups_(stores.groups),
          splits_(stores.splits),
          views_(stores.views),
          spawned_(stores.spawned),
          observers_(stores.observers),
          counts_(stores.counts) {}

    /// `with_gone`: also visits entities that were despawned since the last tick.
    template <class Visit>
    void for_each_relevant(std::uint32_t observer, Visit&& visit, bool with_gone = false) const;
    template <class Visit>
    void for_each_visible(std::uint32_t observer, EntityId unit, bool enter, Visit&& visit) const;
    bool is_cut(std::uint32_t observer, EntityId unit, EntityId member) const noexcept {
        return cut_by(observer, unit, member) != EntityId::none;
    }
    EntityId cut_by(std::uint32_t observer, EntityId unit, EntityId member) const noexcept;
    Stage cut_of(std::uint32_t observer, EntityId unit, EntityId one) const noexcept;
    bool is_visible(std::uint32_t observer, EntityId entity) const noexcept;
    void gather_split_group(EntityId top, std::vector<SplitGroupUnit>& out) const;
    PairFacts facts_with_below(std::uint32_t observer, EntityId unit) const;
    bool is_path_open(std::uint32_t observer, EntityId unit, EntityId member) const noexcept;
    void evaluate_split_group(std::uint32_t observer, std::span<const SplitGroupUnit> group,
                              std::vector<SplitGroupResult>& out) const;
    std::size_t evaluate_split_group(std::uint32_t observer, EntityId unit,
                                     std::vector<SplitGroupUnit>& group,
                                     std::vector<SplitGroupResult>& answers) const;
    Reason reason_in_split_group(std::uint32_t observer, EntityId entity,
                                 const SplitGroupResult& unit, bool is_cut_off, bool enter) const;
    Reason reason_in_split_group(std::uint32_t observer, EntityId entity, bool enter) const;
    void explain_split_group(std::uint32_t observer, EntityId entity, Explanation& out) const;
    Reason reason_of(std::uint32_t observer, EntityId entity, bool enter) const;

    /// Evaluates a group. `evaluate(i, below)` returns the input of cull group i. `below` has the
    /// facts that show cull groups below it, and the returned facts must include them. The returned
    /// `nodes` is used only if the facts leave the decision to nodes.
    template <class Evaluate>
    void evaluate_group(std::uint32_t observer, std::span<const SplitGroupUnit> group,
                        std::vector<SplitGroupResult>& out, Evaluate&& evaluate) const;

  private:
    bool has_entry(std::uint32_t observer, EntityId unit, EntityId top,
                   bool owners_only) const noexcept;
    bool has_entry_below(std::uint32_t observer, EntityId unit, EntityId top,
                         bool owners_only) const noexcept;

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const BlockTable& table_;
    const Program& program_;
    const std::vector<RowStore>& rows_;
    const PairTable& pairs_;
    const Ownership& ownership_;
    const GroupStore& groups_;
    const SplitLinks& splits_;
    const GroupViews& views_;
    const SpawnedEntities& spawned_;
    const ObserverStore& observers_;
    const UnitCounts& counts_;
};

/// Visits the entities of the cull group that are relevant to the observer while the cull group is:
/// all but cut members.
template <class Visit>
void Relevance::for_each_visible(std::uint32_t o, EntityId unit, bool enter, Visit&& visit) const {
    if (!lookup_.has_cuts(unit)) return lookup_.for_each_member(unit, enter, visit);
    lookup_.for_each_member(unit, enter, [&](EntityId member) {
        if (member == unit || !is_cut(o, unit, member)) visit(member);
    });
}

template <class Visit>
void Relevance::for_each_relevant(std::uint32_t o, Visit&& visit, bool with_gone) const {
    const Observer& observer = observers_[o];
    if (!observer.ready) return;
    for (const GroupViews::View& view : views_.of(o)) {
        if (view.seen && (with_gone || lookup_.is_known(view.entity))) visit(view.entity);
    }
    const auto report = [&](EntityId unit) {
        if (!lookup_.is_split_group(unit)) for_each_visible(o, unit, true, visit);
    };
    // Prefetches the entities and full ids of later blocks.
    constexpr std::size_t entity_ahead = 8, home_ahead = 4;
    const Window& window = observer.window;
    for (std::size_t at = 0; at < window.size(); ++at) {
        if (at + entity_ahead < window.size())
            table_.prefetch_entity(slot_at(window.blocks()[at + entity_ahead], 0));
        if (at + home_ahead < window.size()) {
            const BlockIndex block = window.blocks()[at + home_ahead];
            for_each_bit(window.masks()[at + home_ahead], 0, [&](std::size_t lane) {
                table_.prefetch_home(slot_at(block, static_cast<unsigned>(lane)));
            });
        }
        const BlockIndex block = window.blocks()[at];
        for (Mask rest = window.masks()[at]; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            if (!table_.is_vacated(slot)) {
                report(table_.entity(slot));
            } else if (const Displaced& gone = table_.displaced_from(slot);
                       with_gone && !gone.silent && !lookup_.is_split_group(gone.entity)) {
                visit(gone.entity);  // despawned since the last tick, without a leave yet
            }
        }
    }
    const auto report_overrides = [&](EntityId unit) {
        if (explicit_.is_explicitly_relevant(o, unit) && !explicit_.in_window(o, unit))
            report(unit);
    };
    if (explicit_.sees_all(observer)) return lookup_.for_each_unit(report_overrides);
    explicit_.for_each_open_unit(report_overrides);
    const bool is_any_open = counts_.open > 0 || counts_.shown > 0;
    const auto is_open = [&](EntityId unit) {
        if (!is_any_open) return false;
        const Slot slot = table_.slot_of(unit);
        return slot != no_slot && explicit_.has_open_flag(slot);
    };
    for (std::size_t i = 0; i < observer.rows.size(); ++i) {
        const SourceRow at = observer.rows[i];
        if (program_.rows[at.source].pulled) continue;
        const Row& row = rows_[at.source].row(at.row);
        for (std::size_t k = 0; k < row.members.size(); ++k) {
            const EntityId unit = row.members[k];
            if (row.live[k] == 0 || is_open(unit)) continue;
            if (explicit_.in_window(o, unit) || !explicit_.is_explicitly_relevant(o, unit))
                continue;
            bool reported = false;  // by an earlier row
            for (std::size_t e = 0; e < i && !reported; ++e) {
                const SourceRow earlier = observer.rows[e];
                if (program_.rows[earlier.source].pulled) continue;
                const RowStore& store = rows_[earlier.source];
                for (const auto m : store.memberships(unit))
                    reported |= m.row == earlier.row && store.is_live(m);
            }
            if (!reported) report(unit);
        }
    }
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) {
        if (!is_open(unit) && !explicit_.in_rows(o, unit)) report_overrides(unit);
    });
}

template <class Evaluate>
void Relevance::evaluate_group(std::uint32_t o, std::span<const SplitGroupUnit> group,
                               std::vector<SplitGroupResult>& out, Evaluate&& evaluate) const {
    out.assign(group.size(), {});
    for (std::size_t i = group.size(); i-- > 0;) {
        PURVIEW_ASSERT(i == 0 || group[i].above < i);  // ancestors come first
        SplitGroupResult& answer = out[i];             // holds the results from below
        const UnitResult result = evaluate(i, answer.facts);
        answer.facts = result.facts;
        answer.stage = result.facts.decide(result.nodes);
        answer.own = is_yes(answer.stage);
        answer.hidden = result.hides;
        const bool is_left_to_nodes = answer.stage == Stage::no_node || answer.stage == Stage::node;
        if (!is_left_to_nodes || result.hides) answer.promoted_by = EntityId::none;
        if (answer.stage == Stage::node && group[i].promotes) answer.promoted_by = group[i].unit;
        if (answer.stage == Stage::no_node && answer.promoted_by != EntityId::none)
            answer.stage = Stage::promoted;
        if (i == 0) continue;
        SplitGroupResult& above = out[group[i].above];
        above.facts.take_shown(result.facts);
        if (answer.promoted_by != EntityId::none &&
            is_path_open(o, group[group[i].above].unit, group[i].parent))
            above.promoted_by = answer.promoted_by;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        SplitGroupResult& answer = out[i];
        const Stage stage = answer.stage;
        answer.shown = is_yes(stage);
        answer.hidden |= stage == Stage::not_ready || stage == Stage::denied ||
                         stage == Stage::force_hidden || stage == Stage::explicit_only;
        if (i == 0) continue;
        const SplitGroupResult& above = out[group[i].above];
        const bool is_open = is_path_open(o, group[group[i].above].unit, group[i].parent);
        if (above.shown && is_open) continue;
        answer.shown = false;
        answer.hidden |= !is_open || above.hidden;
    }
}

}  // namespace purview
