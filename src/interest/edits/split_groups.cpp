// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/split_groups.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/status.hpp"

namespace purview {

/// Applies the minimum relevance time to each cull group by its own result. Returns whether any
/// pair is held.
bool SplitGroups::keep_minimum_relevance(std::uint32_t o, std::span<const SplitGroupUnit> group,
                                         std::span<const SplitGroupResult> answers) {
    bool any_held = false;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const EntityId unit = group[i].unit;
        const SplitGroupResult& now = answers[i];
        const bool was = views_.of(o, unit).own;
        if (was && !now.own) any_held |= edits_.hold(o, unit);
        if (was || now.stage != Stage::node || group[i].hides) continue;
        // A pair with a pending leave was relevant when the tick began. It stays relevant without a
        // new period.
        const ExplicitChange* change = changes_.find(o, unit, observers_.size());
        if (change == nullptr || change->enter)
            minimum_relevance_.begin(o, unit, tick_, rules_.minimum_relevance_ticks);
    }
    return any_held;
}

void SplitGroups::report_split_group(std::uint32_t o, std::span<const SplitGroupUnit> group) {
    std::vector<SplitGroupResult>& answers = split_group_results_;
    relevance_.evaluate_split_group(o, group, answers);
    if (rules_.minimum_relevance_ticks > 0 && keep_minimum_relevance(o, group, answers))
        relevance_.evaluate_split_group(o, group, answers);
    const auto report = [&](std::size_t i, EntityId entity, bool enter) {
        const EntityId unit = group[i].unit;
        const bool is_open = relevance_.is_path_open(o, unit, entity);
        const bool now = answers[i].shown && is_open;
        if (now != enter || views_.of(o, entity).seen == now ||
            edits_.cancel_change(o, entity, enter))
            return;
        events_.add({entity, observers_.id_of(o),
                     relevance_.reason_in_split_group(o, entity, answers[i], !is_open, enter),
                     enter, true});
    };
    for (std::size_t i = group.size(); i-- > 0;)
        lookup_.for_each_member(group[i].unit, false,
                                [&](EntityId entity) { report(i, entity, false); });
    for (std::size_t i = 0; i < group.size(); ++i)
        lookup_.for_each_member(group[i].unit, true,
                                [&](EntityId entity) { report(i, entity, true); });
    for (std::size_t i = 0; i < group.size(); ++i) {
        lookup_.for_each_member(group[i].unit, true, [&](EntityId entity) {
            const bool now = answers[i].shown && relevance_.is_path_open(o, group[i].unit, entity);
            views_.set(o, {entity, now, entity == group[i].unit ? answers[i].own : now});
        });
    }
}

/// Evaluates every touched group once for each touched observer, despawned entities first.
void SplitGroups::settle_split_groups() {
    for (const EntityId entity : split_queue_.gone()) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (!views_.of(o, entity).seen || edits_.cancel_change(o, entity, false)) continue;
            const bool is_live = observers_.is_live(o);
            events_.add({entity, observers_.id_of(o),
                         is_live ? Reason::despawned : Reason::disconnected, false, true});
        }
        views_.forget(entity);
    }
    split_queue_.clear_gone();
    EntityId gathered = EntityId::none;
    split_queue_.settle(
        static_cast<std::uint32_t>(observers_.size()),
        [&](EntityId unit) {
            return table_.slot_of(unit) == no_slot ? EntityId::none : lookup_.top_of(unit);
        },
        [&](std::uint32_t o) { return observers_[o].ready || !views_.of(o).empty(); },
        [&](EntityId top, std::uint32_t o) {
            if (top != gathered) relevance_.gather_split_group(gathered = top, split_group_);
            report_split_group(o, split_group_);
        });
    release_split_group();
}

/// Drops the stored views of released cull groups: windows and facts decide about them from now on.
void SplitGroups::release_split_group() {
    for (const EntityId unit : split_queue_.take_released()) {
        if (table_.slot_of(unit) == no_slot || lookup_.is_split_group_unit(unit)) continue;
        lookup_.for_each_member(unit, true, [&](EntityId entity) { views_.forget(entity); });
    }
}

/// Queues all partly split groups, because steps of the new rules may hide other entities than the
/// old ones.
void SplitGroups::touch_split_groups() {
    split_queue_.touch(splits_.units());
}

/// Queues all partly split groups for one observer: an override that shows an independently culled
/// member also shows its ancestors, which have no override of their own.
void SplitGroups::touch_split_groups(std::uint32_t o) {
    for (const EntityId unit : splits_.units()) {
        PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);  // it is a cull group
        edits_.touch_split_group(o, unit);
    }
}

Status SplitGroups::join_split(EntityId member, EntityId root, EntityId parent) {
    PURVIEW_ASSERT(table_.slot_of(member) != no_slot && !lookup_.is_member(member));
    if (member == root || !lookup_.is_known(parent) || lookup_.top_of(parent) != root ||
        lookup_.is_under(parent, member))
        return Status::bad_argument;
    if (splits_.parent_of(member) == parent) return Status::ok;
    edits_.edit_split_group({member, parent}, [&] { splits_.link(member, parent); });
    return Status::ok;
}

/// The member keeps its state and everything below it.
void SplitGroups::leave_split(EntityId member) {
    PURVIEW_ASSERT(splits_.parent_of(member) != EntityId::none);
    edits_.edit_split_group({member}, [&] { splits_.unlink(member); });
}

}  // namespace purview
