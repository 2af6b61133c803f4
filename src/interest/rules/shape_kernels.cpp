// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Kernels of areas of interest, cell neighborhoods and hexagons.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "interest/rules/kernel.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

namespace {

/// Number of cells from one cell to another. Cell numbers are whole, but may exceed an integer or
/// be infinite: a cell is always 0 away from itself.
double cells_between(double one, double other) noexcept {
    return one == other ? 0 : one - other;
}

/// For text: limited to the range of an integer.
long long text_number(double cells) noexcept {
    constexpr double most = 1e18;
    return static_cast<long long>(std::min(std::fabs(cells), most));
}

LaneCone lane_cone(const Area& area, float margin_m) noexcept {
    constexpr float radians = std::numbers::pi_v<float> / 180;
    LaneCone cone;
    cone.tip = area.center;
    cone.direction = area.direction;
    cone.cosine = std::cos(area.half_angle_degrees * radians);
    cone.sine = std::sin(area.half_angle_degrees * radians);
    cone.radius = area.radius;
    cone.margin_m = margin_m;
    return cone;
}

/// Matches inside an area of the observer. An entity that matched keeps matching within a further
/// margin.
class AreaKernel final : public InterestKernel {
  public:
    AreaKernel(float enter_margin_m, float leave_margin_m)
        : enter_margin_m_(enter_margin_m), leave_margin_m_(leave_margin_m) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (const Area& area : q.context.areas) add(q, area, enter_margin_m_, q.blocks, out);
        if (!remembers() || q.was.empty()) return;
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            if ((q.was[i] & ~out[i]) == 0) continue;
            Mask still = 0;
            for (const Area& area : q.context.areas)
                add(q, area, leave_margin_m_, q.blocks.subspan(i, 1), std::span(&still, 1));
            out[i] = static_cast<Mask>(out[i] | (still & q.was[i]));
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        if (q.context.areas.empty()) return "areas unknown: the observer has none";
        if (q.slots.is_abstract(q.blocks[0])) return "areas unknown: the entity has no position";
        std::string text;
        for (std::size_t a = 0; a < q.context.areas.size(); ++a) {
            Mask in = 0;
            add(q, q.context.areas[a], enter_margin_m_, q.blocks.first(1), std::span(&in, 1));
            text += (text.empty() ? "" : ", ") + name(q.context.areas[a].shape) + " " +
                    std::to_string(a) + ((in & lane_bit(lane)) != 0 ? ": inside" : ": outside");
        }
        if (const float group_radius_m = q.slots.bounds(slot_at(q.blocks[0], lane));
            group_radius_m > 0)
            text += ", with its bounds of " + number_text(group_radius_m);
        if (!remembers()) return text;
        return text + ", leave margin " + number_text(leave_margin_m_) + " outside" +
               ((q.was[0] & lane_bit(lane)) != 0 ? " (it was in)" : " (it was not)");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool remembers() const noexcept override { return leave_margin_m_ > enter_margin_m_; }
    /// Distance beyond the shapes.
    float reach() const noexcept override { return std::max(enter_margin_m_, leave_margin_m_); }
    bool needs_position() const noexcept override { return true; }
    bool looks_into_areas() const noexcept override { return true; }

  private:
    static std::string name(AreaShape shape) {
        return shape == AreaShape::sphere ? "sphere" : shape == AreaShape::box ? "box" : "cone";
    }
    static void add(const KernelQuery& q, const Area& area, float margin_m,
                    std::span<const BlockIndex> blocks, std::span<Mask> out) noexcept {
        add_positions(q, area, margin_m, blocks, out);
        add_bounded(
            q.slots, blocks, out,
            [&](std::span<const BlockIndex> one, Slot, float group_radius_m, std::span<Mask> near) {
                add_positions(q, area, margin_m + group_radius_m, one, near);
            });
    }
    static void add_positions(const KernelQuery& q, const Area& area, float margin_m,
                              std::span<const BlockIndex> blocks, std::span<Mask> out) noexcept {
        const LaneCoordinates at{q.slots.coordinates(), q.slots.axes()};
        switch (area.shape) {
            case AreaShape::position:
                break;
            case AreaShape::sphere: {
                const float radius = area.radius + margin_m;
                add_lanes_within(at, blocks, area.center, radius * radius, out);
                break;
            }
            case AreaShape::box:
                add_lanes_around(at, blocks, area.center,
                                 {area.half_size.x + margin_m, area.half_size.y + margin_m,
                                  area.half_size.z + margin_m},
                                 out);
                break;
            case AreaShape::cone:
                add_lanes_in_cone(at, blocks, lane_cone(area, margin_m), out);
                break;
        }
    }

