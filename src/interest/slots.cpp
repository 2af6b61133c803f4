// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/kernel.hpp"
#include "spatial/block_table.hpp"

namespace purview {

Slots::Slots(const BlockTable& table, EntityId all) noexcept
    : table_(&table),
      coordinates_(table.coordinates(0)),
      occupied_(table.occupied()),
      axes_(table.is_three_d() ? 3 : 2),
      all_(all) {}
std::span<const Mask> Slots::flags(FlagId flag) const noexcept {
    return table_->flags(index_of(flag));
}
std::span<const Key> Slots::keys(KeyDomain domain) const noexcept {
    return table_->keys(index_of(domain));
}
bool Slots::flag(FlagId flag, Slot slot) const noexcept {
    return table_->flag(index_of(flag), slot);
}
Vec3 Slots::place(Slot slot) const noexcept {
    return table_->place(slot);
}
bool Slots::is_unplaced(BlockIndex block) const noexcept {
    return table_->is_unplaced(block);
}
EntityId Slots::entity(Slot slot) const noexcept {
    return all_ != EntityId::none ? all_ : table_->entity(slot);
}

}  // namespace purview
