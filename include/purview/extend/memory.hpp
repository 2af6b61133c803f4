// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Memory of the data that every tick uses: entities and their values, visible block sets,
/// observers and their overrides, sessions and their ghosts. There are two functions per process;
/// set them before any other use of the library. Without them, and always for small lists, the
/// library uses operator new.
#pragma once

#include <cstddef>

namespace purview {

/// @addtogroup api_extend
/// @{

/// The allocation functions of the process.
struct MemoryHooks {
    /// Returns `bytes` of memory at a multiple of `alignment` (a power of two). Never null: if
    /// there is no memory, it must end the process, as operator new without exceptions does. Called
    /// on any thread.
    void* (*allocate)(std::size_t bytes, std::size_t alignment, void* user) = nullptr;
    /// Releases memory that `allocate` returned, with the same numbers. Called on any thread.
    void (*release)(void* memory, std::size_t bytes, std::size_t alignment, void* user) = nullptr;
    void* user = nullptr;  ///< passed to both functions; not owned
};

/// Sets the allocation functions. Must not be called while any object of the library exists: its
/// memory would be released by the wrong function. Both null: operator new.
void set_memory_hooks(const MemoryHooks& hooks) noexcept;

/// @}

}  // namespace purview
