// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Lag compensation: the world as one client saw it, from the server's history of the components
/// that the schema marks (Schema::rewind). Read only. docs/prediction.md
#pragma once

#include <cstdint>
#include <vector>

#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_prediction
/// @{

/// Upper bound of RewindSettings::ticks.
inline constexpr std::uint32_t rewind_ticks_most = 1U << 16;

/// The history of a server; part of ServerDef.
struct RewindSettings {
    /// Ticks of history; 0: one second; at most rewind_ticks_most. There is a history only if the
    /// schema marks a component.
    std::uint32_t ticks = 0;
    /// Cell size of the index over past positions, above 0: about two to four times the distance
    /// that an entity moves in 0.2 s, or the radius of a typical query.
    float cell_size = 8;
    /// Maximum rewind: ticks between the newest snapshot that a client has acknowledged and its
    /// view. An older view is limited to it. A client that delays its acknowledgements looks like
    /// one with a long RTT. The length of the history (`ticks`) also limits the rewind.
    std::uint32_t rewind_ticks_max = 12;
};

/// An entity that a query of the past found.
struct PastHit {
    EntityId entity = EntityId::none;  ///< the entity
    EntityId root = EntityId::none;    ///< its group's root now
    Vec3 position;                     ///< at that tick
    float distance_m = 0;              ///< along the segment from its start, or from the center
};

class RewindData;  // src/server

/// The world as a client saw it at a tick, from Server::rewind. Valid within the callback of the
/// game that created it. All members of a group have the same tick. Entities that the client owns
/// have their current state. Entities that were not relevant to it at that tick, or have been
/// despawned since, are not in the view.
class PastView {
  public:
    /// Returns the server's tick. Between two ticks positions are interpolated; everything else is
    /// that of the earlier one.
    double tick() const noexcept { return tick_; }
    /// Returns the observer of the client.
    ObserverId observer() const noexcept { return observer_; }
    /// Returns whether the entity is in the view.
    bool sees(EntityId entity) const noexcept;
    /// Returns the position; {0, 0, 0} for an entity that is not in the view.
    Vec3 position_of(EntityId entity) const noexcept;
    /// Returns a component; null for an entity that is not in the view, or a component that is not
    /// marked. The position component is that of the earlier tick.
    template <class T>
    const T* get(EntityId entity, Component<T> component) const noexcept {
        return static_cast<const T*>(read(entity, component.id));
    }
    /// Returns a component as get does. Valid during the callback.
    const void* read(EntityId entity, ComponentId component) const noexcept;
    /// Returns Status::refused: the past cannot be changed. Edit the present world with
    /// World::edit.
    Status write(EntityId entity, ComponentId component) const noexcept;

    /// Appends the entities with a past position within `radius` of the segment, the nearest to its
    /// start first, without those that the client owns. Errors: bad_position (not finite),
    /// bad_argument (a radius that is negative or above reach_max).
    Status find_along(Vec3 from, Vec3 to, float radius, std::vector<PastHit>& out) const;
    /// Appends the entities with a past position within a sphere, the nearest to its center first.
    /// Otherwise as find_along.
    Status find_within(Vec3 center, float radius, std::vector<PastHit>& out) const;

    /// Creates a view. For Server::rewind.
    PastView(RewindData& data, ObserverId observer, double tick) noexcept
        : data_(&data), observer_(observer), tick_(tick) {}

  private:
    RewindData* data_;
    ObserverId observer_;
    double tick_;
};

/// @}

}  // namespace purview
