// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/kernel.hpp"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "spatial/lane_test.hpp"

namespace purview {

namespace {

/// With one decimal, as people say distances.
std::string number(double value) {
    const auto tenths = static_cast<long long>(std::llround(value * 10));
    return std::to_string(tenths / 10) + "." + std::to_string(std::llabs(tenths % 10));
}

/// Within enter_m of any place of the observer; whoever was in stays in up to leave_m.
class DistanceKernel final : public InterestKernel {
  public:
    explicit DistanceKernel(const KernelDesc& desc)
        : enter_squared_(desc.enter_m * desc.enter_m),
          leave_squared_(desc.leave_m * desc.leave_m),
          enter_m_(desc.enter_m),
          leave_m_(desc.leave_m) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.inside; ++i) out[i] = q.slots.occupied()[q.blocks[i]];
        for (const Vec3 place : q.places) {
            add_lanes_within(q.slots.table(), q.blocks.subspan(q.inside), place, enter_squared_,
                             out.subspan(q.inside));
        }
        if (!remembers()) return;
        // Only whoever was in, and is not within enter_m, is measured again.
        for (std::size_t i = q.inside; i < q.blocks.size(); ++i) {
            if ((q.was[i] & ~out[i]) == 0) continue;
            Mask still = 0;
            for (const Vec3 place : q.places) {
                add_lanes_within(q.slots.table(), q.blocks.subspan(i, 1), place, leave_squared_,
                                 std::span(&still, 1));
            }
            out[i] = static_cast<Mask>(out[i] | (still & q.was[i]));
        }
    }
    std::string describe(const Question& q, unsigned lane) const override {
        std::string text = "distance ";
        if (q.places.empty()) return text + "unknown: the observer is nowhere";
        if (q.slots.is_unplaced(q.blocks[0])) return text + "unknown: the entity has no place";
        const Vec3 at = q.slots.place(slot_at(q.blocks[0], lane));
        double nearest = -1;
        for (const Vec3 place : q.places) {
            const double dx = double{at.x} - place.x, dy = double{at.y} - place.y;
            const double dz = q.slots.axes() == 3 ? double{at.z} - place.z : 0;
            const double d = std::sqrt(dx * dx + dy * dy + dz * dz);
            if (nearest < 0 || d < nearest) nearest = d;
        }
        text += number(nearest) + " of " + number(enter_m_);
        if (!remembers()) return text;
        return text + ", once in of " + number(leave_m_) +
               ((q.was[0] & lane_bit(lane)) != 0 ? " (it was in)" : " (it was not)");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool remembers() const noexcept override { return leave_squared_ > enter_squared_; }
    float reach_m() const noexcept override { return leave_m_; }
    float inside_m() const noexcept override { return enter_m_; }
    std::vector<float> edges_m() const override {
        if (!remembers()) return {enter_m_};
        return {enter_m_, leave_m_};
    }

  private:
    float enter_squared_;
    float leave_squared_;
    float enter_m_;
    float leave_m_;
};

/// Same key in a domain; Key::none matches nobody.
class SameGroupKernel final : public InterestKernel {
  public:
    SameGroupKernel(KeyDomain domain, std::string name) : domain_(domain), name_(std::move(name)) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const Key own = q.keys[index_of(domain_)];
        if (own == Key::none) return;
        const auto keys = q.slots.keys(domain_);
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            const Key* lane = keys.data() + std::size_t{q.blocks[i]} * lanes_per_block;
            std::uint32_t mask = 0;
            for (unsigned l = 0; l < lanes_per_block; ++l) {
                mask |= static_cast<std::uint32_t>(lane[l] == own) << l;
            }
            out[i] = static_cast<Mask>(mask);
        }
    }
    std::string describe(const Question& q, unsigned lane) const override {
        const Key own = q.keys[index_of(domain_)];
        const Key its = q.slots.keys(domain_)[slot_at(q.blocks[0], lane)];
        const auto said = [](Key key) {
            return key == Key::none ? std::string("none") : std::to_string(index_of(key));
        };
        return name_ + " of the entity " + said(its) + ", of the observer " + said(own);
    }
    bool answers_unknown() const noexcept override { return false; }
    bool reads_places() const noexcept override { return false; }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return slots.keys(domain_)[slot] != Key::none;
    }
    KeyDomain domain() const noexcept override { return domain_; }

  private:
    KeyDomain domain_;
    std::string name_;
};

/// The entity has the flag.
class FlagKernel final : public InterestKernel {
  public:
    FlagKernel(FlagId flag, std::string name) : flag_(flag), name_(std::move(name)) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const auto flags = q.slots.flags(flag_);
        if (flags.empty()) return;
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = flags[q.blocks[i]];
    }
    std::string describe(const Question& q, unsigned lane) const override {
        const bool has = q.slots.flag(flag_, slot_at(q.blocks[0], lane));
        return name_ + (has ? " is set" : " is not set");
    }
    bool answers_unknown() const noexcept override { return false; }
    bool reads_places() const noexcept override { return false; }
    DependsOn depends_on() const noexcept override { return DependsOn::entity; }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return slots.flag(flag_, slot);
    }

  private:
    FlagId flag_;
    std::string name_;
};

}  // namespace

std::shared_ptr<const InterestKernel> make_kernel(const KernelDesc& desc,
                                                  const AttributeNames& names) {
    switch (desc.type) {
        case KernelType::distance:
            return std::make_shared<DistanceKernel>(desc);
        case KernelType::same_group:
            return std::make_shared<SameGroupKernel>(desc.domain, names.key(desc.domain));
        case KernelType::flag:
            return std::make_shared<FlagKernel>(desc.flag, names.flag(desc.flag));
        case KernelType::custom:
            return desc.custom;
        default:
            break;
    }
    return nullptr;
}

}  // namespace purview
