// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What several observers share: the members of a team, a room, a match, an inner node. Stored once
// per key, edited when a fact changes, referred to by every observer that has the key. Copied into
// windows instead, 20 teams of 500 cost seven times the bare rule. Must not know: places, windows,
// pairs.
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

/// One key. A member is live when the filters behind the add let it through.
struct Row {
    std::vector<EntityId> members;   ///< by lane; none where a lane is free
    std::vector<std::uint8_t> live;  ///< [members.size()]
    std::vector<std::uint32_t> free_lanes;
    std::vector<std::uint32_t> observers;  ///< indices, in no particular order
    std::uint64_t key = 0;
};

/// All rows of one source: entities and observers by key. Both may be in several.
class RowStore {
  public:
    struct Membership {
        std::uint32_t row = no_row;
        std::uint32_t lane = 0;
    };

    /// The row of a key, made where there was none. It is given back when the last member or
    /// observer leaves it; whoever has asked for it joins or subscribes before anybody leaves one
    /// of the same key.
    std::uint32_t row_of(std::uint64_t key);
    /// Rows that are in use.
    std::size_t size() const noexcept { return rows_.size() - free_rows_.size(); }
    const Row& row(std::uint32_t row) const noexcept { return rows_[row]; }

    /// Rows that the entity is a member of. Valid until the next edit.
    std::span<const Membership> memberships(EntityId entity) const noexcept;
    bool is_live(Membership at) const noexcept { return rows_[at.row].live[at.lane] != 0; }
    /// It is in exactly these rows, live in all of them or in none.
    bool has_memberships(EntityId entity, std::span<const std::uint32_t> rows,
                         bool live) const noexcept;
    /// Exactly these rows from now on; `rows` is ascending, without repetition.
    void set_memberships(EntityId entity, std::span<const std::uint32_t> rows, bool live);
    void remove(EntityId entity) { set_memberships(entity, {}, false); }

    void subscribe(std::uint32_t row, std::uint32_t observer) {
        std::vector<std::uint32_t>& its = rows_[row].observers;
        PURVIEW_ASSERT(std::find(its.begin(), its.end(), observer) == its.end());
        its.push_back(observer);
    }
    /// Of one who looks into the row.
    void unsubscribe(std::uint32_t row, std::uint32_t observer);
    /// Asserts that rows and memberships say the same, and that no other row is in use.
    /// O(memberships).
    void validate() const;

  private:
    /// One membership in place, more of them aside.
    struct Member {
        Membership first;
        std::uint32_t list = no_row;  ///< into lists_, all of them; or no_row: only `first`
    };
    Membership join(EntityId entity, std::uint32_t row, bool live);
    void leave(Membership at);
    void settle(std::uint32_t row);

    std::vector<Row> rows_;
    std::vector<std::uint32_t> free_rows_;
    FlatMap<std::uint64_t, std::uint32_t, ~std::uint64_t{0}> row_by_key_;
    std::uint32_t last_row_ = no_row;  ///< of the largest key
    EntityMap<Member> members_;
    std::vector<std::vector<Membership>> lists_;
    std::vector<std::uint32_t> free_lists_;
    std::vector<Membership> kept_;
};

}  // namespace purview
