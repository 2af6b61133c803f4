// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the world's values are on the wire, and since when. Every value is quantised once per tick;
// a field has changed when its quantised value has. Fields are left out of an update by their tick
// of change, never by comparing values with a baseline: a value may go A, B, A while B is under
// way. Must not know: observers, ghosts, slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "replication/schema_codec.hpp"
#include "world/world_data.hpp"

namespace purview {

/// One bit for each field of a kind, all components together.
using FieldMask = std::uint64_t;

class FieldStore {
  public:
    explicit FieldStore(const Schema& schema);

    /// Quantises everything written this tick. Afterwards changed() names the entities that differ.
    void diff(const WorldData& world, Tick tick);

    /// By entity index: differs from last tick in a field or in its parent. Spawned ones count.
    const Bitset& changed() const noexcept { return changed_; }
    std::span<const KindField> fields(KindId kind) const noexcept { return kinds_[index_of(kind)]; }
    std::uint32_t value(std::uint32_t entity_index, const KindField& field) const noexcept {
        return columns_[index_of(field.component)].values[at(entity_index, field)];
    }
    Tick changed_tick(std::uint32_t entity_index, const KindField& field) const noexcept {
        return columns_[index_of(field.component)].ticks[at(entity_index, field)];
    }
    /// Tick of the last attach or detach; 0: never.
    Tick parent_tick(std::uint32_t entity_index) const noexcept {
        return entity_index < parent_ticks_.size() ? parent_ticks_[entity_index] : 0;
    }
    /// Fields that changed after `baseline`.
    FieldMask changed_since(std::uint32_t entity_index, KindId kind, Tick baseline) const noexcept;

    /// Test builds: spoil one thing (PURVIEW_BREAKABLE).
    std::uint32_t break_stale_every = 0;

  private:
    struct Column {
        std::size_t fields = 0;
        std::vector<std::uint32_t> values;  ///< [entities][fields]
        std::vector<Tick> ticks;            ///< [entities][fields]
    };
    std::size_t at(std::uint32_t entity_index, const KindField& field) const noexcept {
        return std::size_t{entity_index} * columns_[index_of(field.component)].fields + field.field;
    }
    void grow(std::uint32_t entities);
    bool quantise_component(const WorldData& world, std::uint32_t index, ComponentId component,
                            Tick tick, bool all);

    const Schema* schema_;
    std::vector<std::vector<KindField>> kinds_;
    std::vector<Column> columns_;
    std::vector<Tick> parent_ticks_;
    Bitset changed_;
    Bitset spawned_;
};

}  // namespace purview
