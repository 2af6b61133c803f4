// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/groups/group_store.hpp"

#include "purview/status.hpp"

namespace purview {

bool GroupStore::is_below(EntityId member, EntityId top) const noexcept {
    while (member != top) {
        const EntityId* parent = parent_of_.find(member);
        if (parent == nullptr) return false;
        member = *parent;
    }
    return true;
}

void GroupStore::add(EntityId member, EntityId unit, EntityId parent) {
    PURVIEW_ASSERT(member != unit && parent != EntityId::none && parent != member);
    PURVIEW_ASSERT(!is_member(unit) && !has_members(member));
    PURVIEW_ASSERT(unit_of(parent) == unit);
    if (!list_of_.contains(unit)) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(lists_.size()));
            lists_.emplace_back();
        }
        PURVIEW_ASSERT(lists_[free_lists_.back()].empty());
        list_of_[unit] = free_lists_.back();
        free_lists_.pop_back();
    }
    lists_[*list_of_.find(unit)].push_back(member);
    unit_of_[member] = unit;
    parent_of_[member] = parent;
    indices_[index_of(member)] = 1;
    PURVIEW_ASSERT(unit_of_.size() == parent_of_.size() && unit_of_.size() == indices_.size());
}

EntityId GroupStore::remove(EntityId member) {
    PURVIEW_ASSERT(is_member(member));
    const EntityId unit = unit_of(member), parent = parent_of(member);
    auto& members = lists_[*list_of_.find(unit)];
    const auto at = std::find(members.begin(), members.end(), member);
    PURVIEW_ASSERT(at != members.end());
    members.erase(at);
    for (const EntityId other : members) {
        EntityId& its = *parent_of_.find(other);
        if (its == member) its = parent;
    }
    if (members.empty()) drop_list(unit);
    unit_of_.erase(member);
    parent_of_.erase(member);
    indices_.erase(index_of(member));
    PURVIEW_ASSERT(unit_of_.size() == parent_of_.size() && unit_of_.size() == indices_.size());
    return parent;
}

void GroupStore::drop_list(EntityId unit) {
    const std::uint32_t* list = list_of_.find(unit);
    if (list == nullptr) return;
    lists_[*list].clear();
    free_lists_.push_back(*list);
    list_of_.erase(unit);
}

void GroupStore::set_marks(EntityId member, const MemberMarks& marks) {
    if (marks.is_empty()) {
        marks_.erase(member);
    } else {
        marks_[member] = marks;
    }
}

UnitMarks GroupStore::add_unit_marks(EntityId unit, int cuts, int shows) {
    UnitMarks& marks = unit_marks_[unit];
    marks.cuts += static_cast<std::uint32_t>(cuts);
    marks.shows += static_cast<std::uint32_t>(shows);
    const UnitMarks now = marks;
    // No count was decremented more often than incremented.
    PURVIEW_ASSERT(static_cast<std::int32_t>(now.cuts) >= 0);
    PURVIEW_ASSERT(static_cast<std::int32_t>(now.shows) >= 0);
    if (now.cuts == 0 && now.shows == 0) unit_marks_.erase(unit);
    return now;
}

void GroupStore::validate() const {
    std::size_t members = 0, units = 0;
    for (std::uint32_t l = 0; l < lists_.size(); ++l) {
        const std::vector<EntityId>& list = lists_[l];
        members += list.size();
        units += list.empty() ? 0U : 1U;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const EntityId parent = parent_of(list[i]);
            const bool is_above =
                parent == unit_of(list[i]) ||
                std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), parent) !=
                    list.begin() + static_cast<std::ptrdiff_t>(i);
            PURVIEW_ASSERT(is_above);
            PURVIEW_ASSERT(is_member_index(index_of(list[i])));
            const std::uint32_t* its = list_of_.find(unit_of(list[i]));
            PURVIEW_ASSERT(its != nullptr && *its == l);
            PURVIEW_ASSERT(!has_members(list[i]));
        }
    }
    PURVIEW_ASSERT(members == unit_of_.size() && members == parent_of_.size());
    PURVIEW_ASSERT(members == indices_.size());
    PURVIEW_ASSERT(units == list_of_.size() && units + free_lists_.size() == lists_.size());
}

}  // namespace purview
