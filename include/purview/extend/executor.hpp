// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Threads of the program for the library. Their number does not change the results and datagrams
/// of the library.
#pragma once

#include <cstdint>

namespace purview {

/// @addtogroup api_extend
/// @{

/// Runs tasks on threads. Function pointers, so that a call allocates nothing. Copied; `context` is
/// not owned, and outlives the server or engine, or its replacement by another executor.
struct Executor {
    /// Calls task(task_context, i) exactly once for each i < count, on any thread, and returns when
    /// all calls have returned. null: everything runs on the thread of the tick.
    void (*run)(void* context, std::uint32_t count, void (*task)(void*, std::uint32_t),
                void* task_context) = nullptr;
    /// Passed to `run`; not owned.
    void* context = nullptr;
    std::uint32_t workers = 1;  ///< maximum number of concurrent tasks; each needs memory
};

/// @}

}  // namespace purview
