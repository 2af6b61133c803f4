// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Vectors whose memory comes through the hooks (purview/memory.hpp), and whose storage is whole
// cache lines: blocks of 16 floats are lines, and vectors may be read to the end of the last one.
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
