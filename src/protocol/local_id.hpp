// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How packets name entities: a small number per connection, of the entity's ghost. A server reuses
// it after the leave is acknowledged.
#pragma once

#include <cstdint>

namespace purview {

using LocalId = std::uint32_t;
inline constexpr LocalId no_local_id = 0xffffffffU;
/// Local ids from this on are refused: far above any budget.
inline constexpr LocalId local_ids_max = 1U << 20;

}  // namespace purview
