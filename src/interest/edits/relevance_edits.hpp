// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs edits that may change relevance. Evaluates relevance before and after the edit, with the
// windows of the last tick, and records the difference as explicit changes. Also applies minimum
// relevance times: a pair that no node matches any more is held for the rest of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/events/touched_observers.hpp"
#include "interest/relevance/entity_lookup.hpp"
#include "interest/relevance/explicit_relevance.hpp"
#include "interest/relevance/relevance.hpp"
#include "interest/stores/interest_stores.hpp"
#include "purview/status.hpp"

namespace purview {

/// An observer, and the index in a list of an entity that is relevant to it.
struct MemberView {
    std::uint32_t observer;
    std::uint32_t member;
    friend bool operator==(const MemberView&, const MemberView&) = default;
    friend bool operator<(const MemberView& a, const MemberView& b) noexcept {
        return a.observer != b.observer ? a.observer < b.observer : a.member < b.member;
    }
};

/// Observer indices in [begin, end).
struct ObserverRange {
    std::uint32_t begin;
    std::uint32_t end;
};

class RelevanceEdits {
  public:
    RelevanceEdits(InterestStores& stores, const EntityLookup& lookup,
                   const ExplicitRelevance& explicit_relevance, const Relevance& relevance)
        : lookup_(lookup),
          explicit_(explicit_relevance),
          relevance_(relevance),
          table_(stores.table),
          facts_table_(stores.facts_table),
          tick_(stores.tick),
          pairs_(stores.pairs),
          minimum_relevance_(stores.minimum_relevance),
          views_(stores.views),
          split_queue_(stores.split_queue),
          observers_(stores.observers),
          changes_(stores.changes),
          pairs_queried_(stores.pairs_queried) {}

    /// Records an enter or a leave if explicit relevance changed and the window does not decide.
    void note(std::uint32_t observer, EntityId unit, bool before, bool after);
    /// Cancels an opposite explicit change of the pair in this tick. Returns whether there was one.
    bool cancel_change(std::uint32_t observer, EntityId entity, bool enter) {
        return changes_.cancel(observer, entity, enter, observers_.size());
    }
    /// Collects before an edit the observers that it may concern, with relevance before it.
    void touch_all(EntityId unit);
    /// Notes the changes after the edit.
    void report_touched(EntityId unit);
    /// Runs an edit that may change the explicit relevance of one cull group to many observers, and
    /// notes the changes.
    template <class Edit>
    void edit_unit(EntityId unit, Edit&& edit);
    template <class Edit>
    void edit_groups(std::initializer_list<EntityId> units, Edit&& edit);
    template <class Edit>
    void edit_group_of(std::uint32_t observer, EntityId unit, Edit&& edit);
    ObserverRange all_observers() const noexcept {
        return {0, static_cast<std::uint32_t>(observers_.size())};
    }
    /// Runs an edit of one observer, and notes the changes of all cull groups that may be
    /// explicitly relevant to it.
    template <class Edit>
    void edit_observer(std::uint32_t observer, Edit&& edit);
    bool hold(std::uint32_t observer, EntityId unit);
    bool defer_leave(std::uint32_t observer, EntityId unit, Tick wait_ticks);
    void note_hide(EntityId unit);
    void check_hides();
    void expire_minimum_relevance();
    void collect_views(std::span<const EntityId> entities, ObserverRange range,
                       std::vector<MemberView>& out);
    void report_views(std::span<const EntityId> entities, ObserverRange range,
                      const std::vector<MemberView>& before);
    void touch_split_group(std::uint32_t observer, EntityId unit) {
        split_queue_.touch(unit, observer);
    }
    template <class Edit>
    void edit_split_group(std::initializer_list<EntityId> units, Edit&& edit);
    std::vector<std::vector<EntityId>> explicit_outside_windows() const;
    void report_difference(const std::vector<std::vector<EntityId>>& before);

  private:
    void touch(std::uint32_t observer, EntityId unit);
    template <class Edit>
    void edit_views(ObserverRange range, std::initializer_list<EntityId> units, Edit&& edit);
    void end_hold(std::uint32_t observer, EntityId unit);
    void take_views(EntityId entity);

