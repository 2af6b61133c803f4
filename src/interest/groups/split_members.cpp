// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups with split members ("mixed" ones). A split member is a unit of its own with a slot of its
// own; what its unit comes to depends on the units above it, and, where it promotes them, theirs on
// it. Facts and windows of such units are not told as they change: they only note who is touched.
// When the tick's facts and windows are final, each touched group is judged once for each touched
// observer, from its roots to its leaves, and compared with what he was told. So promotion and a
// unit's own bit may toggle in one tick, and whoever joins or leaves meanwhile is told once.
#include <algorithm>
#include <array>

#include "interest/edits.hpp"
#include "interest/groups/judge_group.hpp"

namespace purview {

// -- structure ------------------------------------------------------------------------------------

bool InterestData::is_split_kind(EntityId entity) const noexcept {
    const KindRules* kind = rules_of_kind(entity);
    return kind != nullptr && kind->culled_independently;
}

EntityId InterestData::parent_of(EntityId entity) const noexcept {
    if (!is_member(entity)) return splits_.parent_of(entity);
    return groups_.parent_of(entity);
}

/// The root of the whole group.
EntityId InterestData::top_of(EntityId entity) const noexcept {
    EntityId unit = unit_of(entity);
    for (EntityId above = splits_.parent_of(unit); above != EntityId::none;
         above = splits_.parent_of(unit))
        unit = unit_of(above);
    return unit;
}

/// In its whole group, not only in its unit.
bool InterestData::is_under(EntityId entity, EntityId top) const noexcept {
    while (entity != top && entity != EntityId::none) entity = parent_of(entity);
    return entity == top;
}

/// Its group has split members, or had some this tick.
bool InterestData::is_mixed_unit(EntityId unit) const noexcept {
    if (split_queue_.is_released(unit)) return true;
    if (!splits_.any() || table_.slot_of(unit) == no_slot) return false;
    if (splits_.parent_of(unit) != EntityId::none || !splits_.below(unit).empty()) return true;
    const std::span<const EntityId> members = groups_.members_of(unit);
    return std::any_of(members.begin(), members.end(),
                       [&](EntityId member) { return !splits_.below(member).empty(); });
}

/// All units of a group, those above first.
void InterestData::gather_mixed(EntityId top, std::vector<MixedUnit>& out) const {
    PURVIEW_ASSERT(splits_.parent_of(top) == EntityId::none);
    out.clear();
    out.push_back({top, EntityId::none, 0, false, false});
    for (std::uint32_t i = 0; i < out.size(); ++i) {
        const EntityId unit = out[i].unit;
        out[i].hides = is_hidden_by_rules(unit);
        const KindRules* kind = rules_of_kind(unit);
        out[i].promotes = kind != nullptr && kind->keeps_ancestors;
        for_each_member(unit, true, [&](EntityId member) {
            for (const EntityId split : splits_.below(member))
                out.push_back({split, member, i, false, false});
        });
    }
}

// -- what a group comes to ------------------------------------------------------------------------

/// What is said of the unit by hand, and of all below it.
PairFacts InterestData::facts_with_below(std::uint32_t o, EntityId unit) const {
    PairFacts facts = facts_of(o, unit, table_.slot_of(unit));
    for_each_member(unit, true, [&](EntityId member) {
        for (const EntityId split : splits_.below(member))
            facts.take_shown(facts_with_below(o, split));
    });
    return facts;
}

/// As has_entry, of split members below members from `top` down.
bool InterestData::has_entry_below(std::uint32_t o, EntityId unit, EntityId top,
                                   bool owners_only) const noexcept {
    const std::span<const EntityId> members = groups_.members_of(unit);
    return std::any_of(members.begin(), members.end(), [&](EntityId member) {
        const auto splits = splits_.below(member);
        return !splits.empty() && groups_.is_below(member, top) &&
               std::any_of(splits.begin(), splits.end(), [&](EntityId split) {
                   const PairFacts facts = facts_with_below(o, split);
                   return facts.owned || (!owners_only && (facts.allowed || facts.shown_to_all));
               });
    });
}

/// Members of a unit are hidden or not as they are in any other; so is whoever is below them.
bool InterestData::is_open_way(std::uint32_t o, EntityId unit, EntityId member) const noexcept {
    return member == unit || !has_cuts(unit) || !is_cut(o, unit, member);
}

/// As facts and windows have it.
void InterestData::judge_mixed(std::uint32_t o, std::span<const MixedUnit> group,
                               std::vector<MixedAnswer>& out) const {
    judge_group(o, group, out, [&](std::size_t i, const PairFacts& below) {
        const EntityId unit = group[i].unit;
        const Slot slot = table_.slot_of(unit);
        const PairEntry* pair = pairs_.find(o, unit);
        UnitSays says{facts_of(o, slot, pair), false, group[i].hides};
        says.facts.take_shown(below);
        if (says.facts.decide(false) == Stage::no_node)
            says.nodes = in_window(o, unit) || x_holds(o, unit, slot, pair, says.facts);
        return says;
    });
}

Reason InterestData::reason_in_mixed(std::uint32_t o, EntityId entity, const MixedAnswer& unit,
                                     bool is_cut_off, bool enter) const {
    if (!enter && !observers_.is_live(o)) return Reason::disconnected;
    if (!enter) return unit.hidden || is_cut_off ? Reason::hidden : Reason::left;
    if (unit.stage == Stage::owned) return Reason::owned;
    if (unit.stage == Stage::shown_to_all || unit.stage == Stage::allowed) return Reason::forced;
    if (unit.stage == Stage::promoted) return Reason::promoted;
    return spawned_.contains(index_of(entity)) ? Reason::spawned : Reason::entered;
}

/// The same from scratch.
Reason InterestData::reason_in_mixed(std::uint32_t o, EntityId entity, bool enter) const {
    std::vector<MixedUnit> group;
    std::vector<MixedAnswer> answers;
    const EntityId unit = unit_of(entity);
    const std::size_t at = judge_mixed(o, unit, group, answers);
    return reason_in_mixed(o, entity, answers[at], !is_open_way(o, unit, entity), enter);
}

/// Judges the group of the unit; where the unit is in it.
std::size_t InterestData::judge_mixed(std::uint32_t o, EntityId unit, std::vector<MixedUnit>& group,
                                      std::vector<MixedAnswer>& answers) const {
    gather_mixed(top_of(unit), group);
    judge_mixed(o, group, answers);
    const auto at = std::find_if(group.begin(), group.end(),
                                 [&](const MixedUnit& one) { return one.unit == unit; });
    PURVIEW_ASSERT(at != group.end());
    return static_cast<std::size_t>(at - group.begin());
}

// -- telling --------------------------------------------------------------------------------------

/// Whoever is not told by this file has what windows and facts say.
void InterestData::take_views(EntityId entity) {
    const EntityId unit = unit_of(entity);
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (is_seen(o, unit) && is_open_way(o, unit, entity)) views_.set(o, {entity, true, true});
    }
}

