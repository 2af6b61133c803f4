// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Memory in pages of 2 MB: a world of a million entities is written all over in every tick, and
// with pages of 4 KB each of these writes looks its page up. What is smaller than such a page lies
// on shared ones, which stay with the process.
#pragma once

#include "purview/memory.hpp"

namespace purview::net {

/// For set_memory_hooks, first thing in main. Any thread; memory that cannot be had ends the
/// process.
MemoryHooks huge_page_hooks() noexcept;

}  // namespace purview::net
