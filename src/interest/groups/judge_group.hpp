// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a group with split members comes to, from what each of its units says: as it is in the tick
// (split_members.cpp), or as it would be (explain.cpp). Part of InterestData.
#pragma once

#include "interest/edits.hpp"

namespace purview {

/// `ask(i, below)`: what unit i says, where `below` is what shows those below it; its facts with
/// that. Whether nodes say yes counts only if its facts leave it to them.
template <class Ask>
void InterestData::judge_group(std::uint32_t o, std::span<const MixedUnit> group,
                               std::vector<MixedAnswer>& out, Ask&& ask) const {
    out.assign(group.size(), {});
    for (std::size_t i = group.size(); i-- > 0;) {
        PURVIEW_ASSERT(i == 0 || group[i].above < i);  // those above come first
        MixedAnswer& answer = out[i];                  // holds what those below it said
        const UnitSays says = ask(i, answer.facts);
        answer.facts = says.facts;
        answer.stage = says.facts.decide(says.nodes);
        answer.own = is_yes(answer.stage);
        answer.hidden = says.hides;
        const bool is_left_to_nodes = answer.stage == Stage::no_node || answer.stage == Stage::node;
        if (!is_left_to_nodes || says.hides) answer.promoted_by = EntityId::none;
        if (answer.stage == Stage::node && group[i].promotes) answer.promoted_by = group[i].unit;
        if (answer.stage == Stage::no_node && answer.promoted_by != EntityId::none)
            answer.stage = Stage::promoted;
        if (i == 0) continue;
        MixedAnswer& above = out[group[i].above];
        above.facts.take_shown(says.facts);
        if (answer.promoted_by != EntityId::none &&
            is_open_way(o, group[group[i].above].unit, group[i].parent))
            above.promoted_by = answer.promoted_by;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        MixedAnswer& answer = out[i];
        const Stage stage = answer.stage;
        answer.shown = is_yes(stage);
        answer.hidden |= stage == Stage::not_ready || stage == Stage::denied ||
                         stage == Stage::force_hidden || stage == Stage::explicit_only;
        if (i == 0) continue;
        const MixedAnswer& above = out[group[i].above];
        const bool is_open = is_open_way(o, group[group[i].above].unit, group[i].parent);
        if (above.shown && is_open) continue;
        answer.shown = false;
        answer.hidden |= !is_open || above.hidden;
    }
}

}  // namespace purview
