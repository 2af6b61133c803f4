// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Prefetches memory that will be used soon.
#pragma once

namespace purview {

/// Prefetches the cache line of this address. Every address is allowed, even an invalid one.
inline void prefetch_line(const void* address) noexcept {
    __builtin_prefetch(address);
    // Some compilers consider a function without other effects pure and remove its calls.
    asm volatile("");
}

/// Prefetches a line that will be written next.
inline void prefetch_line_to_write(void* address) noexcept {
    __builtin_prefetch(address, 1);
    asm volatile("");
}

}  // namespace purview
