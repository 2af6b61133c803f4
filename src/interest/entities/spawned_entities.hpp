// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entities that were spawned since the last tick, by index. Invariant: list_ contains the index
// of each set bit exactly once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/bitset.hpp"
#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

class SpawnedEntities {
  public:
    bool empty() const noexcept { return list_.empty(); }
    bool contains(std::uint32_t index) const noexcept {
        return index < spawned_.size() && spawned_.test(index);
    }
    void add(std::uint32_t index) {
        if (spawned_.size() <= index)
            spawned_.resize(std::max<std::size_t>(index + 1, spawned_.size() * 9 / 8));
        if (spawned_.test(index)) return;
        spawned_.set(index);
        list_.push_back(index);
    }
    void clear() {
        for (const std::uint32_t index : list_) {
            PURVIEW_ASSERT(spawned_.test(index));  // fails for a duplicate in list_
            spawned_.reset(index);
        }
        clear_and_trim(list_);
    }

  private:
    Bitset spawned_;
    std::vector<std::uint32_t> list_;
};

}  // namespace purview
