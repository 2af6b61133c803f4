// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Memory in pages of 2 MB. A world of a million entities writes to all of its memory in every tick,
// and with 4 KB pages these writes miss the TLB. Blocks of less than 2 MB share pages, which are
// never returned to the system.
#pragma once

#include "purview/extend/memory.hpp"

namespace purview::net {

/// For set_memory_hooks, at the start of main. Thread-safe. Failure to allocate aborts the process.
MemoryHooks huge_page_hooks() noexcept;

}  // namespace purview::net