    const EntityLookup& lookup_;
    const ExplicitRelevance& explicit_;
    const Relevance& relevance_;
    BlockTable& table_;
    EntityFacts& facts_table_;
    const Tick& tick_;
    PairTable& pairs_;
    MinimumRelevance& minimum_relevance_;
    GroupViews& views_;
    SplitQueue& split_queue_;
    ObserverStore& observers_;
    ExplicitChangeLog& changes_;
    std::uint64_t& pairs_queried_;
    /// A known entity of a list, for collect_views.
    struct Viewed {
        std::uint32_t member;
        EntityId unit;
        Slot slot;
        bool may_be_cut;
    };
    std::vector<Viewed> viewed_;
    std::vector<MemberView> views_after_;
    std::vector<EntityId> edit_before_;
    std::vector<EntityId> edit_after_;
    FlatMap<std::uint32_t, std::uint8_t> edit_seen_;
    TouchedObservers touched_;
};

template <class Edit>
void RelevanceEdits::edit_unit(EntityId unit, Edit&& edit) {
    if (lookup_.is_split_group(unit)) {
        edit();
        note_hide(unit);
        split_queue_.touch(unit);
        return;
    }
    touch_all(unit);
    edit();
    report_touched(unit);
}

/// Runs an edit that may change anything about some cull groups, including which members they have.
/// Notes the changes of all their members.
template <class Edit>
void RelevanceEdits::edit_groups(std::initializer_list<EntityId> units, Edit&& edit) {
    for (const EntityId unit : units) {
        if (lookup_.is_split_group(unit)) return edit_split_group(units, edit);
    }
    edit_views(all_observers(), units, edit);
}

/// Like edit_groups(), for one observer and one group. Other observers are not evaluated.
template <class Edit>
void RelevanceEdits::edit_group_of(std::uint32_t o, EntityId unit, Edit&& edit) {
    if (lookup_.is_split_group(unit)) {
        edit();
        return touch_split_group(o, unit);
    }
    edit_views({o, o + 1}, {unit}, edit);
}

template <class Edit>
void RelevanceEdits::edit_views(ObserverRange range, std::initializer_list<EntityId> units,
                                Edit&& edit) {
    std::vector<EntityId> entities;
    for (const EntityId unit : units)
        lookup_.for_each_member(unit, true, [&](EntityId member) { entities.push_back(member); });
    std::vector<MemberView> before;
    collect_views(entities, range, before);
    PURVIEW_ASSERT(std::is_sorted(before.begin(), before.end()));  // report_views searches it
    std::vector<bool> had;
    for (const EntityId unit : units) {
        for (std::uint32_t o = range.begin; o < range.end; ++o)
            had.push_back(explicit_.is_seen(o, unit));
    }
    edit();
    std::size_t i = 0;
    for (const EntityId unit : units) {
        for (std::uint32_t o = range.begin; o < range.end; ++o, ++i) {
            if (had[i] && lookup_.is_known(unit) && !lookup_.is_member(unit) &&
                !explicit_.is_seen(o, unit))
                (void)hold(o, unit);
        }
        if (table_.slot_of(unit) != no_slot) note_hide(unit);
    }
    PURVIEW_ASSERT(i == had.size());
    report_views(entities, range, before);
}

/// Like edit_groups(), if a partly split group is involved before or after the edit.
template <class Edit>
void RelevanceEdits::edit_split_group(std::initializer_list<EntityId> units, Edit&& edit) {
    std::vector<EntityId> entities;
    std::vector<SplitGroupUnit> group;
    for (const EntityId unit : units) {
        relevance_.gather_split_group(lookup_.top_of(unit), group);
        for (const SplitGroupUnit& one : group)
            lookup_.for_each_member(one.unit, true,
                                    [&](EntityId entity) { entities.push_back(entity); });
    }
    for (const EntityId entity : entities) {
        if (!lookup_.is_split_group(lookup_.unit_of(entity))) take_views(entity);
    }
    edit();
    for (const EntityId entity : entities) {
        if (!lookup_.is_known(entity)) {
            split_queue_.add_gone(entity);
            continue;
        }
        const EntityId unit = lookup_.unit_of(entity);
        if (!lookup_.is_split_group(unit)) {
            split_queue_.release(unit);
        }
        split_queue_.touch(unit);
        if (unit == entity) note_hide(unit);
    }
}

template <class Edit>
void RelevanceEdits::edit_observer(std::uint32_t o, Edit&& edit) {
    std::vector<EntityId>& before = edit_before_;
    std::vector<EntityId>& after = edit_after_;
    FlatMap<std::uint32_t, std::uint8_t>& seen = edit_seen_;
    before.clear();
    after.clear();
    seen.clear();
    const auto first_time = [&](EntityId unit) { return seen.find_or_make(index_of(unit)).second; };
    explicit_.for_each_explicit_unit(o, [&](EntityId unit) {
        ++pairs_queried_;
        if (explicit_.is_explicitly_relevant(o, unit) && first_time(unit)) before.push_back(unit);
    });
    edit();
    for (const EntityId unit : before)
        note(o, unit, true, explicit_.is_explicitly_relevant(o, unit));
    explicit_.for_each_explicit_unit(o, [&](EntityId unit) {
        if (explicit_.is_explicitly_relevant(o, unit) && first_time(unit)) after.push_back(unit);
    });
    for (const EntityId unit : after) note(o, unit, false, true);
}

}  // namespace purview
