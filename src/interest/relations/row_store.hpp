// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rows: shared interest groups, such as the members of a team, a room, a match or an inner node. A
// row is stored once per key, edited when a fact changes, and referenced by every observer that has
// the key. If windows contained the members instead, 20 teams of 500 would cost seven times as much
// as the distance rule alone. Must not depend on positions, windows or pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/entity_map.hpp"
#include "core/flat_map.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

inline constexpr std::uint32_t no_row = 0xffffffffU;

/// The row of one key. A member is live if the filters after the add step accept it.
struct Row {
    std::vector<EntityId> members;   ///< none: the index is free
    std::vector<std::uint8_t> live;  ///< [members.size()]
    std::vector<std::uint32_t> free_indices;
    std::vector<std::uint32_t> observers;  ///< indices, in no particular order
    std::uint64_t key = 0;
};

/// All rows of one source: entities and observers by key. An entity or observer may be in several.
class RowStore {
  public:
    struct Membership {
        std::uint32_t row = no_row;
        std::uint32_t index = 0;  ///< in Row::members
    };

    /// Returns the row of a key and creates it if missing. It is freed when its last member or
    /// observer leaves. So the caller must join or subscribe to it before anything leaves a row of
    /// the same key.
    std::uint32_t row_of(std::uint64_t key);
    /// Returns the number of rows in use.
    std::size_t size() const noexcept { return rows_.size() - free_rows_.size(); }
    const Row& row(std::uint32_t row) const noexcept { return rows_[row]; }

    /// Returns the rows that have the entity as a member. Valid until the next edit.
    std::span<const Membership> memberships(EntityId entity) const noexcept;
    bool is_live(Membership at) const noexcept { return rows_[at.row].live[at.index] != 0; }
    /// Returns whether the entity is in exactly these rows, and live in all of them (`live`) or in
    /// none.
    bool has_memberships(EntityId entity, std::span<const std::uint32_t> rows,
                         bool live) const noexcept;
    /// Puts the entity into exactly these rows. `rows` is ascending, without repetition.
    void set_memberships(EntityId entity, std::span<const std::uint32_t> rows, bool live);
    void remove(EntityId entity) { set_memberships(entity, {}, false); }

    void subscribe(std::uint32_t row, std::uint32_t observer) {
        std::vector<std::uint32_t>& its = rows_[row].observers;
        PURVIEW_ASSERT(std::find(its.begin(), its.end(), observer) == its.end());
        its.push_back(observer);
    }
    /// Removes an observer that reads the row.
    void unsubscribe(std::uint32_t row, std::uint32_t observer);
    /// Asserts that rows and memberships agree, and that no other row is in use. O(memberships).
    void validate() const;

  private:
    /// One membership is stored in place; several are stored in a list.
    struct Member {
        Membership first;
        std::uint32_t list = no_row;  ///< index of all memberships in lists_; no_row: only `first`
    };
    Membership join(EntityId entity, std::uint32_t row, bool live);
    void leave(Membership at);
    void free_if_unused(std::uint32_t row);

    std::vector<Row> rows_;
    std::vector<std::uint32_t> free_rows_;
    FlatMap<std::uint64_t, std::uint32_t, ~std::uint64_t{0}> row_by_key_;
    std::uint32_t last_row_ = no_row;  ///< for the largest key
    EntityMap<Member> members_;
    std::vector<std::vector<Membership>> lists_;
    std::vector<std::uint32_t> free_lists_;
    std::vector<Membership> kept_;
};

}  // namespace purview
