// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "interest/rules/custom_kernel.hpp"
#include "purview/status.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview {

std::string number_text(double value) {
    constexpr double counted_max = 1e15;  // beyond that, tenths are meaningless
    if (!(std::fabs(value) <= counted_max)) return value < 0 ? "below -1e15" : "above 1e15";
    const auto tenths = static_cast<long long>(std::llround(std::fabs(value) * 10));
    return std::string(value < 0 && tenths != 0 ? "-" : "") + std::to_string(tenths / 10) + "." +
           std::to_string(tenths % 10);
}

namespace {

/// Matches within a radius of any observer position. An entity that matched keeps matching within a
/// further margin.
class DistanceKernel final : public InterestKernel {
  public:
    DistanceKernel(const Kernel& desc, float range_max_m, float widen)
        : enter_m_(desc.enter + widen),
          margin_m_(desc.leave - desc.enter),
          reach_m_(std::max(enter_m_, range_max_m + widen) + margin_m_),
          widen_m_(widen),
          range_(desc.range),
          from_(desc.view_from) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.inside; ++i) out[i] = q.slots.occupied()[q.blocks[i]];
        for (const Vec3 position : q.positions)
            add(q, q.blocks.subspan(q.inside), position, 0, out.subspan(q.inside));
        if (!remembers() || q.was.empty()) return;
        // Only lanes that matched and are not near any more are measured again.
        for (std::size_t i = q.inside; i < q.blocks.size(); ++i) {
            if ((q.was[i] & ~out[i]) == 0) continue;
            Mask still = 0;
            for (const Vec3 position : q.positions)
                add(q, q.blocks.subspan(i, 1), position, margin_m_, std::span(&still, 1));
            out[i] = static_cast<Mask>(out[i] | (still & q.was[i]));
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        std::string text = "distance ";
        if (q.positions.empty()) return text + "unknown: the observer has no position";
        if (q.slots.is_abstract(q.blocks[0])) return text + "unknown: the entity has no position";
        const Slot slot = slot_at(q.blocks[0], lane);
        const float radius = radius_of(q, slot);
        text += number_text(counted(q, slot)) + " of " + number_text(radius);
        if (q.slots.bounds(slot) > 0) {
            text += " (to its bounds: " + number_text(nearest(q, slot)) + " less " +
                    number_text(q.slots.bounds(slot)) + ")";
        }
        if (!remembers()) return text;
        return text + ", leave radius " + number_text(radius + margin_m_) +
               ((q.was[0] & lane_bit(lane)) != 0 ? " (it was in)" : " (it was not)");
    }
    void score(const KernelQuery& q, std::span<const Mask> requested,
               std::span<float> score) const noexcept override {
        const bool is_same_for_all = range_ != RangeFrom::entity || q.slots.ranges().empty();
        if (is_same_for_all && q.slots.lanes_with_bounds().empty() && !q.positions.empty()) {
            (void)gather_nearness({q.slots.coordinates(), q.slots.axes()}, q.blocks, requested,
                                  q.positions, 2 * (radius_of(q, no_slot) + margin_m_), score_min,
                                  score.data());
            return;
        }
        std::size_t k = 0;
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            for (Mask rest = requested[i]; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
                const Slot slot =
                    slot_at(q.blocks[i], static_cast<unsigned>(std::countr_zero(rest)));
                const float leave = radius_of(q, slot) + margin_m_;
                const auto away = static_cast<float>(counted(q, slot));
                score[k++] = std::max(1 - away / (2 * leave), score_min);
            }
        }
    }
    float nearness_m() const noexcept override {
        return range_ == RangeFrom::kernel ? 2 * (enter_m_ + margin_m_) : 0;
    }
    bool answers_unknown() const noexcept override { return false; }
    /// Empty lanes are infinitely far away.
    bool skips_empty() const noexcept override { return std::isfinite(reach_m_ * reach_m_); }
    bool remembers() const noexcept override { return margin_m_ > 0; }
    float reach() const noexcept override { return reach_m_; }
    float inside_m() const noexcept override { return enter_m_; }
    bool has_inside_test() const noexcept override {
        return range_ == RangeFrom::kernel && from_ == Viewpoints::entity_and_points;
    }
    Viewpoints looks_from() const noexcept override { return from_; }
    std::vector<float> edges_m() const override {
        if (range_ != RangeFrom::kernel) return {};
        if (!remembers()) return {enter_m_};
        return {enter_m_, enter_m_ + margin_m_};
    }

  private:
    float radius_of(const KernelQuery& q, Slot slot) const noexcept {
        const auto ranges = q.slots.ranges();
        if (range_ == RangeFrom::entity && !ranges.empty() && ranges[slot] > 0)
            return ranges[slot] + widen_m_;
        if (range_ == RangeFrom::observer && q.context.range > 0) return q.context.range + widen_m_;
        return enter_m_;
    }
    void add(const KernelQuery& q, std::span<const BlockIndex> blocks, Vec3 position,
             float margin_m, std::span<Mask> out) const noexcept {
        const LaneCoordinates at{q.slots.coordinates(), q.slots.axes()};
        const auto ranges = q.slots.ranges();
        if (range_ == RangeFrom::entity && !ranges.empty()) {
            add_lanes_within_own(at, blocks, position, ranges.data(), enter_m_ - widen_m_,
                                 margin_m + widen_m_, out);
            add_bounded(q.slots, blocks, out,
                        [&](std::span<const BlockIndex> one, Slot slot, float group_radius_m,
                            std::span<Mask> near) {
                            const float own = ranges[slot] > 0 ? ranges[slot] : enter_m_ - widen_m_;
                            const float radius = own + (margin_m + widen_m_) + group_radius_m;
                            add_lanes_within(at, one, position, radius * radius, near);
                        });
            return;
        }
        const float own = range_ == RangeFrom::observer && q.context.range > 0
                              ? q.context.range + widen_m_
                              : enter_m_;
        const float radius = own + margin_m;
        add_lanes_within(at, blocks, position, radius * radius, out);
        add_bounded(
            q.slots, blocks, out,
            [&](std::span<const BlockIndex> one, Slot, float group_radius_m, std::span<Mask> near) {
                const float wider = radius + group_radius_m;
                add_lanes_within(at, one, position, wider * wider, near);
            });
    }
    /// Returns the distance from the nearest position to the bounds of the entity's group.
    static double counted(const KernelQuery& q, Slot slot) noexcept {
        return std::max(nearest(q, slot) - q.slots.bounds(slot), 0.0);
    }
    static double nearest(const KernelQuery& q, Slot slot) noexcept {
        const Vec3 at = q.slots.position(slot);
        double best = -1;
        for (const Vec3 position : q.positions) {
            const double dx = double{at.x} - position.x, dy = double{at.y} - position.y;
            const double dz = q.slots.axes() == 3 ? double{at.z} - position.z : 0;
            const double d = std::sqrt(dx * dx + dy * dy + dz * dz);
            if (best < 0 || d < best) best = d;
        }
        return std::max(best, 0.0);
    }

    float enter_m_;
    float margin_m_;
    float reach_m_;
    float widen_m_;
    RangeFrom range_;
    Viewpoints from_;
};

