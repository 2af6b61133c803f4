// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "common/machine.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "net/huge_pages.hpp"
#include "purview/extend/memory.hpp"

namespace {
std::atomic<std::size_t> g_bytes{0};
std::atomic<std::size_t> g_allocations{0};
void* counted(void* p) {
    if (p == nullptr) std::abort();
    g_bytes.fetch_add(malloc_usable_size(p), std::memory_order_relaxed);
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    return p;
}
void uncounted(void* p) noexcept {
    if (p != nullptr) g_bytes.fetch_sub(malloc_usable_size(p), std::memory_order_relaxed);
    std::free(p);
}
}  // namespace

void* operator new(std::size_t n) {
    return counted(std::malloc(n));
}
void* operator new(std::size_t n, std::align_val_t a) {
    const auto align = static_cast<std::size_t>(a);
    return counted(std::aligned_alloc(align, (n + align - 1) / align * align));
}
void operator delete(void* p) noexcept {
    uncounted(p);
}
void operator delete(void* p, std::size_t) noexcept {
    uncounted(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    uncounted(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
    uncounted(p);
}

namespace purview::bench {

namespace {

MemoryHooks g_inner;

void* counted_allocate(std::size_t bytes, std::size_t alignment, void* user) {
    g_bytes.fetch_add(bytes, std::memory_order_relaxed);
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    return g_inner.allocate(bytes, alignment, user);
}
void counted_release(void* memory, std::size_t bytes, std::size_t alignment, void* user) {
    g_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    g_inner.release(memory, bytes, alignment, user);
}

}  // namespace

void use_counted_memory(bool huge_pages) {
    if (huge_pages) g_inner = net::huge_page_hooks();
    if (g_inner.allocate == nullptr) {  // no hooks under an address sanitizer
        g_inner.allocate = [](std::size_t bytes, std::size_t alignment, void*) {
            return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        };
        g_inner.release = [](void* memory, std::size_t, std::size_t, void*) { std::free(memory); };
    }
    set_memory_hooks({counted_allocate, counted_release, nullptr});
}

std::size_t heap_bytes() noexcept {
    return g_bytes.load();
}
std::size_t heap_allocations() noexcept {
    return g_allocations.load();
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double percentile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1,
                           static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

double ratio_of_rounds(const std::vector<double>& peer, const std::vector<double>& ours) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(peer.size(), ours.size()); ++i) {
        ratios.push_back(peer[i] / ours[i]);
    }
    return median(ratios);
}

double copy_bandwidth(double bytes) {
    const std::size_t half = std::max<std::size_t>(4096, static_cast<std::size_t>(bytes / 2));
    std::vector<char> from(half, 1), to(half, 2);
    std::vector<double> rates;
    for (int round = 0; round < 7; ++round) {
        const int repeats = static_cast<int>(std::max<std::size_t>(1, 64'000'000 / half));
        const Stopwatch watch;
        for (int i = 0; i < repeats; ++i) {
            std::memcpy(to.data(), from.data(), half);
            asm volatile("" : : "r"(to.data()) : "memory");
        }
        rates.push_back(2.0 * static_cast<double>(half) * repeats / (watch.ms() / 1000));
    }
    return median(rates);
}

}  // namespace purview::bench
