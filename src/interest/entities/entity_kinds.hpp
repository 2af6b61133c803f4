// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The kind of each entity, by index.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/interest.hpp"
#include "purview/status.hpp"

namespace purview {

class EntityKinds {
  public:
    /// Returns KindId::none if the entity has no kind.
    KindId of(std::uint32_t index) const noexcept {
        return index < kinds_.size() ? kinds_[index] : KindId::none;
    }
    void set(std::uint32_t index, KindId kind) {
        if (kind != KindId::none && kinds_.size() <= index)
            kinds_.resize(index + 1 + index / 8, KindId::none);
        if (index < kinds_.size()) kinds_[index] = kind;
        PURVIEW_ASSERT(of(index) == kind);
    }

  private:
    std::vector<KindId> kinds_;  ///< shorter than the entities: the others have none
};

}  // namespace purview
