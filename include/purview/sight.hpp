// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Line of sight: what stands between a place and an entity, asked in batches (M28, M38 of
// docs/coverage.md).
#pragma once

#include <cstdint>
#include <span>

#include "purview/types.hpp"

namespace purview {

struct Ray {
    EntityId entity;
    Vec3 from;
    Vec3 to;
};

/// Your physics engine. Any thread may ask; the same question in the same tick must have the same
/// answer.
class RayTest {
  public:
    virtual ~RayTest() = default;
    /// visible[n], zeroed by the caller: 1 where nothing is in the way. All queries of one call are
    /// of one observer, in a fixed order.
    virtual void test(ObserverId observer, std::span<const Ray> queries,
                      std::span<std::uint8_t> visible) const noexcept = 0;
};

}  // namespace purview
