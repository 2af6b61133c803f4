// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Vectors that allocate through the memory hooks (purview/extend/memory.hpp), in whole cache lines.
// Blocks of 16 floats are therefore aligned to lines, and a read may run to the end of the last
// line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace purview {

inline constexpr std::size_t cache_line_bytes = 64;

void* allocate_memory(std::size_t bytes, std::size_t alignment);
void release_memory(void* memory, std::size_t bytes, std::size_t alignment) noexcept;

template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) noexcept {}  // NOLINT: allocator conversion
    T* allocate(std::size_t count) {
        return static_cast<T*>(allocate_memory(lines_of(count), cache_line_bytes));
    }
    void deallocate(T* pointer, std::size_t count) noexcept {
        release_memory(pointer, lines_of(count), cache_line_bytes);
    }
    template <class U>
    bool operator==(const LineAllocator<U>&) const noexcept {
        return true;
    }

  private:
    static std::size_t lines_of(std::size_t count) noexcept {
        return (count * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace purview