/// Matches if observer and entity have a common key in a domain. Key::none matches nothing.
class SameKeyKernel final : public InterestKernel {
  public:
    SameKeyKernel(KeyId domain, std::string name) : domain_(domain), name_(std::move(name)) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        add(q, q.keys[index_of(domain_)], out);
        for (const DomainKey& more : q.context.more_keys) {
            if (more.domain == domain_) add(q, more.key, out);
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const auto key_text = [&](Key key, std::span<const DomainKey> more) {
            std::string text = key == Key::none ? "none" : std::to_string(index_of(key));
            for (const DomainKey& one : more) {
                if (one.domain == domain_) text += " and " + std::to_string(index_of(one.key));
            }
            return text;
        };
        const Slot slot = slot_at(q.blocks[0], lane);
        return name_ + " of the entity " +
               key_text(q.slots.keys(domain_)[slot], q.slots.more_keys(slot)) +
               ", of the observer " + key_text(q.keys[index_of(domain_)], q.context.more_keys);
    }
    bool answers_unknown() const noexcept override { return false; }
    bool reads_positions() const noexcept override { return false; }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        if (slots.keys(domain_)[slot] != Key::none) return true;
        const auto more = slots.more_keys(slot);
        return std::any_of(more.begin(), more.end(),
                           [&](const DomainKey& one) { return one.domain == domain_; });
    }
    KeyId domain() const noexcept override { return domain_; }

  private:
    void add(const KernelQuery& q, Key own, std::span<Mask> out) const noexcept {
        if (own == Key::none) return;
        const auto keys = q.slots.keys(domain_);
        const auto several = q.slots.lanes_with_more_keys();
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            const Key* lane = keys.data() + std::size_t{q.blocks[i]} * lanes_per_block;
            std::uint32_t mask = 0;
            for (unsigned l = 0; l < lanes_per_block; ++l)
                mask |= static_cast<std::uint32_t>(lane[l] == own) << l;
            Mask rest = several.empty() ? Mask{0} : several[q.blocks[i]];
            for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
                const auto l = static_cast<unsigned>(std::countr_zero(rest));
                for (const DomainKey& one : q.slots.more_keys(slot_at(q.blocks[i], l)))
                    mask |= one.domain == domain_ && one.key == own ? 1U << l : 0U;
            }
            out[i] = static_cast<Mask>(out[i] | mask);
        }
    }

    KeyId domain_;
    std::string name_;
};

