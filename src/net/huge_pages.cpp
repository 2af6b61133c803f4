// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdlib>

namespace purview::net {

namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20;

void* allocate(std::size_t bytes, std::size_t alignment, void*) {
    const bool large = bytes >= page_bytes;
    const std::size_t align = large ? page_bytes : alignment;
    void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (memory == nullptr) std::abort();
    if (large)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; without it all is only slower
    return memory;
}

void release(void* memory, std::size_t, std::size_t, void*) {
    std::free(memory);
}

}  // namespace

MemoryHooks huge_page_hooks() noexcept {
    return {allocate, release, nullptr};
}

}  // namespace purview::net
