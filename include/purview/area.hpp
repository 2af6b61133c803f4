// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Areas of interest: regions that belong to an observer, any number, each under a key of the
// caller's (F4-F6, F26, F27 of docs/coverage.md). `KernelType::area` asks who is inside.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

enum class AreaShape : std::uint8_t {
    position = 0,  ///< no volume: a further place from which distance kernels look
    sphere = 1,
    box = 2,  ///< along the axes
    cone = 3,
};

/// All of it must be finite; a border counts as inside.
struct Area {
    AreaShape shape = AreaShape::position;
    Vec3 center;  ///< of a cone: its tip. With `follow`: relative to that entity.
    /// It goes where this entity goes, and ends with it.
    EntityId follow = EntityId::none;
    float radius = 0;              ///< sphere, cone; above 0, at most reach_max
    Vec3 half_size;                ///< box
    Vec3 direction{1, 0, 0};       ///< cone; any length but 0
    float half_angle_degrees = 0;  ///< cone; above 0, below 180
    /// It ends after so many ticks; 0: it stays.
    std::uint32_t ticks = 0;

    static Area at(Vec3 center) noexcept {
        Area area;
        area.center = center;
        return area;
    }
    static Area sphere(Vec3 center, float radius) noexcept {
        Area area = at(center);
        area.shape = AreaShape::sphere;
        area.radius = radius;
        return area;
    }
    static Area box(Vec3 center, Vec3 half_size) noexcept {
        Area area = at(center);
        area.shape = AreaShape::box;
        area.half_size = half_size;
        return area;
    }
    static Area cone(Vec3 tip, Vec3 direction, float half_angle_degrees, float radius) noexcept {
        Area area = at(tip);
        area.shape = AreaShape::cone;
        area.direction = direction;
        area.half_angle_degrees = half_angle_degrees;
        area.radius = radius;
        return area;
    }
    Area following(EntityId entity) const noexcept {
        Area area = *this;
        area.follow = entity;
        return area;
    }
    Area lasting(std::uint32_t so_many_ticks) const noexcept {
        Area area = *this;
        area.ticks = so_many_ticks;
        return area;
    }
    friend bool operator==(const Area&, const Area&) = default;
};

}  // namespace purview
