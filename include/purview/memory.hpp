// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where that comes from which every tick goes through: entities and their values, windows,
// observers and their pairs, sessions and what they hold. Two C functions for the whole process,
// set before anything else of the library is used; without them, and for small lists in any case,
// it is operator new.
#pragma once

#include <cstddef>

namespace purview {

struct MemoryHooks {
    /// `bytes` at a multiple of `alignment` (a power of two). Never null: what cannot be had must
    /// end the process, as operator new without exceptions does. Any thread.
    void* (*allocate)(std::size_t bytes, std::size_t alignment, void* user) = nullptr;
    /// What allocate gave, with the same numbers. Any thread.
    void (*release)(void* memory, std::size_t bytes, std::size_t alignment, void* user) = nullptr;
    void* user = nullptr;  ///< handed to both
};

/// Not while anything of the library is alive: its memory would go back to the wrong place. Both
/// functions null: operator new again.
void set_memory_hooks(const MemoryHooks& hooks) noexcept;

}  // namespace purview
