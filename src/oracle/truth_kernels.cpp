// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle/truth_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "purview/extend/kernel.hpp"

namespace purview::check {

namespace {

Vec3 minus(Vec3 a, Vec3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

float dot(Vec3 a, Vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

StepResult yes_if(bool yes) {
    return {false, yes ? Zone::in : Zone::out, 1};
}

// -- distance -----------------------------------------------------------------------------------

StepResult evaluate_distance(const Kernel& kernel, const ObserverView& observer,
                             const EntityView& entity) {
    float enter = kernel.enter;
    float leave = kernel.leave;
    float own = 0;
    if (kernel.range == RangeFrom::entity) own = entity.range;
    if (kernel.range == RangeFrom::observer) own = observer.range;
    if (own > 0) {
        enter = own;
        leave = own + (kernel.leave - kernel.enter);
    }
    // Whether two spheres touch: that of the rule and that of the group.
    const auto touches = [&](float radius, float squared_m) {
        const float both = radius + entity.group_radius_m;
        return squared_m <= both * both;
    };
    float nearest = std::numeric_limits<float>::infinity();
    for (const Vec3 position : observer.from(kernel.view_from))
        nearest = std::min(nearest, squared(entity.position, position));
    StepResult result;
    if (touches(enter, nearest)) {
        result.zone = Zone::in;
    } else if (touches(leave, nearest)) {
        result.zone = Zone::margin;
    }
    if (result.zone != Zone::out) {
        const float between = std::max(std::sqrt(nearest) - entity.group_radius_m, 0.0F);
        result.score = std::max(1 - between / (2 * leave), 1e-6F);
    }
    return result;
}

// -- areas --------------------------------------------------------------------------------------

bool is_inside(const ShapeView& shape, Vec3 position, float grown_m) {
    const Area& area = shape.area;
    const Vec3 d = minus(position, area.center);
    const float radius = area.radius + grown_m;
    switch (area.shape) {
        case AreaShape::position:
            return false;
        case AreaShape::sphere:
            return squared(position, area.center) <= radius * radius;
        case AreaShape::box:
            return std::fabs(d.x) <= area.half_size.x + grown_m &&
                   std::fabs(d.y) <= area.half_size.y + grown_m &&
                   std::fabs(d.z) <= area.half_size.z + grown_m;
        case AreaShape::cone: {
            const float along = dot(d, shape.axis);
            const float q = dot(d, d);
            const float across = std::sqrt(std::max(q - along * along, 0.0F));
            const float aside = across * shape.cosine - along * shape.sine;
            if (q > radius * radius) return false;
            if (aside <= 0 || grown_m <= 0) return aside <= 0;
            // Outside of the angle: the nearest point of the side is its tip, its rim, or in
            // between.
            const float on_side = along * shape.cosine + across * shape.sine;
            const float past = on_side <= 0 ? on_side : std::max(on_side - area.radius, 0.0F);
            return aside * aside + past * past <= grown_m * grown_m;
        }
    }
    return false;
}

StepResult evaluate_area(const Kernel& kernel, const ObserverView& observer,
                         const EntityView& entity) {
    StepResult result;
    result.unknown = observer.shapes.empty() || !entity.has_position;
    if (result.unknown) return result;
    for (const ShapeView& shape : observer.shapes) {
        if (is_inside(shape, entity.position, entity.group_radius_m)) return yes_if(true);
        if (is_inside(shape, entity.position, kernel.leave + entity.group_radius_m))
            result.zone = Zone::margin;
    }
    return result;
}

// -- keys ---------------------------------------------------------------------------------------

bool observer_has(const ObserverView& observer, KeyId domain, Key key) {
    if (key == Key::none) return false;
    if (observer.keys[index_of(domain)] == key) return true;
    return std::find(observer.more_keys.begin(), observer.more_keys.end(), TruthKey{domain, key}) !=
           observer.more_keys.end();
}

bool same_key(KeyId domain, const ObserverView& observer, const TruthEntity& entity) {
    if (observer_has(observer, domain, entity.keys[index_of(domain)])) return true;
    return std::any_of(entity.more_keys.begin(), entity.more_keys.end(), [&](TruthKey more) {
        return more.domain == domain && observer_has(observer, domain, more.key);
    });
}

// -- cells --------------------------------------------------------------------------------------

float cell(float coordinate, float begin, float side) {
    return std::floor((coordinate - begin) / side);
}

/// The distance of a cell from itself is 0, even if its number is infinite.
float difference(float one, float other) {
    return one == other ? 0 : one - other;
}

bool near_on_axis(const Kernel& cells, float one, float other, float begin, float side) {
    const float between = difference(cell(one, begin, side), cell(other, begin, side));
    return std::fabs(between) <= static_cast<float>(cells.rings);
}

/// Whether the positions are close enough on the third axis, where it matters.
bool in_layers(const Frame& frame, const Kernel& cells, Vec3 a, Vec3 b) {
    if (frame.axes != Axes::xyz || !(cells.cell_size.z > 0)) return true;
    return near_on_axis(cells, a.z, b.z, frame.cells_from.z, cells.cell_size.z);
}

bool in_neighborhood(const Frame& frame, const Kernel& cells, Vec3 a, Vec3 b) {
    const Vec3 from = frame.cells_from;
    return near_on_axis(cells, a.x, b.x, from.x, cells.cell_size.x) &&
           near_on_axis(cells, frame.second(a), frame.second(b), frame.second(from),
                        cells.cell_size.y) &&
           in_layers(frame, cells, a, b);
}

struct Hexagon {
    float q = 0;
    float r = 0;
};

Hexagon hexagon_of(const Frame& frame, float side, Vec3 position) {
    const float x = position.x - frame.cells_from.x;
    const float y = frame.second(position) - frame.second(frame.cells_from);
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

bool in_hexagons(const Frame& frame, const Kernel& cells, Vec3 a, Vec3 b) {
    const Hexagon one = hexagon_of(frame, cells.cell_size.x, a);
    const Hexagon other = hexagon_of(frame, cells.cell_size.x, b);
    const float q = difference(one.q, other.q);
    const float r = difference(one.r, other.r);
    const float between = (std::fabs(q) + std::fabs(r) + std::fabs(q + r)) / 2;
    return between <= static_cast<float>(cells.rings) && in_layers(frame, cells, a, b);
}

// -- line of sight ------------------------------------------------------------------------------

Vec3 ahead(Vec3 position, Vec3 velocity, float seconds) {
    return {position.x + velocity.x * seconds, position.y + velocity.y * seconds,
            position.z + velocity.z * seconds};
}

bool is_visible(const RayTest& sight, ObserverId observer, EntityId entity, Vec3 from, Vec3 to) {
    const Ray query{entity, from, to};
    std::uint8_t visible = 0;
    sight.test(observer, std::span(&query, 1), std::span(&visible, 1));
    return visible != 0;
}

bool has_sight(const Kernel& kernel, const ObserverView& observer, const EntityView& entity) {
    const Vec3 to = entity.position;
    for (const Vec3 from : observer.from(kernel.view_from)) {
        if (kernel.enter > 0 && squared(to, from) > kernel.enter * kernel.enter) continue;
        if (is_visible(*kernel.rays, observer.id, entity.id, from, to)) return true;
        if (!kernel.predicts_sight) continue;
        const float seconds = observer.lookahead_s;
        if (is_visible(*kernel.rays, observer.id, entity.id,
                       ahead(from, observer.velocity, seconds),
                       ahead(to, entity.facts->velocity, seconds)))
            return true;
    }
    return false;
}

/// Matches if the test passes for any position from which the kernel measures.
template <class Test>
StepResult evaluate_from_positions(const Kernel& kernel, const ObserverView& observer,
                                   Test&& test) {
    const std::vector<Vec3>& positions = observer.from(kernel.view_from);
    return yes_if(std::any_of(positions.begin(), positions.end(), test));
}

}  // namespace

Vec3 Frame::flat(Vec3 position) const {
    if (axes == Axes::xy) position.z = 0;
    if (axes == Axes::xz) position.y = 0;
    return position;
}

float squared(Vec3 a, Vec3 b) {
    const Vec3 d = minus(a, b);
    return dot(d, d);
}

bool has_margin(const Kernel& kernel) {
    return kernel.type == KernelType::distance || kernel.type == KernelType::area;
}

ShapeView shape_view(const Area& area) {
    ShapeView shape;
    shape.area = area;
    if (area.shape != AreaShape::cone) return shape;
    const float length = std::sqrt(dot(area.direction, area.direction));
    shape.axis = {area.direction.x / length, area.direction.y / length, area.direction.z / length};
    const float angle = area.half_angle_degrees * (3.14159265358979F / 180.0F);
    shape.cosine = std::cos(angle);
    shape.sine = std::sin(angle);
    return shape;
}

void evaluate_kernel(const Frame& frame, const Kernel& kernel,
                     const std::vector<std::uint8_t>& owned, const ObserverView& observer,
                     std::span<const EntityView* const> entities, std::span<StepResult> results) {
    const auto each = [&](auto&& of) {
        for (std::size_t i = 0; i < entities.size(); ++i) results[i] = of(*entities[i]);
    };
    const auto each_positioned = [&](auto&& of) {
        const bool from_nowhere = observer.from(kernel.view_from).empty();
        each([&](const EntityView& entity) {
            if (from_nowhere || !entity.has_position) return StepResult{true, Zone::out, 1};
            return of(entity);
        });
    };
    switch (kernel.type) {
        case KernelType::everything:
            return each([](const EntityView&) { return yes_if(true); });
        case KernelType::distance:
            return each_positioned([&](const EntityView& entity) {
                return evaluate_distance(kernel, observer, entity);
            });
        case KernelType::same_key:
            return each([&](const EntityView& entity) {
                return yes_if(same_key(kernel.key, observer, *entity.facts));
            });
        case KernelType::flag:
            return each([&](const EntityView& entity) {
                return yes_if(((entity.facts->flags >> index_of(kernel.flag)) & 1U) != 0);
            });
        case KernelType::area:
            return each(
                [&](const EntityView& entity) { return evaluate_area(kernel, observer, entity); });
        case KernelType::owner:
            return each(
                [&](const EntityView& entity) { return yes_if(owned[index_of(entity.id)] != 0); });
        case KernelType::value:
            return each([&](const EntityView& entity) {
                const float value = entity.facts->values[index_of(kernel.value)];
                return yes_if(kernel.min <= value && value <= kernel.max);
            });
        case KernelType::cells:
            return each_positioned([&](const EntityView& entity) {
                return evaluate_from_positions(kernel, observer, [&](Vec3 position) {
                    return in_neighborhood(frame, kernel, position, entity.position);
                });
            });
        case KernelType::hexagons:
            return each_positioned([&](const EntityView& entity) {
                return evaluate_from_positions(kernel, observer, [&](Vec3 position) {
                    return in_hexagons(frame, kernel, position, entity.position);
                });
            });
        case KernelType::line_of_sight:
            return each_positioned([&](const EntityView& entity) {
                return yes_if(has_sight(kernel, observer, entity));
            });
        case KernelType::custom:
            break;
    }
    std::fill(results.begin(), results.end(), StepResult{});
}

}  // namespace purview::check
