// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How packets identify entities: a small number per connection, which identifies the entity's
// ghost. A server reuses it after the leave is acknowledged.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

using LocalId = std::uint32_t;
inline constexpr LocalId no_local_id = 0xffffffffU;
/// Local ids from this one on are refused. This is far above any budget.
inline constexpr LocalId local_ids_max = 1U << 20;

/// Returns the id of the ghost in the client API, or none for no_local_id. A reference field has
/// the same number.
constexpr GhostId ghost_id_of(LocalId id) noexcept {
    return GhostId{id + 1};
}
/// Returns no_local_id for none.
constexpr LocalId local_id_of(GhostId ghost) noexcept {
    return index_of(ghost);
}
static_assert(local_id_of(GhostId::none) == no_local_id &&
              ghost_id_of(no_local_id) == GhostId::none);

}  // namespace purview
