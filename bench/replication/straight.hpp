// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The encoder that everybody writes first, to compare ours with: list what has changed; for each
// observer, write the number and all fields of whatever on the list is near. No sharing, no masks,
// no deltas, no budget, nothing remembered about anybody, so whoever comes near learns nothing of
// what rests, and what is lost stays lost. The same bit writer and the same field widths as ours.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/world.hpp"
#include "replication/schema_codec.hpp"

namespace purview::bench {

class StraightEncoder {
  public:
    StraightEncoder(const Schema& schema, float range_m);

    /// One tick for all observers, who stand on these entities. `changed`: by entity index; null:
    /// everything is listed in every tick. Returns the bytes of all, with a sequence number and the
    /// tick before each observer's.
    std::uint64_t encode(const World& world, const std::vector<EntityId>& observers,
                         const std::vector<bool>* changed);
    /// Milliseconds of the last call.
    double ms() const noexcept { return ms_; }

  private:
    struct Listed {
        Vec3 place;
        EntityId entity;
        KindId kind;
    };
    const Schema* schema_;
    float range_m_;
    std::vector<Listed> list_;
    std::vector<std::byte> out_;
    double ms_ = 0;
};

}  // namespace purview::bench
