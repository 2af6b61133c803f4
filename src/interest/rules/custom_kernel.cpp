// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/custom_kernel.hpp"

#include <utility>

#include "purview/extend/kernel.hpp"
#include "purview/status.hpp"

namespace purview {

static_assert(EntityBlocks::lanes == lanes_per_block);

EntityBlocks::EntityBlocks(const Slots& slots) noexcept
    : slots_(&slots),
      coordinates_(slots.coordinates()),
      occupied_(slots.occupied().data()),
      axes_(slots.axes()),
      is_y_up_(slots.is_y_up()) {}
std::uint16_t EntityBlocks::with_flag(std::uint32_t block, FlagId flag) const noexcept {
    const std::span<const Mask> all = slots_->flags(flag);
    return all.empty() ? Mask{0} : all[block];
}
const Key* EntityBlocks::keys(std::uint32_t block, KeyId key) const noexcept {
    return slots_->keys(key).data() + std::size_t{block} * lanes;
}
const float* EntityBlocks::values(std::uint32_t block, ValueId value) const noexcept {
    const std::span<const float> all = slots_->values(value);
    return all.empty() ? zeros.data() : all.data() + std::size_t{block} * lanes;
}
EntityId EntityBlocks::entity(std::uint32_t block, unsigned lane) const noexcept {
    return slots_->entity(slot_at(block, lane));
}
bool EntityBlocks::has_flag(EntityId entity, FlagId flag) const noexcept {
    const Slot slot = slots_->slot_of(entity);
    return slot != no_slot && slots_->flag(flag, slot);
}
float EntityBlocks::value(EntityId entity, ValueId value) const noexcept {
    const Slot slot = slots_->slot_of(entity);
    const std::span<const float> all = slots_->values(value);
    return slot == no_slot || all.empty() ? 0 : all[slot];
}

class CustomAdapter final : public InterestKernel {
  public:
    explicit CustomAdapter(std::shared_ptr<const CustomKernel> kernel)
        : kernel_(std::move(kernel)) {}

    static const InterestKernel* inner(const KernelBase& kernel) noexcept {
        return kernel.library_kernel();
    }
    void test(const KernelQuery& q, std::span<Mask> out,
              std::span<Mask> unknown) const noexcept override {
        const EntityBlocks entities(q.slots);
        kernel_->test(query_of(q, q.requested, entities), out, unknown);
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const EntityBlocks entities(q.slots);
        return kernel_->describe(query_of(q, q.requested, entities), lane);
    }
    void score(const KernelQuery& q, std::span<const Mask> requested,
               std::span<float> out) const noexcept override {
        const EntityBlocks entities(q.slots);
        kernel_->score(query_of(q, requested, entities), out);
    }
    bool answers_unknown() const noexcept override { return kernel_->traits().returns_unknown; }
    bool remembers() const noexcept override { return kernel_->traits().remembers; }
    float reach() const noexcept override { return kernel_->traits().reach; }
    bool reads_positions() const noexcept override { return kernel_->traits().reads_positions; }
    bool needs_every_tick() const noexcept override { return kernel_->traits().every_tick; }

  private:
    static BlockQuery query_of(const KernelQuery& q, std::span<const Mask> lanes,
                               const EntityBlocks& entities) noexcept {
        return {q.observer,
                q.context.main,
                q.context.outer_positions,
                q.keys,
                q.context.outer_areas,
                q.context.range,
                q.context.tick,
                q.blocks,
                lanes,
                q.was,
                entities};
    }

    std::shared_ptr<const CustomKernel> kernel_;
};

std::shared_ptr<const InterestKernel> engine_kernel(
    const std::shared_ptr<const KernelBase>& kernel) {
    PURVIEW_ASSERT(kernel != nullptr);
    if (const InterestKernel* own = CustomAdapter::inner(*kernel); own != nullptr)
        return {kernel, own};
    return std::make_shared<CustomAdapter>(std::static_pointer_cast<const CustomKernel>(kernel));
}

}  // namespace purview
