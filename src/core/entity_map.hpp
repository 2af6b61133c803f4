// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A map from entities to small values. The key is the whole id, index and generation: a record of
// an entity that is gone is never found by the entity that has its index now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/flat_map.hpp"
#include "purview/types.hpp"

namespace purview {

/// Never iterated. Ids may be anything; EntityId::none is never found.
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

    /// The value of the entity, default-made where there was none. Invalidates pointers. `entity`
    /// is not none.
    Value& operator[](EntityId entity) { return map_[entity]; }
    /// Returns the value, and whether there was none.
    std::pair<Value*, bool> find_or_make(EntityId entity) { return map_.find_or_make(entity); }
    /// Returns whether it was there.
    bool erase(EntityId entity) noexcept {
        return entity != EntityId::none && map_.size() != 0 && map_.erase(entity);
    }
    void clear() noexcept { map_.clear(); }
    void reserve(std::size_t count) { map_.reserve(count); }

  private:
    FlatMap<EntityId, Value, EntityId::none> map_;
};

}  // namespace purview
