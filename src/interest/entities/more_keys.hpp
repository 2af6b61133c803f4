// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups that somebody belongs to beside the one in the key column: overlapping rooms. Counted, so
// that two reasons for the same room need two takings back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "purview/kernel.hpp"

namespace purview {

class MoreKeys {
  public:
    /// By entity or observer index; one of each key.
    std::span<const DomainKey> of(std::uint32_t index) const noexcept;
    bool any() const noexcept { return lists_by_.size() > 0; }
    /// True: it has the key only now.
    bool add(std::uint32_t index, KeyId domain, Key key);
    /// How often it is still there, or -1: it was not.
    int remove(std::uint32_t index, KeyId domain, Key key);
    void clear(std::uint32_t index);
    /// Asserts that each list has each key once, and that all others are free. O(keys).
    void validate() const;

  private:
    FlatMap<std::uint32_t, std::uint32_t> lists_by_;  ///< index -> list
    std::vector<std::vector<DomainKey>> lists_;
    std::vector<std::uint32_t> free_;
};

}  // namespace purview
