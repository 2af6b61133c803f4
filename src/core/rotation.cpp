// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/rotation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace purview {

namespace {

constexpr unsigned part_bits = 10;
constexpr std::int64_t part_zero = 511;  // 0 and +-sqrt(1/2) are exact: 0, 511, 1022

template <class T>
T load(const std::byte* data) noexcept {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

/// Normalizes a quaternion, so that a chain of compositions does not drift.
Rotation unit(double x, double y, double z, double w) noexcept {
    const double length = std::sqrt(x * x + y * y + z * z + w * w);
    if (!(length > 0)) return {};
    return {static_cast<float>(x / length), static_cast<float>(y / length),
            static_cast<float>(z / length), static_cast<float>(w / length)};
}

std::int64_t load_integer(const FieldDef& field, const std::byte* at) noexcept {
    std::uint32_t bits = 0;  // every target is little-endian
    std::memcpy(&bits, at, field.size_bytes);
    if (!field.is_signed) return bits;
    const unsigned above = 32U - field.size_bytes * 8U;  // sign extension by two shifts
    return static_cast<std::int32_t>(bits << above) >> above;
}

/// Adds whole turns to the value so that it is within [min, max]. If that is impossible, returns
/// the nearer bound.
double in_range(double value, double turn, double min, double max) noexcept {
    value += std::ceil((min - value) / turn) * turn;
    if (value <= max) return value;
    return value - max <= min + turn - value ? max : min;
}

}  // namespace

Rotation composed(const Rotation& outer, const Rotation& inner) noexcept {
    if (is_identity(outer)) return inner;
    if (is_identity(inner)) return outer;
    const double ax = outer.x, ay = outer.y, az = outer.z, aw = outer.w;
    const double bx = inner.x, by = inner.y, bz = inner.z, bw = inner.w;
    return unit(aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
                aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz);
}

Vec3 rotated(const Rotation& q, Vec3 v) noexcept {
    if (is_identity(q)) return v;
    const double x = q.x, y = q.y, z = q.z, w = q.w;
    // v + w t + q x t, with t = 2 q x v
    const double tx = 2 * (y * v.z - z * v.y);
    const double ty = 2 * (z * v.x - x * v.z);
    const double tz = 2 * (x * v.y - y * v.x);
    return {static_cast<float>(v.x + w * tx + y * tz - z * ty),
            static_cast<float>(v.y + w * ty + z * tx - x * tz),
            static_cast<float>(v.z + w * tz + x * ty - y * tx)};
}

double angle_between(const Rotation& a, const Rotation& b) noexcept {
    const double ax = -a.x, ay = -a.y, az = -a.z, aw = a.w;
    const double bx = b.x, by = b.y, bz = b.z, bw = b.w;
    const double x = aw * bx + ax * bw + ay * bz - az * by;
    const double y = aw * by - ax * bz + ay * bw + az * bx;
    const double z = aw * bz + ax * by - ay * bx + az * bw;
    const double w = aw * bw - ax * bx - ay * by - az * bz;
    return 2 * std::atan2(std::sqrt(x * x + y * y + z * z), std::abs(w));
}

Rotation slerp(const Rotation& from, const Rotation& to, double part) noexcept {
    if (part <= 0 || from == to) return from;
    if (part >= 1) return to;
    const double dot = double{from.x} * to.x + double{from.y} * to.y + double{from.z} * to.z +
                       double{from.w} * to.w;
    const double sign = dot < 0 ? -1 : 1;
    const double angle = angle_between(from, to) / 2;
    double a = 1 - part, b = part;
    if (angle > 1e-4) {  // for smaller angles a straight line is the same
        a = std::sin(a * angle) / std::sin(angle);
        b = std::sin(b * angle) / std::sin(angle);
    }
    b *= sign;
    return unit(a * from.x + b * to.x, a * from.y + b * to.y, a * from.z + b * to.z,
                a * from.w + b * to.w);
}

Pose positioned_within(const Pose& above, const Pose& own, bool has_orientation) noexcept {
    const Vec3 off = rotated(above.turn, own.position);
    return {{above.position.x + off.x, above.position.y + off.y, above.position.z + off.z},
            has_orientation ? composed(above.turn, own.turn) : Rotation{}};
}

Pose as_seen_from(const Pose& above, const Pose& own, bool has_orientation) noexcept {
    const Vec3 off{own.position.x - above.position.x, own.position.y - above.position.y,
                   own.position.z - above.position.z};
    return {rotated(inverse(above.turn), off),
            has_orientation ? composed(inverse(above.turn), own.turn) : Rotation{}};
}

Rotation about_axis(double radians, unsigned axis) noexcept {
    if (!std::isfinite(radians) || radians == 0) return {};
    std::array<float, 3> parts{};
    parts[axis < 3 ? axis : 2] = static_cast<float>(std::sin(radians / 2));
    return {parts[0], parts[1], parts[2], static_cast<float>(std::cos(radians / 2))};
}

double angle_about(const Rotation& q, unsigned axis) noexcept {
    const double part = axis == 0 ? q.x : axis == 1 ? q.y : q.z;
    if (part == 0 && q.w == 0) return 0;
    return std::remainder(2 * std::atan2(part, double{q.w}), 2 * std::numbers::pi);
}

std::uint32_t pack_rotation(const Rotation& rotation) noexcept {
    const std::array<double, 4> parts{rotation.x, rotation.y, rotation.z, rotation.w};
    double length = 0;
    for (const double part : parts) length += part * part;
    length = std::sqrt(length);
    if (!(length > 1e-6) || !std::isfinite(length)) return pack_rotation({});
    std::size_t largest = 0;
    for (std::size_t i = 1; i < 4; ++i) {
        if (std::abs(parts[i]) > std::abs(parts[largest])) largest = i;
    }
    // A quaternion and its negative are the same rotation, so the largest part is made positive.
    const double scale = (parts[largest] < 0 ? -1 : 1) / length * std::sqrt(2.0) * part_zero;
    auto wire = static_cast<std::uint32_t>(largest);
    unsigned shift = 2;
    for (std::size_t i = 0; i < 4; ++i) {
        if (i == largest) continue;
        const auto steps =
            std::clamp<std::int64_t>(std::llround(parts[i] * scale), -part_zero, part_zero);
        wire |= static_cast<std::uint32_t>(steps + part_zero) << shift;
        shift += part_bits;
    }
    return wire;
}

Rotation unpack_rotation(std::uint32_t wire) noexcept {
    std::array<double, 4> parts{};
    const std::size_t largest = wire & 3U;
    double rest = 1;
    unsigned shift = 2;
    for (std::size_t i = 0; i < 4; ++i) {
        if (i == largest) continue;
        const auto steps = std::int64_t{(wire >> shift) & ((1U << part_bits) - 1)} - part_zero;
        parts[i] = static_cast<double>(std::min(steps, part_zero)) / part_zero / std::sqrt(2.0);
        rest -= parts[i] * parts[i];
        shift += part_bits;
    }
    if (rest < 0) return {};
    parts[largest] = std::sqrt(rest);
    return {static_cast<float>(parts[0]), static_cast<float>(parts[1]),
            static_cast<float>(parts[2]), static_cast<float>(parts[3])};
}

std::uint32_t nearest_step(double value, double min, double step, std::uint32_t steps) noexcept {
    if (!(value > min)) return 0;
    const double nearest = (value - min) / step + 0.5;  // positive, so the conversion rounds down
    return nearest >= steps ? steps : static_cast<std::uint32_t>(nearest);
}

Rotation orientation_of_number(const OrientationDef& def, double number) noexcept {
    // Removes whole turns first: the remainder keeps the digits that matter.
    const double turns = std::remainder(number / def.full_turn, 1.0);
    return about_axis(turns * 2 * std::numbers::pi, static_cast<unsigned>(def.axis));
}

Rotation orientation_in(const OrientationDef& def, const FieldDef& field,
                        const std::byte* data) noexcept {
    const std::byte* at = data + field.offset_bytes;
    switch (field.type) {
        case FieldType::rotation:
            return unpack_rotation(pack_rotation(load<Rotation>(at)));
        case FieldType::integer:
            return orientation_of_number(
                def,
                std::clamp(static_cast<double>(load_integer(field, at)), field.min, field.max));
        case FieldType::quantized: {
            const double step = nearest_step(load<float>(at), field.min, field.step, field.largest);
            return orientation_of_number(def, field.min + step * field.step);
        }
        default:
            return orientation_of_number(def, load<float>(at));
    }
}

void set_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                        std::byte* data) noexcept {
    std::byte* at = data + field.offset_bytes;
    if (field.type == FieldType::rotation) {
        std::memcpy(at, &rotation, sizeof rotation);
        return;
    }
    const double turn = std::abs(def.full_turn);
    double value = angle_about(rotation, static_cast<unsigned>(def.axis)) / (2 * std::numbers::pi) *
                   def.full_turn;
    if (field.type != FieldType::real) value = in_range(value, turn, field.min, field.max);
    if (field.type == FieldType::integer) {
        const auto whole =
            static_cast<std::int64_t>(std::clamp(std::floor(value + 0.5), field.min, field.max));
        std::memcpy(at, &whole, field.size_bytes);
    } else {
        const auto number = static_cast<float>(value);
        std::memcpy(at, &number, sizeof number);
    }
}

bool keep_orientation_in(const OrientationDef& def, const FieldDef& field, const Rotation& rotation,
                         std::byte* data) noexcept {
    constexpr double same_radians = 1e-6;
    if (angle_between(orientation_in(def, field, data), rotation) < same_radians) return false;
    set_orientation_in(def, field, rotation, data);
    return true;
}

}  // namespace purview
