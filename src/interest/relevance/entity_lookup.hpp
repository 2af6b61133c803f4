// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Look-ups of single entities: whether an entity is alive, its kind, keys, position, cull group and
// parents. Only reads the stores.
#pragma once

#include <bit>
#include <span>

#include "interest/stores/interest_stores.hpp"
#include "spatial/move.hpp"

namespace purview {

class EntityLookup {
  public:
    explicit EntityLookup(const InterestStores& stores)
        : rules_(stores.rules),
          table_(stores.table),
          facts_table_(stores.facts_table),
          kinds_(stores.kinds),
          position_sources_(stores.position_sources),
          dormant_(stores.dormant),
          ownership_(stores.ownership),
          groups_(stores.groups),
          splits_(stores.splits),
          split_queue_(stores.split_queue),
          observers_(stores.observers) {}

    EntityId top_of(EntityId entity) const noexcept;
    Vec3 position_of(EntityId entity) const noexcept;
    std::span<const NodeId> nodes_of(EntityId entity) const noexcept;
    bool has_flag(EntityId entity, FlagId flag) const noexcept;
    Key key_of(EntityId entity, KeyId domain) const noexcept;
    Key key_of(EntityId entity, std::size_t domain) const noexcept;
    float value_of(EntityId entity, ValueId value) const noexcept;
    ObserverId owner_of(EntityId entity) const noexcept;
    KindId kind_of(EntityId entity) const noexcept;
    const KindRules* kind_of(KindId kind) const noexcept {
        return index_of(kind) < rules_.kinds.size() ? &rules_.kinds[index_of(kind)] : nullptr;
    }
    bool is_known(EntityId entity) const noexcept;
    bool is_observer(ObserverId observer) const noexcept { return observers_.is_live(observer); }
    EntityId unit_of(EntityId entity) const noexcept { return groups_.unit_of(entity); }
    bool is_member(EntityId entity) const noexcept { return groups_.is_member(entity); }
    /// Visits the cull group and its members: parents first if `enter`, else children first.
    template <class Visit>
    void for_each_member(EntityId unit, bool enter, Visit&& visit) const;
    template <class Visit>
    void for_each_unit(Visit&& visit) const;
    Vec3 inner(Vec3 position) const noexcept { return exchanged(facts_table_.axes, position); }
    /// Returns the rules of the entity's kind, or null.
    const KindRules* rules_of_kind(EntityId entity) const noexcept {
        return kind_of(kinds_.of(index_of(entity)));
    }
    bool has_cuts(EntityId unit) const noexcept { return groups_.has_cuts(unit); }
    bool is_split_kind(EntityId entity) const noexcept;
    EntityId parent_of(EntityId entity) const noexcept;
    bool is_under(EntityId entity, EntityId top) const noexcept;
    /// Returns whether the cull group is in a partly split group. Then only settle_split_groups()
    /// makes its events.
    bool is_split_group(EntityId unit) const noexcept {
        return (splits_.any() || split_queue_.any_released()) && is_split_group_unit(unit);
    }
    bool is_split_group_unit(EntityId unit) const noexcept;
    bool is_routed(EntityId entity) const noexcept;
    /// Returns whether the entity takes its position from the cull group, directly or through
    /// others.
    bool stands_with(EntityId entity, EntityId unit) const noexcept;

  private:
    const Rules& rules_;
    const BlockTable& table_;
    const EntityFacts& facts_table_;
    const EntityKinds& kinds_;
    const PositionSources& position_sources_;
    const EntityMap<Vec3>& dormant_;
    const Ownership& ownership_;
    const GroupStore& groups_;
    const SplitLinks& splits_;
    const SplitQueue& split_queue_;
    const ObserverStore& observers_;
};

template <class Visit>
void EntityLookup::for_each_member(EntityId unit, bool enter, Visit&& visit) const {
    const std::span<const EntityId> members = groups_.members_of(unit);
    if (members.empty()) return visit(unit);
    if (enter) {
        visit(unit);
        for (const EntityId member : members) visit(member);
    } else {
        for (std::size_t i = members.size(); i > 0; --i) visit(members[i - 1]);
        visit(unit);
    }
}

template <class Visit>
void EntityLookup::for_each_unit(Visit&& visit) const {
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        for (Mask rest = table_.occupied(block); rest != 0; rest &= static_cast<Mask>(rest - 1))
            visit(table_.entity(slot_at(block, static_cast<unsigned>(std::countr_zero(rest)))));
    }
}

}  // namespace purview
