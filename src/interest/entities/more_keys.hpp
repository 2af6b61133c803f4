// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Keys of entities and observers besides the one in the key column, such as overlapping rooms. They
// are counted: a key that was added for two reasons must be removed twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/entities/slots.hpp"

namespace purview {

class MoreKeys {
  public:
    /// Returns the keys by entity or observer index, each key once.
    std::span<const DomainKey> of(std::uint32_t index) const noexcept;
    bool any() const noexcept { return lists_by_.size() > 0; }
    /// Returns whether the key is new.
    bool add(std::uint32_t index, KeyId domain, Key key);
    /// Returns the remaining count of the key, or -1 if it was not there.
    int remove(std::uint32_t index, KeyId domain, Key key);
    void clear(std::uint32_t index);
    /// Asserts that each list has each key once, and that all other lists are free. O(keys).
    void validate() const;

  private:
    FlatMap<std::uint32_t, std::uint32_t> lists_by_;  ///< index -> list
    std::vector<std::vector<DomainKey>> lists_;
    std::vector<std::uint32_t> free_;
};

}  // namespace purview
