// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/kernel.hpp"

namespace purview {

namespace {

/// Lanes of a block within a squared distance of a point. An empty lane stands at infinity and is
/// never within. One comparison everywhere: float arithmetic, d2 <= r2 (M11).
Mask lanes_within(const float* block, unsigned axes, Vec3 centre, float radius_squared) noexcept {
    std::uint32_t mask = 0;
    if (axes == 2) {
        for (unsigned i = 0; i < lanes_per_block; ++i) {
            const float dx = block[i] - centre.x;
            const float dy = block[lanes_per_block + i] - centre.y;
            mask |= static_cast<std::uint32_t>(dx * dx + dy * dy <= radius_squared) << i;
        }
    } else {
        for (unsigned i = 0; i < lanes_per_block; ++i) {
            const float dx = block[i] - centre.x;
            const float dy = block[lanes_per_block + i] - centre.y;
            const float dz = block[2 * lanes_per_block + i] - centre.z;
            mask |= static_cast<std::uint32_t>(dx * dx + dy * dy + dz * dz <= radius_squared) << i;
        }
    }
    return static_cast<Mask>(mask);
}

/// Within enter_m of any place of the observer; whoever was in stays in up to leave_m.
class DistanceKernel final : public InterestKernel {
  public:
    DistanceKernel(const KernelDesc& desc, bool three_d)
        : enter_squared_(desc.enter_m * desc.enter_m),
          leave_squared_(desc.leave_m * desc.leave_m),
          leave_m_(desc.leave_m),
          axes_(three_d ? 3 : 2) {}

    void test(const Question& q, std::span<Mask> out,
              std::span<Mask> unknown) const noexcept override {
        if (q.places.empty()) {
            for (Mask& mask : unknown) mask = all_lanes;
            return;
        }
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            const float* block = q.table.coordinates(q.blocks[i]);
            Mask near = 0;
            for (const Vec3 place : q.places)
                near |= lanes_within(block, axes_, place, enter_squared_);
            if (remembers() && (q.was[i] & ~near) != 0) {
                Mask still = 0;
                for (const Vec3 place : q.places) {
                    still |= lanes_within(block, axes_, place, leave_squared_);
                }
                near = static_cast<Mask>(near | (still & q.was[i]));
            }
            out[i] = near;
        }
    }
    bool remembers() const noexcept override { return leave_squared_ > enter_squared_; }
    float reach_m() const noexcept override { return leave_m_; }

  private:
    float enter_squared_;
    float leave_squared_;
    float leave_m_;
    unsigned axes_;
};

/// Same key in a domain; Key::none matches nobody.
class SameGroupKernel final : public InterestKernel {
  public:
    explicit SameGroupKernel(KeyDomain domain) : domain_(domain) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const Key own = q.keys[index_of(domain_)];
        if (own == Key::none) return;
        const auto keys = q.table.keys(index_of(domain_));
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            const Key* lane = keys.data() + std::size_t{q.blocks[i]} * lanes_per_block;
            std::uint32_t mask = 0;
            for (unsigned l = 0; l < lanes_per_block; ++l) {
                mask |= static_cast<std::uint32_t>(lane[l] == own) << l;
            }
            out[i] = static_cast<Mask>(mask);
        }
    }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    bool test_entity(const BlockTable& table, Slot slot) const noexcept override {
        return table.key(index_of(domain_), slot) != Key::none;
    }
    KeyDomain domain() const noexcept override { return domain_; }

  private:
    KeyDomain domain_;
};

/// The entity has the flag.
class FlagKernel final : public InterestKernel {
  public:
    explicit FlagKernel(FlagId flag) : flag_(flag) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const auto flags = q.table.flags(index_of(flag_));
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = flags[q.blocks[i]];
    }
    DependsOn depends_on() const noexcept override { return DependsOn::entity; }
    bool test_entity(const BlockTable& table, Slot slot) const noexcept override {
        return table.flag(index_of(flag_), slot);
    }

  private:
    FlagId flag_;
};

}  // namespace

std::unique_ptr<InterestKernel> make_kernel(const KernelDesc& desc, bool three_d) {
    switch (desc.type) {
        case KernelType::distance:
            return std::make_unique<DistanceKernel>(desc, three_d);
        case KernelType::same_group:
            return std::make_unique<SameGroupKernel>(desc.domain);
        case KernelType::flag:
            return std::make_unique<FlagKernel>(desc.flag);
    }
    return nullptr;
}

}  // namespace purview
