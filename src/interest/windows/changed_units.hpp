// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Cull groups that changed in this tick and may be explicitly relevant, in three lists: all of
// them, if some observer sees everything; those that are open, which means shown to all observers;
// and those of each row.
//
// Invariant: a row is listed as touched exactly while it is not empty. Must not depend on scores.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/observers/observer_store.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class ChangedUnits {
  public:
    /// O(rows that are not empty). `sources`: number of row sources.
    void begin(std::size_t sources) {
        all_.clear();
        open_.clear();
        for (const SourceRow at : touched_) rows_[at.source][at.row].clear();
        touched_.clear();
        rows_.resize(sources);
    }
    void add(EntityId unit) { all_.push_back(unit); }
    void add_open(EntityId unit) { open_.push_back(unit); }
    void add_to_row(SourceRow at, EntityId unit) {
        PURVIEW_ASSERT(at.source < rows_.size());
        auto& rows = rows_[at.source];
        if (rows.size() <= at.row) rows.resize(at.row + 1);
        if (rows[at.row].empty()) touched_.push_back(at);
        rows[at.row].push_back(unit);
    }
    /// Calls visit(unit) for each that may be relevant to the observer. May visit one twice.
    template <class Visit>
    void for_each_of(const Observer& observer, bool sees_all, Visit&& visit) const {
        for (const EntityId unit : sees_all ? all_ : open_) visit(unit);
        for (const SourceRow at : observer.rows) {
            if (at.source >= rows_.size() || at.row >= rows_[at.source].size()) continue;
            for (const EntityId unit : rows_[at.source][at.row]) visit(unit);
        }
    }

    /// Asserts the invariant. O(rows).
    void validate() const {
        std::size_t filled = 0;
        for (const auto& rows : rows_) {
            for (const auto& row : rows) filled += row.empty() ? 0U : 1U;
        }
        PURVIEW_ASSERT(filled == touched_.size());
        for (const SourceRow at : touched_) PURVIEW_ASSERT(!rows_[at.source][at.row].empty());
    }

  private:
    std::vector<EntityId> all_;
    std::vector<EntityId> open_;
    std::vector<std::vector<std::vector<EntityId>>> rows_;  ///< by source and row
    std::vector<SourceRow> touched_;                        ///< rows that are not empty
};

}  // namespace purview