/// Minimum stays of units, by their own answers.
bool InterestData::keep_stays(std::uint32_t o, std::span<const MixedUnit> group,
                              std::span<const MixedAnswer> answers) {
    bool any_held = false;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const EntityId unit = group[i].unit;
        const MixedAnswer& now = answers[i];
        const bool was = views_.of(o, unit).own;
        if (was && !now.own) any_held |= hold(o, unit);
        if (was || now.stage != Stage::node || group[i].hides) continue;
        // Who is about to leave was there when the tick began: he comes back, and gains nothing.
        const ExplicitChange* change = changes_.find(o, unit, observers_.size());
        if (change == nullptr || change->enter)
            minimum_relevance_.begin(o, unit, tick_, rules_.minimum_relevance_ticks);
    }
    return any_held;
}

void InterestData::tell_mixed(std::uint32_t o, std::span<const MixedUnit> group) {
    std::vector<MixedAnswer>& answers = mixed_answers_;
    judge_mixed(o, group, answers);
    if (rules_.minimum_relevance_ticks > 0 && keep_stays(o, group, answers))
        judge_mixed(o, group, answers);
    const auto tell = [&](std::size_t i, EntityId entity, bool enter) {
        const EntityId unit = group[i].unit;
        const bool is_open = is_open_way(o, unit, entity);
        const bool now = answers[i].shown && is_open;
        if (now != enter || views_.of(o, entity).seen == now || cancel_change(o, entity, enter))
            return;
        events_.add({entity, id_of(o), reason_in_mixed(o, entity, answers[i], !is_open, enter),
                     enter, true});
    };
    for (std::size_t i = group.size(); i-- > 0;)
        for_each_member(group[i].unit, false, [&](EntityId entity) { tell(i, entity, false); });
    for (std::size_t i = 0; i < group.size(); ++i)
        for_each_member(group[i].unit, true, [&](EntityId entity) { tell(i, entity, true); });
    for (std::size_t i = 0; i < group.size(); ++i) {
        for_each_member(group[i].unit, true, [&](EntityId entity) {
            const bool now = answers[i].shown && is_open_way(o, group[i].unit, entity);
            views_.set(o, {entity, now, entity == group[i].unit ? answers[i].own : now});
        });
    }
}

