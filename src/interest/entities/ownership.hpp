// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which observer owns an entity, and whether owning it makes it relevant (KindRules::owner_sees).
// An owner that was removed stays here: the caller checks whether it is live. Must not depend on
// groups or pairs.
#pragma once

#include <cstdint>

#include "core/entity_map.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class Ownership {
  public:
    /// Returns ObserverId::none if the entity has no owner.
    ObserverId owner_of(EntityId entity) const noexcept {
        const ObserverId* owner = owners_.find(entity);
        return owner == nullptr ? ObserverId::none : *owner;
    }
    void set_owner(EntityId entity, ObserverId owner) {
        if (owner == ObserverId::none) {
            owners_.erase(entity);
        } else {
            owners_[entity] = owner;
        }
    }
    /// Returns whether ownership does not make the entity relevant.
    bool is_blind(EntityId entity) const noexcept { return blind_.contains(entity); }
    void set_blind(EntityId entity, bool value) {
        if (value) {
            blind_[entity] = 1;
        } else {
            blind_.erase(entity);
        }
    }
    /// Returns whether the observer owns the entity and ownership makes it relevant.
    bool shows(EntityId entity, ObserverId observer) const noexcept {
        PURVIEW_ASSERT(observer != ObserverId::none);  // none owns nothing
        return owner_of(entity) == observer && !is_blind(entity);
    }
    void forget(EntityId entity) {
        owners_.erase(entity);
        blind_.erase(entity);
    }

  private:
    EntityMap<ObserverId> owners_;
    EntityMap<std::uint8_t> blind_;
};

}  // namespace purview
