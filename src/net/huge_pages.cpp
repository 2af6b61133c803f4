// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory_resource>

namespace purview::net {

namespace {

constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t small_page = 4096;

/// An address sanitizer watches the borders of what operator new hands out, and not of ours.
#ifdef __SANITIZE_ADDRESS__
constexpr bool is_watched = true;
#else
constexpr bool is_watched = false;
#endif

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

/// Begins with large pages, and ends with small ones behind the last whole one. From the kernel and
/// not from the heap: what a heap hands out a second time lies on small pages already.
class MappedMemory final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t) override {
        const std::size_t kept = rounded(bytes, small_page), all = kept + large_page;
        void* const mapped =
            mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) std::abort();
        const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
        const std::size_t before = rounded(begin, large_page) - begin;
        auto* const memory = static_cast<std::byte*>(mapped) + before;
        if (before > 0) (void)munmap(mapped, before);
        (void)munmap(memory + kept, large_page - before);
        (void)madvise(memory, kept, MADV_HUGEPAGE);  // a wish; without it all is only slower
        return memory;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
        (void)munmap(memory, rounded(bytes, small_page));
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

/// What is smaller than a large page shares some with others, and is handed out again.
struct Memory {
    MappedMemory mapped;
    std::pmr::monotonic_buffer_resource shared{4 * large_page, &mapped};
    std::pmr::synchronized_pool_resource pools{
        {.max_blocks_per_chunk = 16, .largest_required_pool_block = large_page}, &shared};

    std::pmr::memory_resource& of(std::size_t bytes) {
        if (bytes >= large_page) return mapped;
        return pools;
    }
};

Memory& memory() {
    static auto* const all = new Memory;  // never deleted: lists may be released after main
    return *all;
}

}  // namespace

MemoryHooks huge_page_hooks() noexcept {
    if (is_watched) return {};  // operator new
    const auto allocate = [](std::size_t bytes, std::size_t alignment, void*) {
        // Pools align what is a multiple of its alignment long.
        const std::size_t all = rounded(bytes, alignment);
        return memory().of(all).allocate(all, alignment);
    };
    const auto release = [](void* begin, std::size_t bytes, std::size_t alignment, void*) {
        const std::size_t all = rounded(bytes, alignment);
        memory().of(all).deallocate(begin, all, alignment);
    };
    return {allocate, release, nullptr};
}

}  // namespace purview::net
