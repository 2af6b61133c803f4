// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Flag columns of the block table that mark the members of nodes. Nodes with equal steps share one.
// Invariant: a column is free or used by at least one node, never both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "interest/rules/program.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "spatial/block_table.hpp"

namespace purview {

class MemberColumns {
  public:
    /// Returns no_column if the node needs none.
    std::uint32_t of(NodeId node) const noexcept {
        const std::uint32_t n = index_of(node);
        return n < columns_.size() ? columns_[n] : no_column;
    }
    /// Clears and frees all columns. `nodes`: the new number of nodes.
    void reset(BlockTable& table, std::size_t nodes) {
        std::sort(columns_.begin(), columns_.end());
        columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
        for (const std::uint32_t column : columns_) {
            if (column == no_column) continue;
            table.clear_flag_column(column);
            free_.push_back(column);
        }
        columns_.assign(nodes, no_column);
    }
    /// Takes one column for these nodes.
    std::uint32_t acquire(BlockTable& table, std::span<const NodeId> nodes) {
        if (free_.empty()) free_.push_back(table.add_flag_column());
        const std::uint32_t column = free_.back();
        free_.pop_back();
        PURVIEW_ASSERT(table.flags(column).empty());  // no entity is a member yet
        for (const NodeId node : nodes) columns_[index_of(node)] = column;
        return column;
    }

    /// Asserts the invariant. O(free columns * nodes).
    void validate() const {
        for (const std::uint32_t column : free_)
            PURVIEW_ASSERT(std::find(columns_.begin(), columns_.end(), column) == columns_.end());
    }

  private:
    std::vector<std::uint32_t> columns_;  ///< by node
    std::vector<std::uint32_t> free_;
};

}  // namespace purview