/// Every touched group once for each touched observer; those who are gone first.
void InterestData::settle_mixed() {
    for (const EntityId entity : split_queue_.gone()) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (!views_.of(o, entity).seen || cancel_change(o, entity, false)) continue;
            const bool is_live = observers_.is_live(o);
            events_.add({entity, id_of(o), is_live ? Reason::despawned : Reason::disconnected,
                         false, true});
        }
        views_.forget(entity);
    }
    split_queue_.clear_gone();
    EntityId gathered = EntityId::none;
    split_queue_.settle(
        static_cast<std::uint32_t>(observers_.size()),
        [&](EntityId unit) {
            return table_.slot_of(unit) == no_slot ? EntityId::none : top_of(unit);
        },
        [&](std::uint32_t o) { return observers_[o].ready || !views_.of(o).empty(); },
        [&](EntityId top, std::uint32_t o) {
            if (top != gathered) gather_mixed(gathered = top, mixed_group_);
            tell_mixed(o, mixed_group_);
        });
    release_mixed();
}

/// From now on windows and facts say of them what is told.
void InterestData::release_mixed() {
    for (const EntityId unit : split_queue_.take_released()) {
        if (table_.slot_of(unit) == no_slot || is_mixed_unit(unit)) continue;
        for_each_member(unit, true, [&](EntityId entity) { views_.forget(entity); });
    }
}

/// Some steps of other rules may hide whom the old ones did not.
void InterestData::touch_all_mixed() {
    split_queue_.touch(splits_.units());
}

/// What shows a split member shows those above it, of whom nothing is said.
void InterestData::touch_all_mixed(std::uint32_t o) {
    for (const EntityId unit : splits_.units()) {
        PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);  // a split member is a unit
        touch_mixed(o, unit);
    }
}

// -- joining and leaving --------------------------------------------------------------------------

Status InterestData::join_split(EntityId member, EntityId root, EntityId parent) {
    PURVIEW_ASSERT(table_.slot_of(member) != no_slot && !is_member(member));
    if (member == root || !is_known(parent) || top_of(parent) != root || is_under(parent, member))
        return Status::bad_argument;
    if (splits_.parent_of(member) == parent) return Status::ok;
    edit_mixed({member, parent}, [&] { splits_.link(member, parent); });
    return Status::ok;
}

/// It keeps what it is, and all below it.
void InterestData::leave_split(EntityId member) {
    PURVIEW_ASSERT(splits_.parent_of(member) != EntityId::none);
    edit_mixed({member}, [&] { splits_.unlink(member); });
}

// -- explaining -----------------------------------------------------------------------------------

/// Of its group the topmost that keeps it away decides, or else its own unit.
void InterestData::explain_mixed(std::uint32_t o, EntityId entity, Explanation& out) const {
    std::vector<MixedUnit> group;
    std::vector<MixedAnswer> answers;
    std::size_t at = judge_mixed(o, unit_of(entity), group, answers);
    out.knows_changes = false;
    out.relevant = answers[at].shown && is_open_way(o, group[at].unit, entity);
    out.stage = answers[at].stage;
    if (out.stage == Stage::promoted) out.promoted_by = answers[at].promoted_by;
    for (EntityId member = entity; !out.relevant;) {
        const EntityId unit = group[at].unit;
        const EntityId cut =
            is_open_way(o, unit, member) ? EntityId::none : cut_by(o, unit, member);
        if (cut != EntityId::none) {
            out.unit = out.hidden_member = cut;
            out.stage = cut_of(o, unit, cut);
        }
        if (!is_yes(answers[at].stage)) {
            out.unit = unit;
            out.stage = answers[at].stage;
            out.hidden_member = EntityId::none;
        }
        if (at == 0) break;
        member = group[at].parent;
        at = group[at].above;
    }
}

}  // namespace purview
