// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/huge_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "core/aligned.hpp"

namespace purview::net {

namespace {

constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t small_page = 4096;

/// The address sanitizer checks the bounds of memory from operator new, but not of mapped memory.
#ifdef PURVIEW_SANITIZED
constexpr bool is_watched = true;
#else
constexpr bool is_watched = false;
#endif

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

/// Maps memory that starts with large pages and ends with small ones after the last full large
/// page. Uses the kernel, not the heap, because memory that a heap reuses is already on small
/// pages.
std::byte* map(std::size_t bytes) {
    const std::size_t kept = rounded(bytes, small_page), all = kept + large_page;
    void* const mapped =
        mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        (void)std::fprintf(stderr, "purview: out of memory: cannot map %zu bytes\n", all);
        std::abort();
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
    const std::size_t before = rounded(begin, large_page) - begin;
    auto* const memory = static_cast<std::byte*>(mapped) + before;
    if (before > 0) (void)munmap(mapped, before);
    (void)munmap(memory + kept, large_page - before);
    (void)madvise(memory, kept, MADV_HUGEPAGE);  // only a hint; without it memory access is slower
    return memory;
}

// Size classes of blocks in shared large pages: four per power of two. A touched page is resident
// as a whole, and powers of two alone would waste a third of it.
struct Size {
    std::size_t number;  ///< index among all size classes
    std::size_t bytes;
};
constexpr std::size_t least = cache_line_bytes, steps = 4;

constexpr Size size_for(std::size_t bytes) {
    if (bytes <= steps * least) {
        const std::size_t lines = std::max<std::size_t>(1, rounded(bytes, least) / least);
        return {lines - 1, lines * least};
    }
    const std::size_t step = std::bit_floor(bytes - 1) / steps;
    const std::size_t count = rounded(bytes, step) / step;  // 5 to 8
    const auto doublings = static_cast<std::size_t>(std::countr_zero(step / least));
    return {doublings * steps + count - 1, count * step};
}
/// The largest size class of at most this many bytes, but at least one cache line.
constexpr Size size_within(std::size_t bytes) {
    const std::size_t step = std::max(least, std::bit_floor(bytes) / steps);
    return size_for(bytes / step * step);
}

/// Allocates blocks smaller than a large page from shared pages, and reuses them. Thread-safe.
class SharedPages {
  public:
    void* allocate(std::size_t bytes) {
        const Size size = size_for(bytes);
        const std::lock_guard lock(mutex_);
        if (Free* const block = free_[size.number]; block != nullptr) {
            free_[size.number] = block->next;
            return block;
        }
        if (static_cast<std::size_t>(end_ - at_) < size.bytes) {
            keep_remainder();
            at_ = map(piece_bytes);
            end_ = at_ + piece_bytes;
        }
        at_ += size.bytes;
        return at_ - size.bytes;
    }
    void release(void* memory, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        keep(memory, size_for(bytes));
    }

  private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t piece_bytes = 8 * large_page;
    static constexpr std::size_t sizes = size_for(large_page).number + 1;

    void keep(void* memory, Size size) {
        free_[size.number] = new (memory) Free{free_[size.number]};
    }
    /// Adds the rest of the current piece to the free lists, in blocks as large as possible.
    void keep_remainder() {
        while (at_ != end_) {
            const auto rest = static_cast<std::size_t>(end_ - at_);
            const Size size = size_within(rest);
            keep(at_, size);
            at_ += size.bytes;
        }
    }

    std::mutex mutex_;
    std::array<Free*, sizes> free_{};  ///< by number of the size class
    std::byte* at_ = nullptr;          ///< start of the unused part of the newest piece
    std::byte* end_ = nullptr;
};

SharedPages& shared_pages() {
    static auto* const all = new SharedPages;  // never deleted: memory may be released after main
    return *all;
}

/// Shared pages support alignments up to a cache line, which is all that the library needs.
bool is_shared(std::size_t bytes, std::size_t alignment) {
    return bytes < large_page && alignment <= cache_line_bytes;
}

}  // namespace

MemoryHooks huge_page_hooks() noexcept {
    if (is_watched) return {};  // operator new
    const auto allocate = [](std::size_t bytes, std::size_t alignment, void*) -> void* {
        return is_shared(bytes, alignment) ? shared_pages().allocate(bytes) : map(bytes);
    };
    const auto release = [](void* begin, std::size_t bytes, std::size_t alignment, void*) {
        if (is_shared(bytes, alignment)) return shared_pages().release(begin, bytes);
        (void)munmap(begin, rounded(bytes, small_page));
    };
    return {allocate, release, nullptr};
}

}  // namespace purview::net