    float enter_margin_m_;
    float leave_margin_m_;
};

/// Maps the bits of a float to integers in the same order: neighbors differ by one. Its own
/// inverse.
std::int32_t by_order(std::int32_t bits) noexcept {
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

/// Returns where cell `i` begins: the smallest coordinate that lies in it or beyond, or +infinity
/// if there is none.
float first_of_cell(double i, float origin, float side) noexcept {
    const auto number = [](std::int64_t order) {
        return std::bit_cast<float>(by_order(static_cast<std::int32_t>(order)));
    };
    const auto order = [](float v) -> std::int64_t {
        return by_order(std::bit_cast<std::int32_t>(v));
    };
    const auto reaches = [&](std::int64_t at) {
        return std::floor((number(at) - origin) / side) >= i;
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::int64_t least = order(-infinity), most = order(infinity);
    // The result is near this value, off by rounding. Finds it with doubling steps, then by
    // bisection.
    std::int64_t reached = order(static_cast<float>(origin + i * static_cast<double>(side)));
    std::int64_t below = reached;
    for (std::int64_t step = 1; below > least && reaches(below); step *= 2) {
        reached = below;
        below = std::max(least, below - step);
    }
    for (std::int64_t step = 1; reached < most && !reaches(reached); step *= 2) {
        below = reached;
        reached = std::min(most, reached + step);
    }
    while (reached - below > 1) {
        const std::int64_t middle = below + (reached - below) / 2;
        (reaches(middle) ? reached : below) = middle;
    }
    return number(reached);
}

/// Matches if the entity's cell is at most a number of rings away from the cell of a position, as a
/// box of whole cells.
class NeighborhoodKernel final : public InterestKernel {
  public:
    NeighborhoodKernel(const Kernel& desc, Vec3 origin, bool three_d)
        : cells_(desc), origin_(origin), from_(desc.view_from) {
        const float rings = static_cast<float>(cells_.rings) + 1;
        const float z = three_d && cells_.cell_size.z > 0 ? rings * cells_.cell_size.z : 0;
        if (three_d && !(cells_.cell_size.z > 0)) is_bounded_ = false;
        const float x = rings * cells_.cell_size.x, y = rings * cells_.cell_size.y;
        reach_m_ = std::sqrt(x * x + y * y + z * z) * 1.001F;
    }

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (const Vec3 position : q.positions) {
            Vec3 low, high;
            box_of(position, low, high);
            add_lanes_in_box({q.slots.coordinates(), q.slots.axes()}, q.blocks, low, high, out);
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        if (q.positions.empty()) return "neighborhood unknown: the observer has no position";
        if (q.slots.is_abstract(q.blocks[0]))
            return "neighborhood unknown: the entity has no position";
        const Vec3 at = q.slots.position(slot_at(q.blocks[0], lane));
        long long best = -1;
        for (const Vec3 position : q.positions) {
            const long long apart =
                std::max({rings_between(at.x, position.x, origin_.x, cells_.cell_size.x),
                          rings_between(at.y, position.y, origin_.y, cells_.cell_size.y),
                          cells_.cell_size.z > 0 && q.slots.axes() == 3
                              ? rings_between(at.z, position.z, origin_.z, cells_.cell_size.z)
                              : 0LL});
            if (best < 0 || apart < best) best = apart;
        }
        return "cell of " + number_text(cells_.cell_size.x) + " x " +
               number_text(cells_.cell_size.y) + ", " + std::to_string(best) +
               " rings away, at most " + std::to_string(cells_.rings);
    }
    bool answers_unknown() const noexcept override { return false; }
    /// A column of cells without depth has no end, so candidates are searched everywhere.
    float reach() const noexcept override { return is_bounded_ ? reach_m_ : 0; }
    bool needs_position() const noexcept override { return true; }
    Viewpoints looks_from() const noexcept override { return from_; }

  private:
    static long long rings_between(float a, float b, float origin, float side) noexcept {
        return text_number(
            cells_between(std::floor((a - origin) / side), std::floor((b - origin) / side)));
    }
    void box_of(Vec3 position, Vec3& low, Vec3& high) const noexcept {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const auto span_of = [&](float at, float origin, float side, float& from, float& to) {
            const double cell = std::floor((at - origin) / side);
            from = first_of_cell(cell - cells_.rings, origin, side);
            // Far from the origin, the next float is many cells away, so adding a ring may change
            // nothing. Then the box ends before the next float.
            const double next =
                std::max(cell + cells_.rings + 1.0, std::nextafter(cell, double{infinity}));
            to = std::nextafter(cell == infinity ? infinity : first_of_cell(next, origin, side),
                                -infinity);
        };
        span_of(position.x, origin_.x, cells_.cell_size.x, low.x, high.x);
        span_of(position.y, origin_.y, cells_.cell_size.y, low.y, high.y);
        low.z = -infinity;
        high.z = infinity;
        if (cells_.cell_size.z > 0)
            span_of(position.z, origin_.z, cells_.cell_size.z, low.z, high.z);
    }

    Kernel cells_;
    Vec3 origin_;
    Viewpoints from_;
    float reach_m_ = 0;
    bool is_bounded_ = true;
};

/// A hexagon by its two axial coordinates, which are whole numbers.
struct Hexagon {
    double q, r;
};

Hexagon hexagon_of(float x, float y, float side) noexcept {
    const float q = (x * 0.57735027F - y * 0.33333334F) / side;
    const float r = (y * 0.6666667F) / side;
    const float s = -q - r;
    float rq = std::floor(q + 0.5F), rr = std::floor(r + 0.5F);
    const float rs = std::floor(s + 0.5F);
    const float dq = std::fabs(rq - q), dr = std::fabs(rr - r), ds = std::fabs(rs - s);
    if (dq > dr && dq > ds) {
        rq = -rr - rs;
    } else if (dr > ds) {
        rr = -rq - rs;
    }
    return {rq, rr};
}

double hexagons_between(Hexagon a, Hexagon b) noexcept {
    const double dq = cells_between(a.q, b.q), dr = cells_between(a.r, b.r);
    return (std::fabs(dq) + std::fabs(dr) + std::fabs(dq + dr)) / 2;
}

/// Matches if the entity's hexagon is at most a number of rings away from the hexagon of a
/// position.
class HexagonKernel final : public InterestKernel {
  public:
    HexagonKernel(const Kernel& desc, Vec3 origin, bool three_d)
        : cells_(desc), origin_(origin), from_(desc.view_from), three_d_(three_d) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const unsigned axes = q.slots.axes();
        for (const Vec3 position : q.positions) {
            const Hexagon home = at(position.x, position.y);
            for (std::size_t i = 0; i < q.blocks.size(); ++i) {
                const float* x =
                    q.slots.coordinates() + std::size_t{q.blocks[i]} * axes * lanes_per_block;
                Mask rest = q.slots.occupied()[q.blocks[i]];
                if (!q.requested.empty()) rest &= q.requested[i];
                for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                    const Hexagon its = at(x[lane], x[lanes_per_block + lane]);
                    const float z = axes == 3 ? x[2 * lanes_per_block + lane] : 0;
                    if (hexagons_between(its, home) <= cells_.rings && is_level(z, position.z))
                        out[i] |= lane_bit(lane);
                }
            }
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        if (q.positions.empty()) return "hexagons unknown: the observer has no position";
        if (q.slots.is_abstract(q.blocks[0])) return "hexagons unknown: the entity has no position";
        const Vec3 its = q.slots.position(slot_at(q.blocks[0], lane));
        long long best = -1;
        for (const Vec3 position : q.positions) {
            const long long apart =
                text_number(hexagons_between(at(its.x, its.y), at(position.x, position.y)));
            if (best < 0 || apart < best) best = apart;
        }
        return "hexagon of side " + number_text(cells_.cell_size.x) + ", " + std::to_string(best) +
               " rings away, at most " + std::to_string(cells_.rings);
    }
    bool answers_unknown() const noexcept override { return false; }
    /// A hexagon is at most two sides wide. Adds one more for the hexagons on either end.
    float reach() const noexcept override {
        return three_d_ ? 0 : 2.001F * cells_.cell_size.x * (static_cast<float>(cells_.rings) + 1);
    }
    bool needs_position() const noexcept override { return true; }
    Viewpoints looks_from() const noexcept override { return from_; }

  private:
    Hexagon at(float x, float y) const noexcept {
        return hexagon_of(x - origin_.x, y - origin_.y, cells_.cell_size.x);
    }

    /// With a cell depth: whether the layers are at most `rings` apart.
    bool is_level(float a, float b) const noexcept {
        if (!three_d_ || !(cells_.cell_size.z > 0)) return true;
        const double apart = cells_between(std::floor((a - origin_.z) / cells_.cell_size.z),
                                           std::floor((b - origin_.z) / cells_.cell_size.z));
        return std::fabs(apart) <= cells_.rings;
    }

    Kernel cells_;
    Vec3 origin_;
    Viewpoints from_;
    bool three_d_;
};

/// The minimum of the bounds in kernel axes: the horizontal axes first.
Vec3 inner_origin(const Rules& rules) noexcept {
    const Vec3 o = rules.min;
    return rules.axes == Axes::xz ? Vec3{o.x, o.z, o.y} : o;
}

}  // namespace

std::shared_ptr<const InterestKernel> make_area_kernel(const Kernel& desc, float widen) {
    return std::make_shared<AreaKernel>(widen, desc.leave + widen);
}
std::shared_ptr<const InterestKernel> make_neighborhood_kernel(const Kernel& desc,
                                                               const Rules& rules) {
    return std::make_shared<NeighborhoodKernel>(desc, inner_origin(rules), rules.axes == Axes::xyz);
}
std::shared_ptr<const InterestKernel> make_hexagon_kernel(const Kernel& desc, const Rules& rules) {
    return std::make_shared<HexagonKernel>(desc, inner_origin(rules), rules.axes == Axes::xyz);
}

}  // namespace purview
