// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/extend/memory.hpp"

#include <new>

#include "core/aligned.hpp"

namespace purview {

namespace {
MemoryHooks g_hooks;
}

void set_memory_hooks(const MemoryHooks& hooks) noexcept {
    g_hooks = hooks;
}

void* allocate_memory(std::size_t bytes, std::size_t alignment) {
    if (g_hooks.allocate != nullptr) return g_hooks.allocate(bytes, alignment, g_hooks.user);
    return ::operator new (bytes, std::align_val_t{alignment});
}

void release_memory(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
    if (g_hooks.release != nullptr) return g_hooks.release(memory, bytes, alignment, g_hooks.user);
    ::operator delete (memory, std::align_val_t{alignment});
}

}  // namespace purview
