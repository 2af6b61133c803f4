// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Independently culled members: their parents, and which members of partly split groups each
// observer has. Must not depend on why anything is relevant (edits/split_groups.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/entity_map.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// Cull groups that are below a member of another cull group.
class SplitLinks {
  public:
    bool any() const noexcept { return links_.size() > 0; }
    /// Returns all independently culled members that are in a group, in no order.
    std::span<const EntityId> units() const noexcept { return units_; }
    /// Returns EntityId::none if the cull group has no parent.
    EntityId parent_of(EntityId unit) const noexcept {
        if (!any()) return EntityId::none;
        const Link* link = links_.find(unit);
        return link != nullptr ? link->parent : EntityId::none;
    }
    /// Returns the independently culled members directly below `parent`, in the order in which they
    /// joined.
    std::span<const EntityId> below(EntityId parent) const noexcept {
        const std::uint32_t* list = any() ? list_of_.find(parent) : nullptr;
        if (list == nullptr) return {};
        return lists_[*list];
    }
    void link(EntityId unit, EntityId parent) {
        PURVIEW_ASSERT(unit != EntityId::none && parent != EntityId::none && unit != parent);
        unlink(unit);
        links_[unit] = {parent, units_.size()};
        units_.push_back(unit);
        if (!list_of_.contains(parent)) {
            if (free_.empty()) {
                free_.push_back(static_cast<std::uint32_t>(lists_.size()));
                lists_.emplace_back();
            }
            PURVIEW_ASSERT(lists_[free_.back()].empty());
            list_of_[parent] = free_.back();
            free_.pop_back();
        }
        lists_[list_of_[parent]].push_back(unit);
    }
    void unlink(EntityId unit) {
        const EntityId parent = parent_of(unit);
        if (parent == EntityId::none) return;
        const std::uint32_t list = *list_of_.find(parent);
        std::erase(lists_[list], unit);
        const std::size_t at = links_.find(unit)->at;
        PURVIEW_ASSERT(at < units_.size() && units_[at] == unit);
        links_.find(units_.back())->at = at;
        units_[at] = units_.back();
        units_.pop_back();
        links_.erase(unit);
        if (!lists_[list].empty()) return;
        list_of_.erase(parent);
        free_.push_back(list);
    }
    /// Moves all members directly below `from` to `to`.
    void reparent(EntityId from, EntityId to) {
        PURVIEW_ASSERT(from != to);
        while (!below(from).empty()) link(below(from).front(), to);
    }
    /// Asserts that links, cull groups and lists agree.
    void validate() const {
        std::size_t linked = 0, parents = 0;
        for (const std::vector<EntityId>& list : lists_) {
            linked += list.size();
            parents += list.empty() ? 0U : 1U;
        }
        PURVIEW_ASSERT(linked == units_.size() && linked == links_.size());
        PURVIEW_ASSERT(parents == list_of_.size() && parents + free_.size() == lists_.size());
        for (std::size_t at = 0; at < units_.size(); ++at) {
            const Link* link = links_.find(units_[at]);
            PURVIEW_ASSERT(link != nullptr && link->at == at);
            const std::span<const EntityId> its = below(link->parent);
            PURVIEW_ASSERT(std::find(its.begin(), its.end(), units_[at]) != its.end());
        }
    }

  private:
    struct Link {
        EntityId parent = EntityId::none;
        std::size_t at = 0;  ///< in units_
    };
    std::vector<EntityId> units_;
    EntityMap<Link> links_;             ///< by independently culled member
    EntityMap<std::uint32_t> list_of_;  ///< by parent: an index into lists_
    std::vector<std::vector<EntityId>> lists_;
    std::vector<std::uint32_t> free_;
};

/// Which members of partly split groups each observer has. For all other entities this follows from
/// windows, rows and pairs. The result of a partly split group does not, so it is stored.
class GroupViews {
  public:
    struct View {
        EntityId entity = EntityId::none;
        bool seen = false;  ///< the observer has the entity
        bool own = false;   ///< for a cull group: relevant without the rest of its group
    };
    View of(std::uint32_t observer, EntityId entity) const noexcept {
        if (observer >= by_observer_.size()) return {};
        const auto& views = by_observer_[observer];
        const auto at = std::lower_bound(views.begin(), views.end(), entity, before);
        return at != views.end() && at->entity == entity ? *at : View{};
    }
    void set(std::uint32_t observer, const View& view) {
        PURVIEW_ASSERT(view.entity != EntityId::none);
        if (by_observer_.size() <= observer) by_observer_.resize(observer + 1);
        auto& views = by_observer_[observer];
        const auto at = std::lower_bound(views.begin(), views.end(), view.entity, before);
        const bool is_there = at != views.end() && at->entity == view.entity;
        const bool is_empty = !view.seen && !view.own;
        if (is_there && is_empty) {
            views.erase(at);
        } else if (is_there) {
            *at = view;
        } else if (!is_empty) {
            views.insert(at, view);
        }
    }
    void forget(EntityId entity) {
        for (std::uint32_t o = 0; o < by_observer_.size(); ++o) set(o, {entity, false, false});
    }
    std::span<const View> of(std::uint32_t observer) const noexcept {
        if (observer >= by_observer_.size()) return {};
        return by_observer_[observer];
    }
    /// Asserts that views ascend and that none is empty. O(views).
    void validate() const {
        for (const std::vector<View>& views : by_observer_) {
            for (std::size_t i = 0; i < views.size(); ++i) {
                PURVIEW_ASSERT(i == 0 || views[i - 1].entity < views[i].entity);
                PURVIEW_ASSERT(views[i].seen || views[i].own);
            }
        }
    }

  private:
    static bool before(const View& view, EntityId entity) noexcept { return view.entity < entity; }
    std::vector<std::vector<View>> by_observer_;  ///< each ascending by entity
};

}  // namespace purview
