// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <algorithm>

#include "core/prefetch.hpp"
#include "interest/entities/entity_facts.hpp"
#include "interest/entities/slots.hpp"
#include "purview/status.hpp"

namespace purview {

Slots::Slots(const BlockTable& table, const EntityFacts& facts, EntityId all) noexcept
    : table_(&table),
      facts_(&facts),
      coordinates_(table.coordinates(0)),
      occupied_(table.occupied()),
      axes_(table.is_three_d() ? 3 : 2),
      is_y_up_(facts.axes == Axes::xz),
      all_(all) {}
std::span<const Mask> Slots::flags(FlagId flag) const noexcept {
    return table_->flags(index_of(flag));
}
std::span<const Key> Slots::keys(KeyId domain) const noexcept {
    return table_->keys(index_of(domain));
}
std::span<const Mask> Slots::lanes_with_more_keys() const noexcept {
    return table_->flags(facts_->columns.more_keys);
}
std::span<const DomainKey> Slots::more_keys(Slot slot) const noexcept {
    return facts_->more_keys.of(index_of(entity(slot)));
}
std::span<const float> Slots::values(ValueId value) const noexcept {
    return table_->floats(index_of(value));
}
std::span<const float> Slots::ranges() const noexcept {
    return table_->floats(facts_->columns.range);
}
std::span<const Mask> Slots::lanes_with_bounds() const noexcept {
    return table_->flags(facts_->columns.bounded);
}
float Slots::bounds(Slot slot) const noexcept {
    return table_->number(facts_->columns.bounds, slot);
}
std::uint32_t Slots::flag_count() const noexcept {
    return facts_->columns.flags;
}
std::uint32_t Slots::key_count() const noexcept {
    return facts_->columns.keys;
}
bool Slots::flag(FlagId flag, Slot slot) const noexcept {
    return table_->flag(index_of(flag), slot);
}
bool Slots::is_abstract(BlockIndex block) const noexcept {
    return table_->is_abstract(block);
}
bool Slots::has_position(Slot slot) const noexcept {
    return table_->will_be_positioned(slot);
}
void Slots::prefetch(BlockIndex block) const noexcept {
    const float* at = table_->coordinates(block);
    for (unsigned f = 0; f < axes_ * lanes_per_block; f += lanes_per_block) prefetch_line(at + f);
    table_->prefetch_entity(slot_at(block, 0));
}
EntityId Slots::entity(Slot slot) const noexcept {
    return all_ != EntityId::none ? all_ : table_->entity(slot);
}
void Slots::entities(std::span<const Slot> slots, std::span<EntityId> out) const noexcept {
    PURVIEW_ASSERT(out.size() >= slots.size());
    if (all_ != EntityId::none) {
        std::fill_n(out.begin(), slots.size(), all_);
        return;
    }
    table_->entities(slots, out);
}
Vec3 Slots::velocity(EntityId entity) const noexcept {
    return facts_->velocity(entity);
}
Slot Slots::slot_of(EntityId entity) const noexcept {
    if (all_ == EntityId::none) return table_->slot_of(entity);
    return entity == all_ ? table_->slot_of(make_entity_id(0, 1)) : no_slot;
}

}  // namespace purview
