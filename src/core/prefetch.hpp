// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Memory that will be looked at soon.
#pragma once

namespace purview {

/// Starts to bring the line with this address near. It may be any address.
inline void prefetch_line(const void* address) noexcept {
    __builtin_prefetch(address);
    // A function that does nothing else is pure to some compilers: its calls would be left out.
    asm volatile("");
}

/// The same for a line that is written next.
inline void prefetch_line_to_write(void* address) noexcept {
    __builtin_prefetch(address, 1);
    asm volatile("");
}

}  // namespace purview
