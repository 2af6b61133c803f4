// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A vector whose storage begins on a cache line: blocks of 16 floats are whole lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace purview {

inline constexpr std::size_t cache_line_bytes = 64;

template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) noexcept {}  // NOLINT: allocator conversion
    T* allocate(std::size_t count) {
        return static_cast<T*>(
            ::operator new (count * sizeof(T), std::align_val_t{cache_line_bytes}));
    }
    void deallocate(T* pointer, std::size_t) noexcept {
        ::operator delete (pointer, std::align_val_t{cache_line_bytes});
    }
    template <class U>
    bool operator==(const LineAllocator<U>&) const noexcept {
        return true;
    }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace purview
