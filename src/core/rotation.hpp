// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rotations as unit quaternions: composition, inverse, application to positions, and wire format.
// An identity rotation returns its argument unchanged, to the bit.
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
/// Returns the rotation that applies `inner` and then `outer`, as for an object inside a rotated
/// parent.
Rotation composed(const Rotation& outer, const Rotation& inner) noexcept;
Vec3 rotated(const Rotation& q, Vec3 v) noexcept;
/// Interpolates on the shorter way at a constant angular speed. `part` is within 0..1.
Rotation slerp(const Rotation& from, const Rotation& to, double part) noexcept;
/// Returns the angle between two rotations in radians.
double angle_between(const Rotation& a, const Rotation& b) noexcept;

/// A position and an orientation.
struct Pose {
    Vec3 position;
    Rotation turn;
};
/// Returns whether a move is longer than `meters`. Such moves are not interpolated
/// (KindDef::teleport_distance).
constexpr bool is_jump(Vec3 from, Vec3 to, double meters) noexcept {
    const double x = to.x - from.x, y = to.y - from.y, z = to.z - from.z;
    return x * x + y * y + z * z > meters * meters;
}
/// Converts `own`, a pose relative to `above`, to a world pose. Without `has_orientation` the
/// result has the identity rotation.
Pose positioned_within(const Pose& above, const Pose& own, bool has_orientation) noexcept;
/// The inverse: converts the world pose `own` to a pose relative to `above`.
Pose as_seen_from(const Pose& above, const Pose& own, bool has_orientation) noexcept;

/// Returns a rotation by an angle about an axis (0 x, 1 y, 2 z).
Rotation about_axis(double radians, unsigned axis) noexcept;
/// Returns the angle of a rotation about one axis, in -pi..pi.
double angle_about(const Rotation& q, unsigned axis) noexcept;

/// Wire format: the three smallest parts in 10 bits each (PROTOCOL.md, "Fields").
std::uint32_t pack_rotation(const Rotation& rotation) noexcept;
Rotation unpack_rotation(std::uint32_t wire) noexcept;

/// Returns the number of the step nearest to the value, 0..steps. NaN gives 0.
std::uint32_t nearest_step(double value, double min, double step, std::uint32_t steps) noexcept;

/// Converts the value of a number field to the orientation of an entity.
Rotation orientation_of_number(const OrientationDef& def, double number) noexcept;
/// Returns the orientation in a struct as clients receive it, rounded and clamped to the field.
Rotation orientation_in(const OrientationDef& def, const FieldDef& field,
                        const std::byte* data) noexcept;
/// Writes the orientation with the precision of the field. A number field receives the angle about
/// its axis.
void set_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                        std::byte* data) noexcept;
/// Writes the orientation unless the field already has it, within the rounding of a float. Returns
/// whether it was written.
bool keep_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                         std::byte* data) noexcept;

}  // namespace purview