/// The base of kernels that read only the entity.
class EntityKernel : public InterestKernel {
  public:
    bool answers_unknown() const noexcept override { return false; }
    bool reads_positions() const noexcept override { return false; }
    DependsOn depends_on() const noexcept override { return DependsOn::entity; }
};

/// Matches if the entity has the flag.
class FlagKernel final : public EntityKernel {
  public:
    FlagKernel(FlagId flag, std::string name) : flag_(flag), name_(std::move(name)) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const auto flags = q.slots.flags(flag_);
        if (flags.empty()) return;
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = flags[q.blocks[i]];
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const bool has = q.slots.flag(flag_, slot_at(q.blocks[0], lane));
        return name_ + (has ? " is set" : " is not set");
    }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return slots.flag(flag_, slot);
    }

  private:
    FlagId flag_;
    std::string name_;
};

/// Matches if a value of the entity lies in a range.
class ValueKernel final : public EntityKernel {
  public:
    ValueKernel(const Kernel& desc, std::string name)
        : value_(desc.value), min_(desc.min), max_(desc.max), name_(std::move(name)) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const auto values = q.slots.values(value_);
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            if (values.empty()) {
                out[i] = in_range(0) ? all_lanes : Mask{0};
                continue;
            }
            const float* lane = values.data() + std::size_t{q.blocks[i]} * lanes_per_block;
            std::uint32_t mask = 0;
            for (unsigned l = 0; l < lanes_per_block; ++l)
                mask |= static_cast<std::uint32_t>(in_range(lane[l])) << l;
            out[i] = static_cast<Mask>(mask);
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        std::string text =
            name_ + " " + number_text(number(q.slots, slot_at(q.blocks[0], lane))) + " of ";
        text += std::isinf(min_) ? "any" : number_text(min_);
        return text + " to " + (std::isinf(max_) ? "any" : number_text(max_));
    }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return in_range(number(slots, slot));
    }

  private:
    bool in_range(float v) const noexcept { return min_ <= v && v <= max_; }
    float number(const Slots& slots, Slot slot) const noexcept {
        const auto values = slots.values(value_);
        return values.empty() ? 0 : values[slot];
    }

    ValueId value_;
    float min_;
    float max_;
    std::string name_;
};

/// Matches if the observer owns the entity.
class OwnerKernel final : public InterestKernel {
  public:
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        static thread_local std::vector<Slot> owned;
        owned.clear();
        for (const EntityId unit : q.context.owned) {
            const Slot slot = q.slots.slot_of(unit);
            if (slot != no_slot) owned.push_back(slot);
        }
        std::sort(owned.begin(), owned.end());
        for (std::size_t i = 0; i < q.blocks.size() && !owned.empty(); ++i) {
            auto at = std::lower_bound(owned.begin(), owned.end(), slot_at(q.blocks[i], 0));
            for (; at != owned.end() && block_of(*at) == q.blocks[i]; ++at)
                out[i] |= lane_bit(lane_of(*at));
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const EntityId entity = q.slots.entity(slot_at(q.blocks[0], lane));
        const bool owns = std::find(q.context.owned.begin(), q.context.owned.end(), entity) !=
                          q.context.owned.end();
        return owns ? "the observer owns it" : "the observer does not own it";
    }
    bool answers_unknown() const noexcept override { return false; }
    bool reads_positions() const noexcept override { return false; }
};

class EverythingKernel final : public EntityKernel {
  public:
    void test(const KernelQuery&, std::span<Mask> out, std::span<Mask>) const noexcept override {
        std::fill(out.begin(), out.end(), all_lanes);
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "everything"; }
    bool test_entity(const Slots&, Slot) const noexcept override { return true; }
};

