// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/kernel.hpp"

#include "spatial/lane_test.hpp"

namespace purview {

namespace {

/// Within enter_m of any place of the observer; whoever was in stays in up to leave_m.
class DistanceKernel final : public InterestKernel {
  public:
    explicit DistanceKernel(const KernelDesc& desc)
        : enter_squared_(desc.enter_m * desc.enter_m),
          leave_squared_(desc.leave_m * desc.leave_m),
          enter_m_(desc.enter_m),
          leave_m_(desc.leave_m) {}

    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.inside; ++i) out[i] = q.table.occupied(q.blocks[i]);
        for (const Vec3 place : q.places) {
            add_lanes_within(q.table, q.blocks.subspan(q.inside), place, enter_squared_,
                             out.subspan(q.inside));
        }
        if (!remembers()) return;
        // Only whoever was in, and is not within enter_m, is measured again.
        for (std::size_t i = q.inside; i < q.blocks.size(); ++i) {
            if ((q.was[i] & ~out[i]) == 0) continue;
            Mask still = 0;
            for (const Vec3 place : q.places) {
                add_lanes_within(q.table, q.blocks.subspan(i, 1), place, leave_squared_,
                                 std::span(&still, 1));
            }
            out[i] = static_cast<Mask>(out[i] | (still & q.was[i]));
        }
    }
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
        if (flags.empty()) return;
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

std::unique_ptr<InterestKernel> make_kernel(const KernelDesc& desc) {
    switch (desc.type) {
        case KernelType::distance:
            return std::make_unique<DistanceKernel>(desc);
        case KernelType::same_group:
            return std::make_unique<SameGroupKernel>(desc.domain);
        case KernelType::flag:
            return std::make_unique<FlagKernel>(desc.flag);
    }
    return nullptr;
}

}  // namespace purview
