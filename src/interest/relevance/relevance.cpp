// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/relevance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/prefetch.hpp"
#include "core/run_chunks.hpp"
#include "core/trim.hpp"
#include "core/validate.hpp"
#include "purview/status.hpp"

namespace purview {

/// Collects all cull groups of a group, ancestors first.
void Relevance::gather_split_group(EntityId top, std::vector<SplitGroupUnit>& out) const {
    PURVIEW_ASSERT(splits_.parent_of(top) == EntityId::none);
    out.clear();
    out.push_back({top, EntityId::none, 0, false, false});
    for (std::uint32_t i = 0; i < out.size(); ++i) {
        const EntityId unit = out[i].unit;
        out[i].hides = explicit_.is_hidden_by_rules(unit);
        const KindRules* kind = lookup_.rules_of_kind(unit);
        out[i].promotes = kind != nullptr && kind->keeps_ancestors;
        lookup_.for_each_member(unit, true, [&](EntityId member) {
            for (const EntityId split : splits_.below(member))
                out.push_back({split, member, i, false, false});
        });
    }
}

/// Returns the facts of the cull group, including those that show cull groups below it.
PairFacts Relevance::facts_with_below(std::uint32_t o, EntityId unit) const {
    PairFacts facts = explicit_.facts_of(o, unit, table_.slot_of(unit));
    lookup_.for_each_member(unit, true, [&](EntityId member) {
        for (const EntityId split : splits_.below(member))
            facts.take_shown(facts_with_below(o, split));
    });
    return facts;
}

/// Like has_entry(), for independently culled members below the members from `top` down.
bool Relevance::has_entry_below(std::uint32_t o, EntityId unit, EntityId top,
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

/// Returns whether no override hides the member or an entity above it, within the cull group.
bool Relevance::is_path_open(std::uint32_t o, EntityId unit, EntityId member) const noexcept {
    return member == unit || !lookup_.has_cuts(unit) || !is_cut(o, unit, member);
}

/// Evaluates the group by the current facts and windows.
void Relevance::evaluate_split_group(std::uint32_t o, std::span<const SplitGroupUnit> group,
                                     std::vector<SplitGroupResult>& out) const {
    evaluate_group(o, group, out, [&](std::size_t i, const PairFacts& below) {
        const EntityId unit = group[i].unit;
        const Slot slot = table_.slot_of(unit);
        const PairEntry* pair = pairs_.find(o, unit);
        UnitResult result{explicit_.facts_of(o, slot, pair), false, group[i].hides};
        result.facts.take_shown(below);
        if (result.facts.decide(false) == Stage::no_node)
            result.nodes = explicit_.in_window(o, unit) ||
                           explicit_.is_explicitly_relevant(o, unit, slot, pair, result.facts);
        return result;
    });
}

Reason Relevance::reason_in_split_group(std::uint32_t o, EntityId entity,
                                        const SplitGroupResult& unit, bool is_cut_off,
                                        bool enter) const {
    if (!enter && !observers_.is_live(o)) return Reason::disconnected;
    if (!enter) return unit.hidden || is_cut_off ? Reason::hidden : Reason::left;
    if (unit.stage == Stage::owned) return Reason::owned;
    if (unit.stage == Stage::shown_to_all || unit.stage == Stage::allowed) return Reason::forced;
    if (unit.stage == Stage::promoted) return Reason::promoted;
    return spawned_.contains(index_of(entity)) ? Reason::spawned : Reason::entered;
}

/// Evaluates the group first.
Reason Relevance::reason_in_split_group(std::uint32_t o, EntityId entity, bool enter) const {
    std::vector<SplitGroupUnit> group;
    std::vector<SplitGroupResult> answers;
    const EntityId unit = lookup_.unit_of(entity);
    const std::size_t at = evaluate_split_group(o, unit, group, answers);
    return reason_in_split_group(o, entity, answers[at], !is_path_open(o, unit, entity), enter);
}

/// Evaluates the whole group of a cull group. Returns the index of the cull group in it.
std::size_t Relevance::evaluate_split_group(std::uint32_t o, EntityId unit,
                                            std::vector<SplitGroupUnit>& group,
                                            std::vector<SplitGroupResult>& answers) const {
    gather_split_group(lookup_.top_of(unit), group);
    evaluate_split_group(o, group, answers);
    const auto at = std::find_if(group.begin(), group.end(),
                                 [&](const SplitGroupUnit& one) { return one.unit == unit; });
    PURVIEW_ASSERT(at != group.end());
    return static_cast<std::size_t>(at - group.begin());
}

/// Explains by the topmost cause that hides the entity, or by its own cull group if there is none.
void Relevance::explain_split_group(std::uint32_t o, EntityId entity, Explanation& out) const {
    std::vector<SplitGroupUnit> group;
    std::vector<SplitGroupResult> answers;
    std::size_t at = evaluate_split_group(o, lookup_.unit_of(entity), group, answers);
    out.are_changes_known = false;
    out.relevant = answers[at].shown && is_path_open(o, group[at].unit, entity);
    out.stage = answers[at].stage;
    if (out.stage == Stage::promoted) out.promoted_by = answers[at].promoted_by;
    for (EntityId member = entity; !out.relevant;) {
        const EntityId unit = group[at].unit;
        const EntityId cut =
            is_path_open(o, unit, member) ? EntityId::none : cut_by(o, unit, member);
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

bool Relevance::is_visible(std::uint32_t o, EntityId entity) const noexcept {
    const EntityId unit = lookup_.unit_of(entity);
    if (lookup_.is_split_group(unit)) return observers_[o].ready && views_.of(o, entity).seen;
    if (!explicit_.is_seen(o, unit)) return false;
    return unit == entity || !lookup_.has_cuts(unit) || !is_cut(o, unit, entity);
}

/// Returns whether the observer owns the root or a member from `top` down. Without `owners_only`,
/// members that are allowed or shown count, too.
bool Relevance::has_entry(std::uint32_t o, EntityId unit, EntityId top,
                          bool owners_only) const noexcept {
    const auto owns = [&](EntityId entity) {
        return ownership_.shows(entity, observers_.id_of(o));
    };
    if (owns(unit)) return true;
    const std::span<const EntityId> members = groups_.members_of(unit);
    if (members.empty()) return false;
    if (splits_.any() && has_entry_below(o, unit, top, owners_only)) return true;
    for (const EntityId member : members) {
        bool counts = owns(member);
        if (!counts && !owners_only) {
            const PairEntry* pair = pairs_.find(o, member);
            const MemberMarks* marks = groups_.marks_of(member);
            counts = (pair != nullptr && pair->allow) || (marks != nullptr && marks->shows());
        }
        if (counts && groups_.is_below(member, top)) return true;
    }
    return false;
}

/// Returns what hides this member and all below it: denied, force_hidden or explicit_only. Returns
/// Stage::node if nothing does.
Stage Relevance::cut_of(std::uint32_t o, EntityId unit, EntityId one) const noexcept {
    const PairEntry* pair = pairs_.find(o, one);
    if (pair != nullptr && pair->deny) return Stage::denied;
    const MemberMarks* marks = groups_.marks_of(one);
    if (marks == nullptr || !marks->cuts()) return Stage::node;
    if (marks->force_hidden && !has_entry(o, unit, one, true)) return Stage::force_hidden;
    const bool is_explicit = marks->mode == EntityMode::explicit_only;
    return is_explicit && !has_entry(o, unit, one, false) ? Stage::explicit_only : Stage::node;
}

/// Returns the topmost hidden entity among the member and its ancestors below the root, or none.
EntityId Relevance::cut_by(std::uint32_t o, EntityId unit, EntityId member) const noexcept {
    EntityId found = EntityId::none;
    for (EntityId one = member; one != unit;) {
        if (cut_of(o, unit, one) != Stage::node) found = one;
        one = groups_.parent_of(one);
        if (one == EntityId::none) break;
    }
    return found;
}

/// Returns the reason of an event, from the state at the end of the tick.
Reason Relevance::reason_of(std::uint32_t o, EntityId entity, bool enter) const {
    if (!enter && !observers_.is_live(o)) return Reason::disconnected;
    if (!enter && !lookup_.is_known(entity)) return Reason::despawned;
    const EntityId unit = lookup_.unit_of(entity);
    if (lookup_.is_split_group(unit)) return reason_in_split_group(o, entity, enter);
    const Slot slot = table_.slot_of(unit);
    const Stage stage = explicit_.facts_of(o, unit, slot).decide(enter);
    if (!enter) {
        const bool hides = stage == Stage::not_ready || stage == Stage::denied ||
                           stage == Stage::force_hidden || stage == Stage::explicit_only ||
                           explicit_.is_hidden_by_rules(unit) ||
                           (lookup_.has_cuts(unit) && is_cut(o, unit, entity));
        return hides ? Reason::hidden : Reason::left;
    }
    if (stage == Stage::owned) return Reason::owned;
    if (stage == Stage::shown_to_all || stage == Stage::allowed) return Reason::forced;
    return spawned_.contains(index_of(entity)) ? Reason::spawned : Reason::entered;
}

}  // namespace purview
