// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entity data that kernels read, by slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "purview/types.hpp"
#include "spatial/lanes.hpp"

namespace purview {

/// A key besides the one in the key column.
struct DomainKey {
    KeyId domain = KeyId::none;
    Key key = Key::none;
    std::uint32_t count = 0;  ///< how often it was added
};

class BlockTable;
struct EntityFacts;

/// Read access to entity data, by slot. Valid for the length of the call.
class Slots {
  public:
    Slots(const BlockTable& table, const EntityFacts& facts,
          EntityId all = EntityId::none) noexcept;

    /// 2 or 3 coordinates.
    unsigned axes() const noexcept { return axes_; }
    /// [blocks * axes * 16]: each block has 16 x, then 16 y, then 16 z. An empty lane has x =
    /// +infinity.
    const float* coordinates() const noexcept { return coordinates_; }
    /// [blocks] lanes with an entity.
    std::span<const Mask> occupied() const noexcept { return occupied_; }
    /// [blocks] lanes with the flag; empty if no entity has it.
    std::span<const Mask> flags(FlagId flag) const noexcept;
    /// [blocks * 16] keys by slot.
    std::span<const Key> keys(KeyId domain) const noexcept;
    /// [blocks] lanes with further keys; empty if no entity has any.
    std::span<const Mask> lanes_with_more_keys() const noexcept;
    /// Further keys of an occupied lane.
    std::span<const DomainKey> more_keys(Slot slot) const noexcept;
    /// [blocks * 16] values by slot; empty if all are 0.
    std::span<const float> values(ValueId value) const noexcept;
    /// [blocks * 16] own ranges by slot, 0 without one; empty if no entity has one.
    std::span<const float> ranges() const noexcept;
    /// [blocks] lanes of groups with a radius; empty if there are none.
    std::span<const Mask> lanes_with_bounds() const noexcept;
    /// Returns the group radius, which is subtracted from the distance to the group, or 0.
    float bounds(Slot slot) const noexcept;
    std::uint32_t flag_count() const noexcept;
    std::uint32_t key_count() const noexcept;
    bool flag(FlagId flag, Slot slot) const noexcept;
    Vec3 position(Slot slot) const noexcept {
        const float* at =
            coordinates_ + std::size_t{block_of(slot)} * axes_ * lanes_per_block + lane_of(slot);
        return {at[0], at[lanes_per_block], axes_ == 3 ? at[2 * lanes_per_block] : 0};
    }
    /// Returns whether the entities of the block have no position.
    bool is_abstract(BlockIndex block) const noexcept;
    /// For an occupied lane. Also correct between two ticks, while is_abstract() has the state of
    /// the last tick.
    bool has_position(Slot slot) const noexcept;
    /// For an occupied lane.
    EntityId entity(Slot slot) const noexcept;
    /// Prefetches what position() and entities() read.
    void prefetch(BlockIndex block) const noexcept;
    /// Writes the entities of many occupied lanes, faster than one by one. out[slots.size()].
    void entities(std::span<const Slot> slots, std::span<EntityId> out) const noexcept;
    /// Returns the slot of an entity, or no_slot.
    Slot slot_of(EntityId entity) const noexcept;
    /// Returns the velocity set by Visibility::set_velocity, or 0.
    Vec3 velocity(EntityId entity) const noexcept;
    /// Returns whether the caller's y is the third axis here.
    bool is_y_up() const noexcept { return is_y_up_; }
    /// Converts a position to the axes of the manager's caller.
    Vec3 outer(Vec3 position) const noexcept {
        return is_y_up_ ? Vec3{position.x, position.z, position.y} : position;
    }

  private:
    const BlockTable* table_;
    const EntityFacts* facts_;
    const float* coordinates_;
    std::span<const Mask> occupied_;
    unsigned axes_;
    bool is_y_up_;
    EntityId all_;  ///< for explain: the entity that the evaluated copy stands for
};

}  // namespace purview
