// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rotations as unit quaternions: composed, undone, applied to a place, and in the numbers of the
// wire. What is not turned is left as it is, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

constexpr bool is_identity(const Rotation& q) noexcept {
    return q.x == 0 && q.y == 0 && q.z == 0 && (q.w == 1 || q.w == -1);
}
constexpr Rotation inverse(const Rotation& q) noexcept {
    return {-q.x, -q.y, -q.z, q.w};
}
/// First `inner`, then `outer`: the rotation of what is turned within something that is turned.
Rotation composed(const Rotation& outer, const Rotation& inner) noexcept;
Vec3 rotated(const Rotation& q, Vec3 v) noexcept;
/// From one to the other on the shorter way, at an even pace; part within 0..1.
Rotation slerp(const Rotation& from, const Rotation& to, double part) noexcept;
/// How far the two are from each other, in radians.
double angle_between(const Rotation& a, const Rotation& b) noexcept;

/// Where something is and how it is turned.
struct Pose {
    Vec3 position;
    Rotation turn;
};
/// A move of more than `meters`: nobody is drawn between the two (KindDef::teleport_distance).
constexpr bool is_jump(Vec3 from, Vec3 to, double meters) noexcept {
    const double x = to.x - from.x, y = to.y - from.y, z = to.z - from.z;
    return x * x + y * y + z * z > meters * meters;
}
/// Of what has the pose `own` as seen from something else. Whoever has no orientation is not
/// turned, and turns nobody.
Pose positioned_within(const Pose& above, const Pose& own, bool has_orientation) noexcept;
/// The other way round: both are in the world.
Pose as_seen_from(const Pose& above, const Pose& own, bool has_orientation) noexcept;

/// By so many radians about an axis (0 x, 1 y, 2 z).
Rotation about_axis(double radians, unsigned axis) noexcept;
/// The part of a rotation that is about the axis, in -pi..pi.
double angle_about(const Rotation& q, unsigned axis) noexcept;

/// The three smallest parts in 10 bits each (PROTOCOL.md, "Fields").
std::uint32_t pack_rotation(const Rotation& rotation) noexcept;
Rotation unpack_rotation(std::uint32_t wire) noexcept;

/// The number of the step nearest to the value, 0..steps; NaN is 0.
std::uint32_t nearest_step(double value, double min, double step, std::uint32_t steps) noexcept;

/// What a number says as the orientation of an entity.
Rotation orientation_of_number(const OrientationDef& def, double number) noexcept;
/// The orientation in a struct, as clients are told it: cut to what the field can say.
Rotation orientation_in(const OrientationDef& def, const FieldDef& field,
                        const std::byte* data) noexcept;
/// Writes it, as well as the field can say it: a number takes what of it is about its axis.
void set_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                        std::byte* data) noexcept;
/// Where the field says another one, by more than what a float loses. False: it does not.
bool keep_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                         std::byte* data) noexcept;

}  // namespace purview
