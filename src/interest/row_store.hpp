// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What all observers of one key share: the members of a team, a room, a match. Stored once per key,
// edited when a fact changes, referred to by every observer that has the key. Copied into windows
// instead, 20 teams of 500 cost seven times the bare rule. Must not know: places, windows, pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/program.hpp"
#include "purview/ids.hpp"

namespace purview {

inline constexpr std::uint32_t no_row = 0xffffffffU;

/// One key of one source. A member is live when the filters behind the add let it through.
struct Row {
    std::vector<EntityId> members;   ///< by lane; none where a lane is free
    std::vector<std::uint8_t> live;  ///< [members.size()]
    std::vector<std::uint32_t> free_lanes;
    std::vector<std::uint32_t> observers;  ///< indices, in no particular order
};

/// All rows of one source.
class RowStore {
  public:
    explicit RowStore(const RowSource& source) : source_(&source) {}
    const RowSource& source() const noexcept { return *source_; }

    /// The row that an entity at this slot belongs to, made where there was none; no_row: to none.
    std::uint32_t row_for_entity(const BlockTable& table, Slot slot);
    /// The row that an observer with these keys reads, made where there was none; or no_row.
    std::uint32_t row_for_observer(std::span<const Key> keys);
    bool passes_filters(const BlockTable& table, Slot slot) const noexcept;

    struct Membership {
        std::uint32_t row = no_row;
        std::uint32_t lane = 0;
    };
    /// Where the entity is a member, or row = no_row.
    Membership membership(EntityId entity) const noexcept;
    bool is_live(Membership at) const noexcept {
        return at.row != no_row && rows_[at.row].live[at.lane] != 0;
    }
    Membership add(EntityId entity, std::uint32_t row);
    void remove(EntityId entity);
    void set_live(Membership at, bool live) noexcept { rows_[at.row].live[at.lane] = live ? 1 : 0; }
    const Row& row(std::uint32_t row) const noexcept { return rows_[row]; }
    void subscribe(std::uint32_t row, std::uint32_t observer) {
        rows_[row].observers.push_back(observer);
    }
    void unsubscribe(std::uint32_t row, std::uint32_t observer) noexcept;

  private:
    std::uint32_t row_of_key(Key key);

    const RowSource* source_;
    std::vector<Row> rows_;
    FlatMap<std::uint32_t, std::uint32_t> row_by_key_;
    FlatMap<std::uint32_t, Membership> members_;  ///< by entity index
};

}  // namespace purview
