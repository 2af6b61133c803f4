// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Flags, keys and values of entities: the component values that interest reads.
//
// Invariants: an attribute matches its component as of the last settle; numbers are finite. If the
// spawn of an entity is not tracked yet, no change is recorded, because the spawn contains the
// values.
//
// Must not depend on how interest uses them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/schema.hpp"
#include "purview/types.hpp"
#include "world/component_table.hpp"
#include "world/entity_table.hpp"
#include "world/op_summary.hpp"

namespace purview {

/// A flag, key or value of an entity that changed since the last tick. Exactly one of the three ids
/// is set.
struct AttributeChange {
    EntityId entity;
    FlagId flag = FlagId::none;
    KeyId domain = KeyId::none;
    Key key = Key::none;  ///< the new key; for a flag: 1 or 0
    ValueId value = ValueId::none;
    float number = 0;  ///< the new value
};

class AttributeTable {
  public:
    AttributeTable(const EntityTable& entities, const ComponentTable& components,
                   const OpSummary& summary);

    void add(std::uint32_t index);
    std::uint16_t flags_at(std::uint32_t index) const noexcept { return flags_[index]; }
    Key key_at(std::uint32_t index, KeyId domain) const noexcept {
        return keys_[index_of(domain)][index];
    }
    float value_at(std::uint32_t index, ValueId value) const noexcept {
        return values_[index_of(value)][index];
    }

    /// Reads the components that were written in these words.
    void settle(WordRange among);
    /// Changes of this tick.
    std::span<const AttributeChange> changes() const noexcept { return changes_; }
    /// Changes since the last call.
    std::span<const AttributeChange> track_changes() noexcept;
    void clear_changes() noexcept;

    void validate() const;

  private:
    void settle(std::uint32_t index, bool report);

    const Schema& schema_;
    const EntityTable& entities_;
    const ComponentTable& components_;
    const OpSummary& summary_;
    std::uint32_t read_components_ = 0;  ///< components that an attribute reads, one bit each
    std::vector<std::uint16_t> flags_;
    std::array<std::vector<Key>, Schema::keys_max> keys_;
    std::array<std::vector<float>, Schema::values_max> values_;
    std::vector<AttributeChange> changes_;
    std::size_t tracked_changes_ = 0;
};

}  // namespace purview
