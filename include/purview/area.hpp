// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Areas of interest: regions that belong to an observer. Each has a number that the caller chooses
/// (Visibility::set_area). A step with KernelType::area matches the entities inside.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

/// The shape of an area.
enum class AreaShape : std::uint8_t {
    position = 0,  ///< no volume; an additional viewpoint for distance kernels
    sphere = 1,    ///< a ball; a disk in rules with two axes
    box = 2,       ///< aligned with the axes
    cone = 3,      ///< a tip, a direction, an angle and a length
};

/// An area of interest. All numbers must be finite. The border is inside. Coordinates of an axis
/// that does not count (Rules::axes) are ignored.
struct Area {
    AreaShape shape = AreaShape::position;  ///< which of the members below count
    Vec3 center;  ///< cone: its tip. With `follow`: relative to the position of that entity.
    /// The entity that the area follows; for a group member, the root of its group. The area does
    /// not turn with the entity, and ends when the entity is despawned. none: the area does not
    /// move.
    EntityId follow = EntityId::none;
    float radius = 0;              ///< sphere, cone (its length); above 0, at most reach_max
    Vec3 half_size;                ///< box: half of its sides; 0 or more
    Vec3 direction{1, 0, 0};       ///< cone; any length but 0
    float half_angle_degrees = 0;  ///< cone; above 0, below 180
    /// Lifetime in ticks from Visibility::set_area on; 0: no end.
    std::uint32_t ticks = 0;

    /// Returns a viewpoint without a volume.
    static Area at(Vec3 center) noexcept {
        Area area;
        area.center = center;
        return area;
    }
    /// Returns a sphere.
    static Area sphere(Vec3 center, float radius) noexcept {
        Area area = at(center);
        area.shape = AreaShape::sphere;
        area.radius = radius;
        return area;
    }
    /// Returns a box. `half_size`: half of its sides.
    static Area box(Vec3 center, Vec3 half_size) noexcept {
        Area area = at(center);
        area.shape = AreaShape::box;
        area.half_size = half_size;
        return area;
    }
    /// Returns a cone of the length `radius`.
    static Area cone(Vec3 tip, Vec3 direction, float half_angle_degrees, float radius) noexcept {
        Area area = at(tip);
        area.shape = AreaShape::cone;
        area.direction = direction;
        area.half_angle_degrees = half_angle_degrees;
        area.radius = radius;
        return area;
    }
    /// Returns a copy that moves with an entity.
    Area following(EntityId entity) const noexcept {
        Area area = *this;
        area.follow = entity;
        return area;
    }
    /// Returns a copy that ends after `lifetime_ticks`; 0: no end.
    Area lasting(std::uint32_t lifetime_ticks) const noexcept {
        Area area = *this;
        area.ticks = lifetime_ticks;
        return area;
    }
    /// Compares all members, also those that the shape does not use.
    friend bool operator==(const Area&, const Area&) = default;
};

/// @}

}  // namespace purview
