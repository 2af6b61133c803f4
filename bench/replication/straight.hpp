// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The encoder that everybody writes first, to compare ours with: for each observer, look at every
// entity; if it is near and has changed, write its number and all of its fields. No sharing, no
// masks, no deltas, no budget, nothing remembered about anybody; the same bit writer and the same
// field widths as ours.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/world.hpp"
#include "replication/schema_codec.hpp"

namespace purview::bench {

class StraightEncoder {
  public:
    StraightEncoder(const Schema& schema, float range_m);

    /// One tick: everything for all observers, who stand on these entities. `changed`: by entity
    /// index. Returns the bytes of all, with a sequence number and the tick before each observer's.
    std::uint64_t encode(const World& world, const std::vector<EntityId>& observers,
                         const std::vector<bool>& changed);
    /// Milliseconds of the last call.
    double ms() const noexcept { return ms_; }

  private:
    const Schema* schema_;
    float range_m_;
    std::vector<std::byte> out_;
    double ms_ = 0;
};

}  // namespace purview::bench
