// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle/truth_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "purview/sight.hpp"

namespace purview::check {

namespace {

Vec3 minus(Vec3 a, Vec3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

float dot(Vec3 a, Vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

Said yes_if(bool yes) {
    return {false, yes ? Zone::in : Zone::out, 1};
}

// -- distance
// ---------------------------------------------------------------------------------------

Said say_distance(const KernelDesc& kernel, const ObserverView& observer,
                  const EntityView& entity) {
    float enter = kernel.enter_m;
    float leave = kernel.leave_m;
    float own = 0;
    if (kernel.range == RangeOf::entity) own = entity.range_m;
    if (kernel.range == RangeOf::observer) own = observer.range_m;
    if (own > 0) {
        enter = own;
        leave = own + (kernel.leave_m - kernel.enter_m);
    }
    // Two spheres touch: that of the rule around the observer, that of the group around its root.
    const auto touches = [&](float radius, float squared_m) {
        const float both = radius + entity.bounds_m;
        return squared_m <= both * both;
    };
    float nearest = std::numeric_limits<float>::infinity();
    for (const Vec3 place : observer.from(kernel.from))
        nearest = std::min(nearest, squared(entity.place, place));
    Said said;
    if (touches(enter, nearest)) {
        said.zone = Zone::in;
    } else if (touches(leave, nearest)) {
        said.zone = Zone::margin;
    }
    if (said.zone != Zone::out) {
        const float between = std::max(std::sqrt(nearest) - entity.bounds_m, 0.0F);
        said.strength = std::max(1 - between / (2 * leave), 1e-6F);
    }
    return said;
}

// -- areas
// ------------------------------------------------------------------------------------------

bool is_inside(const ShapeView& shape, Vec3 place, float grown_m) {
    const Area& area = shape.area;
    const Vec3 d = minus(place, area.centre);
    const float radius = area.radius_m + grown_m;
    switch (area.shape) {
        case AreaShape::place:
            return false;
        case AreaShape::sphere:
            return squared(place, area.centre) <= radius * radius;
        case AreaShape::box:
            return std::fabs(d.x) <= area.half_sides.x + grown_m &&
                   std::fabs(d.y) <= area.half_sides.y + grown_m &&
                   std::fabs(d.z) <= area.half_sides.z + grown_m;
        case AreaShape::cone: {
            const float along = dot(d, shape.axis);
            const float q = dot(d, d);
            const float across = std::sqrt(std::max(q - along * along, 0.0F));
            const float aside = across * shape.cosine - along * shape.sine;
            if (q > radius * radius) return false;
            if (aside <= 0 || grown_m <= 0) return aside <= 0;
            // Outside of the angle, the nearest point of the side: its tip, its rim, or between.
            const float on_side = along * shape.cosine + across * shape.sine;
            const float past = on_side <= 0 ? on_side : std::max(on_side - area.radius_m, 0.0F);
            return aside * aside + past * past <= grown_m * grown_m;
        }
    }
    return false;
}

Said say_area(const KernelDesc& kernel, const ObserverView& observer, const EntityView& entity) {
    Said said;
    said.unknown = observer.shapes.empty() || !entity.placed;
    if (said.unknown) return said;
    for (const ShapeView& shape : observer.shapes) {
        if (is_inside(shape, entity.place, entity.bounds_m)) return yes_if(true);
        if (is_inside(shape, entity.place, kernel.leave_m + entity.bounds_m))
            said.zone = Zone::margin;
    }
    return said;
}

// -- groups
// -----------------------------------------------------------------------------------------

bool observer_has(const ObserverView& observer, KeyDomain domain, Key key) {
    if (key == Key::none) return false;
    if (observer.keys[index_of(domain)] == key) return true;
    return std::find(observer.more_keys.begin(), observer.more_keys.end(), TruthKey{domain, key}) !=
           observer.more_keys.end();
}

bool same_group(KeyDomain domain, const ObserverView& observer, const TruthEntity& entity) {
    if (observer_has(observer, domain, entity.keys[index_of(domain)])) return true;
    return std::any_of(entity.more_keys.begin(), entity.more_keys.end(), [&](TruthKey more) {
        return more.domain == domain && observer_has(observer, domain, more.key);
    });
}

// -- cells
// ------------------------------------------------------------------------------------------

float cell(float coordinate, float begin, float side) {
    return std::floor((coordinate - begin) / side);
}

/// A cell is 0 away from itself, also where its number is infinite.
float difference(float one, float other) {
    return one == other ? 0 : one - other;
}

bool near_on_axis(const CellShape& cells, float one, float other, float begin, float side) {
    const float between = difference(cell(one, begin, side), cell(other, begin, side));
    return std::fabs(between) <= static_cast<float>(cells.rings);
}

/// The third axis, where it matters.
bool in_layers(const Frame& frame, const CellShape& cells, Vec3 a, Vec3 b) {
    if (frame.axes != Axes::xyz || !(cells.depth_m > 0)) return true;
    return near_on_axis(cells, a.z, b.z, frame.cells_from.z, cells.depth_m);
}

bool in_neighbourhood(const Frame& frame, const CellShape& cells, Vec3 a, Vec3 b) {
    const Vec3 from = frame.cells_from;
    return near_on_axis(cells, a.x, b.x, from.x, cells.width_m) &&
           near_on_axis(cells, frame.second(a), frame.second(b), frame.second(from),
                        cells.height_m) &&
           in_layers(frame, cells, a, b);
}

struct Hexagon {
    float q = 0;
    float r = 0;
};

Hexagon hexagon_of(const Frame& frame, float side, Vec3 place) {
    const float x = place.x - frame.cells_from.x;
    const float y = frame.second(place) - frame.second(frame.cells_from);
    const float q = (x * 0.57735027F - y * 0.33333334F) / side;
    const float r = (y * 0.6666667F) / side;
    const float s = -q - r;
    float q_cell = std::floor(q + 0.5F);
    float r_cell = std::floor(r + 0.5F);
    const float s_cell = std::floor(s + 0.5F);
    const float q_off = std::fabs(q_cell - q);
    const float r_off = std::fabs(r_cell - r);
    const float s_off = std::fabs(s_cell - s);
    if (q_off > r_off && q_off > s_off) {
        q_cell = -r_cell - s_cell;
    } else if (r_off > s_off) {
        r_cell = -q_cell - s_cell;
    }
    return {q_cell, r_cell};
}

bool in_hexagons(const Frame& frame, const CellShape& cells, Vec3 a, Vec3 b) {
    const Hexagon one = hexagon_of(frame, cells.width_m, a);
    const Hexagon other = hexagon_of(frame, cells.width_m, b);
    const float q = difference(one.q, other.q);
    const float r = difference(one.r, other.r);
    const float between = (std::fabs(q) + std::fabs(r) + std::fabs(q + r)) / 2;
    return between <= static_cast<float>(cells.rings) && in_layers(frame, cells, a, b);
}

// -- line of sight
// ----------------------------------------------------------------------------------

Vec3 ahead(Vec3 place, Vec3 velocity, float seconds) {
    return {place.x + velocity.x * seconds, place.y + velocity.y * seconds,
            place.z + velocity.z * seconds};
}

bool is_visible(const SightTest& sight, ObserverId observer, EntityId entity, Vec3 from, Vec3 to) {
    const SightQuery query{entity, from, to};
    std::uint8_t visible = 0;
    sight.test(observer, std::span(&query, 1), std::span(&visible, 1));
    return visible != 0;
}

bool has_sight(const KernelDesc& kernel, const ObserverView& observer, const EntityView& entity) {
    const Vec3 to = entity.place;
    for (const Vec3 from : observer.from(kernel.from)) {
        if (kernel.enter_m > 0 && squared(to, from) > kernel.enter_m * kernel.enter_m) continue;
        if (is_visible(*kernel.sight, observer.id, entity.id, from, to)) return true;
        if (!kernel.sight_def.predict) continue;
        const float seconds = observer.lookahead_s;
        if (is_visible(*kernel.sight, observer.id, entity.id,
                       ahead(from, observer.velocity, seconds),
                       ahead(to, entity.facts->velocity, seconds)))
            return true;
    }
    return false;
}

/// True if some place that the kernel looks from fulfils it.
template <class Test>
Said say_from_places(const KernelDesc& kernel, const ObserverView& observer, Test&& test) {
    const std::vector<Vec3>& places = observer.from(kernel.from);
    return yes_if(std::any_of(places.begin(), places.end(), test));
}

}  // namespace

Vec3 Frame::flat(Vec3 place) const {
    if (axes == Axes::xy) place.z = 0;
    if (axes == Axes::xz) place.y = 0;
    return place;
}

float squared(Vec3 a, Vec3 b) {
    const Vec3 d = minus(a, b);
    return dot(d, d);
}

bool has_margin(const KernelDesc& kernel) {
    return kernel.type == KernelType::distance || kernel.type == KernelType::area;
}

ShapeView shape_view(const Area& area) {
    ShapeView shape;
    shape.area = area;
    if (area.shape != AreaShape::cone) return shape;
    const float length = std::sqrt(dot(area.direction, area.direction));
    shape.axis = {area.direction.x / length, area.direction.y / length, area.direction.z / length};
    const float angle = area.half_angle_deg * (3.14159265358979F / 180.0F);
    shape.cosine = std::cos(angle);
    shape.sine = std::sin(angle);
    return shape;
}

void say(const Frame& frame, const KernelDesc& kernel, const std::vector<std::uint8_t>& owned,
         const ObserverView& observer, std::span<const EntityView* const> entities,
         std::span<Said> said) {
    const auto each = [&](auto&& of) {
        for (std::size_t i = 0; i < entities.size(); ++i) said[i] = of(*entities[i]);
    };
    const auto each_placed = [&](auto&& of) {
        const bool from_nowhere = observer.from(kernel.from).empty();
        each([&](const EntityView& entity) {
            if (from_nowhere || !entity.placed) return Said{true, Zone::out, 1};
            return of(entity);
        });
    };
    switch (kernel.type) {
        case KernelType::distance:
            return each_placed(
                [&](const EntityView& entity) { return say_distance(kernel, observer, entity); });
        case KernelType::same_group:
            return each([&](const EntityView& entity) {
                return yes_if(same_group(kernel.domain, observer, *entity.facts));
            });
        case KernelType::flag:
            return each([&](const EntityView& entity) {
                return yes_if(((entity.facts->flags >> index_of(kernel.flag)) & 1U) != 0);
            });
        case KernelType::area:
            return each(
                [&](const EntityView& entity) { return say_area(kernel, observer, entity); });
        case KernelType::owner:
            return each(
                [&](const EntityView& entity) { return yes_if(owned[index_of(entity.id)] != 0); });
        case KernelType::value:
            return each([&](const EntityView& entity) {
                const float value = entity.facts->values[index_of(kernel.value)];
                return yes_if(kernel.value_min <= value && value <= kernel.value_max);
            });
        case KernelType::neighbourhood:
            return each_placed([&](const EntityView& entity) {
                return say_from_places(kernel, observer, [&](Vec3 place) {
                    return in_neighbourhood(frame, kernel.cells, place, entity.place);
                });
            });
        case KernelType::hexagons:
            return each_placed([&](const EntityView& entity) {
                return say_from_places(kernel, observer, [&](Vec3 place) {
                    return in_hexagons(frame, kernel.cells, place, entity.place);
                });
            });
        case KernelType::line_of_sight:
            return each_placed([&](const EntityView& entity) {
                return yes_if(has_sight(kernel, observer, entity));
            });
        case KernelType::custom:
            break;
    }
    std::fill(said.begin(), said.end(), Said{});
}

}  // namespace purview::check
