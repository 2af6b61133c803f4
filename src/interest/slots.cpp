// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/kernel.hpp"
#include "spatial/block_table.hpp"

namespace purview {

unsigned Slots::axes() const noexcept {
    return table_->is_three_d() ? 3 : 2;
}
const float* Slots::coordinates() const noexcept {
    return table_->coordinates(0);
}
std::span<const Mask> Slots::occupied() const noexcept {
    return table_->occupied();
}
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
