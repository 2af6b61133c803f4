// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One number for all that a server is: every component of every entity, every relevant set, every
// ghost table, every call that waits. Two servers with the same history have the same; it costs a
// walk over all of it.
#pragma once

#include <cstdint>

#include "purview/server.hpp"

namespace purview::record {

/// Between ticks.
std::uint64_t state_hash(const Server& server);

}  // namespace purview::record
