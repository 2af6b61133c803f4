// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities that take the position of another one (InterestManager::set_position_source).
//
// Invariants: an entity has at most one source; `entities()` has each entity with a source once, in
// the order in which they got one; `followers` is the inverse of the sources. Sources may form
// chains and, through groups, cycles: a loop along them must be bounded by size(). Must not depend
// on positions in the table or on groups.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/entity_map.hpp"
#include "purview/types.hpp"

namespace purview {

struct PositionSource {
    EntityId other = EntityId::none;
    Vec3 own_position;  ///< restored when the source is removed; horizontal axes first
    bool was_abstract = false;
};

class PositionSources {
  public:
    /// Maximum number of links in a chain that a caller can make.
    static constexpr std::size_t links_max = 8;

    std::size_t size() const noexcept { return entities_.size(); }
    bool empty() const noexcept { return entities_.empty(); }
    std::span<const EntityId> entities() const noexcept { return entities_; }
    PositionSource* find(EntityId entity) noexcept { return sources_.find(entity); }
    const PositionSource* find(EntityId entity) const noexcept { return sources_.find(entity); }
    bool contains(EntityId entity) const noexcept { return sources_.contains(entity); }
    /// Returns the entities that use `other` as their source.
    std::span<const EntityId> followers(EntityId other) const noexcept;

    /// Adds a source to an entity that has none.
    void add(EntityId entity, const PositionSource& source);
    /// Changes the source of an entity that has one.
    void change(EntityId entity, EntityId other);
    /// Removes the source of an entity, if it has one. O(size()).
    void erase(EntityId entity);
    /// Asserts the invariants. O(size()^2).
    void validate() const;

  private:
    void unfollow(EntityId entity, EntityId other);

    EntityMap<PositionSource> sources_;
    std::vector<EntityId> entities_;
    std::unordered_map<EntityId, std::vector<EntityId>> followers_;
};

}  // namespace purview
