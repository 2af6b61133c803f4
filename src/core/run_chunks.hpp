// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs chunks of work on the threads of an Executor. Each chunk runs once. Each worker has a part
// of the chunks. It first runs the chunks of its own part, in order, and then remaining chunks of
// other parts. The result of a chunk must not depend on its worker.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/aligned.hpp"
#include "purview/extend/executor.hpp"

namespace purview {

/// Maximum number of workers.
inline constexpr std::uint32_t workers_max = 64;

/// Calls work(worker, chunk), concurrently for different workers. Without an executor, or with one
/// worker or one chunk, it runs all chunks in order on the calling thread.
template <class Work>
void run_chunks(const Executor& executor, std::size_t workers, std::size_t chunks, Work&& work) {
    if (executor.run == nullptr || workers < 2 || chunks < 2) {
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) work(std::size_t{0}, chunk);
        return;
    }
    struct Job {
        Work& work;
        std::size_t chunks;
        std::size_t parts;
        struct alignas(2 * cache_line_bytes) Part {
            std::atomic<std::size_t> next;
        };
        std::array<Part, workers_max> part{};
        std::size_t begin_of(std::size_t i) const noexcept { return chunks * i / parts; }
    } job{work, chunks, workers, {}};
    for (std::size_t i = 0; i < job.parts; ++i) job.part[i].next = job.begin_of(i);
    executor.run(
        executor.context, static_cast<std::uint32_t>(workers),
        [](void* context, std::uint32_t i) {
            Job& all = *static_cast<Job*>(context);
            for (std::size_t k = 0; k < all.parts; ++k) {
                const std::size_t part = (i + k) % all.parts, end = all.begin_of(part + 1);
                auto& next = all.part[part].next;
                for (std::size_t chunk = next++; chunk < end; chunk = next++)
                    all.work(std::size_t{i}, chunk);
            }
        },
        &job);
}

}  // namespace purview
