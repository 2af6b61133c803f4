// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A map from entities to small values. The key is the full id, index and generation, so an entity
// never finds the value of an earlier entity with the same index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/flat_map.hpp"
#include "purview/types.hpp"

namespace purview {

/// Cannot be iterated. Every id may be looked up; EntityId::none is never found.
template <class Value>
class EntityMap {
  public:
    std::size_t size() const noexcept { return map_.size(); }
    std::size_t memory_bytes() const noexcept { return map_.memory_bytes(); }

    Value* find(EntityId entity) noexcept {
        return const_cast<Value*>(static_cast<const EntityMap*>(this)->find(entity));
    }
    const Value* find(EntityId entity) const noexcept {
        return entity == EntityId::none || map_.size() == 0 ? nullptr : map_.find(entity);
    }
    bool contains(EntityId entity) const noexcept { return find(entity) != nullptr; }
    void prefetch(EntityId entity) const noexcept { map_.prefetch(entity); }

    /// Returns the value of the entity; a new value is default-constructed. Invalidates pointers.
    /// `entity` must not be none.
    Value& operator[](EntityId entity) { return map_[entity]; }
    /// Returns the value, and true if it is new.
    std::pair<Value*, bool> find_or_make(EntityId entity) { return map_.find_or_make(entity); }
    /// Returns whether the entity was in the map.
    bool erase(EntityId entity) noexcept {
        return entity != EntityId::none && map_.size() != 0 && map_.erase(entity);
    }
    void clear() noexcept { map_.clear(); }
    void reserve(std::size_t count) { map_.reserve(count); }

  private:
    FlatMap<EntityId, Value, EntityId::none> map_;
};

}  // namespace purview
