// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A hash of the whole state of a server: all components of all entities, all relevant sets, all
// ghost tables, all pending calls. Servers with the same history have equal hashes. O(hashed data).
#pragma once

#include <cstdint>

#include "purview/server.hpp"

namespace purview::record {

/// Call between ticks.
std::uint64_t state_hash(const Server& server);

}  // namespace purview::record
