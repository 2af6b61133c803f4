// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The world as one client saw it: a scope over the server's history of the components that the
// schema marks (Schema::rewind). It only reads; the past cannot be written. docs/prediction.md
#pragma once

#include <cstdint>
#include <vector>

#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

inline constexpr std::uint32_t rewind_ticks_most = 1U << 16;

/// How much of the past a server keeps, and how it finds things there; part of ServerDef.
struct RewindSettings {
    /// Of history; 0: a second; at most rewind_ticks_most. Only kept where the schema marks a
    /// component.
    std::uint32_t ticks = 0;
    /// Of the index over past places: some two to four times what an entity moves in a fifth of a
    /// second, or the radius of a typical query.
    float cell_size = 8;
    /// How far behind the newest snapshot that a client has acknowledged its view may be; what it
    /// says beyond that is cut. One who acknowledges late on purpose is believed, as one with a
    /// long round trip: `ticks` bounds him.
    std::uint32_t behind_ticks_max = 12;
};

struct PastHit {
    EntityId entity = EntityId::none;
    EntityId root = EntityId::none;  ///< of its group, now
    Vec3 position;                   ///< then
    float distance_m = 0;            ///< along the ray, or from the centre
};

class RewindData;  // src/host

/// Valid within the callback of the game in which it was made. Its members of one group are all of
/// one tick. What the client owned is as it is now (O19); what was not relevant to it then, or did
/// not exist, is not there.
class PastView {
  public:
    /// The server's tick, which may lie between two: places are between them, all else is of the
    /// earlier one.
    double tick() const noexcept { return tick_; }
    ObserverId observer() const noexcept { return observer_; }
    bool sees(EntityId entity) const noexcept;
    /// {0, 0, 0} for what is not there.
    Vec3 position_of(EntityId entity) const noexcept;
    /// Null for what is not there, or not marked. The place component is that of the earlier tick.
    template <class T>
    const T* get(EntityId entity, Component<T> component) const noexcept {
        return static_cast<const T*>(read(entity, component.id));
    }
    const void* read(EntityId entity, ComponentId component) const noexcept;
    /// Status::refused: the past is over. What a shot does, it does to the present: World::edit.
    Status write(EntityId entity, ComponentId component) const noexcept;

    /// Appends the entities with a past place within `radius` of the segment, the nearest to its
    /// beginning first; what the client owns itself is not among them. bad_position: not finite;
    /// bad_argument: a negative radius.
    Status find_along(Vec3 from, Vec3 to, float radius, std::vector<PastHit>& out) const;
    /// The same within a sphere, the nearest first.
    Status find_within(Vec3 center, float radius, std::vector<PastHit>& out) const;

    /// Made by Server::rewind.
    PastView(RewindData& data, ObserverId observer, double tick) noexcept
        : data_(&data), observer_(observer), tick_(tick) {}

  private:
    RewindData* data_;
    ObserverId observer_;
    double tick_;
};

}  // namespace purview