/// Matches if observer and entity share an inner node of a dispatcher.
class CellsKernel final : public InterestKernel {
  public:
    explicit CellsKernel(const Dispatcher& dispatcher) : dispatcher_(&dispatcher) {}

    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const std::vector<CellId> covered = cover(q);
        for (std::size_t i = 0; i < q.blocks.size() && !covered.empty(); ++i) {
            Mask rest = q.slots.occupied()[q.blocks[i]];
            if (!q.requested.empty()) rest &= q.requested[i];
            for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
                const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                if (meet(covered, cells_of(q.slots, slot_at(q.blocks[i], lane))))
                    out[i] |= lane_bit(lane);
            }
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const auto cells = cells_of(q.slots, slot_at(q.blocks[0], lane));
        std::string text = "in";
        for (const CellId cell : cells) text += " " + std::to_string(cell);
        return text + (cells.empty() ? " no inner node" : "") +
               (meet(cover(q), cells) ? ", covered by the observer"
                                      : ", not covered by the observer");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool reads_positions() const noexcept override { return dispatcher_->reads_positions(); }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    bool test_entity(const Slots&, Slot) const noexcept override { return true; }

  private:
    std::vector<CellId> cover(const KernelQuery& q) const {
        std::vector<CellId> cells;
        dispatcher_->cover({q.observer, q.context.main, q.context.outer_positions, q.keys}, cells);
        return cells;
    }
    std::vector<CellId> cells_of(const Slots& slots, Slot slot) const {
        std::vector<CellId> cells;
        add_cells_of(*dispatcher_, slots, slot, cells);
        return cells;
    }
    static bool meet(const std::vector<CellId>& a, const std::vector<CellId>& b) {
        return std::any_of(a.begin(), a.end(), [&](CellId cell) {
            return std::find(b.begin(), b.end(), cell) != b.end();
        });
    }

    const Dispatcher* dispatcher_;
};

}  // namespace

void add_cells_of(const Dispatcher& dispatcher, const Slots& slots, Slot slot,
                  std::vector<CellId>& out) {
    std::uint16_t flags = 0;
    PURVIEW_ASSERT(slots.flag_count() <= 16 && slots.key_count() <= 8);
    for (std::uint32_t f = 0; f < slots.flag_count(); ++f) {
        if (slots.flag(id_at<FlagId>(f), slot)) flags = static_cast<std::uint16_t>(flags | 1U << f);
    }
    std::array<Key, 8> keys{};
    for (std::uint32_t k = 0; k < slots.key_count(); ++k)
        keys[k] = slots.keys(id_at<KeyId>(k))[slot];
    dispatcher.cells_of({slots.entity(slot), slots.outer(slots.position(slot)),
                         slots.has_position(slot), flags, std::span(keys).first(slots.key_count())},
                        out);
}

std::shared_ptr<const InterestKernel> make_cells_kernel(const Dispatcher& dispatcher) {
    return std::make_shared<CellsKernel>(dispatcher);
}
std::shared_ptr<const InterestKernel> make_everything_kernel() {
    return std::make_shared<EverythingKernel>();
}

std::shared_ptr<const InterestKernel> make_kernel(const Kernel& desc, const Rules& rules,
                                                  float widen, const AttributeNames& names) {
    switch (desc.type) {
        case KernelType::distance: {
            float range_max = 0;
            if (desc.range == RangeFrom::observer) range_max = rules.observer_range_max;
            if (desc.range == RangeFrom::entity && !rules.range_classes.empty())
                range_max = rules.range_classes.back();
            return std::make_shared<DistanceKernel>(desc, range_max, widen);
        }
        case KernelType::same_key:
            return std::make_shared<SameKeyKernel>(desc.key, names.key(desc.key));
        case KernelType::flag:
            return std::make_shared<FlagKernel>(desc.flag, names.flag(desc.flag));
        case KernelType::custom:
            return engine_kernel(desc.custom);
        case KernelType::area:
            return make_area_kernel(desc, widen);
        case KernelType::everything:
            return make_everything_kernel();
        case KernelType::owner:
            return std::make_shared<OwnerKernel>();
        case KernelType::value:
            return std::make_shared<ValueKernel>(desc, names.value(desc.value));
        case KernelType::cells:
            return make_neighborhood_kernel(desc, rules);
        case KernelType::hexagons:
            return make_hexagon_kernel(desc, rules);
        case KernelType::line_of_sight:
            return make_sight_kernel(desc);
    }
    return nullptr;
}

}  // namespace purview
