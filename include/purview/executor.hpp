// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Threads that a program lends the library. What the library computes and sends does not depend on
// their number.
#pragma once

#include <cstdint>

namespace purview {

/// Function pointers, so that no allocation is needed per call. Copied; `context` is not owned and
/// lives as long as the server or manager uses it.
struct Executor {
    /// Calls task(task_context, i) exactly once for each i < count, on any thread, and returns when
    /// all calls have returned. Null: everything runs on the thread of the tick.
    void (*run)(void* context, std::uint32_t count, void (*task)(void*, std::uint32_t),
                void* task_context) = nullptr;
    void* context = nullptr;
    std::uint32_t workers = 1;  ///< tasks at once at most; each has working memory of its own
};

}  // namespace purview
