// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Log lines: why a definition is refused, and warnings about rules, kinds and values that probably
/// do not work as intended. A server writes only a few lines. A line per entity is written only on
/// request (ClientDef::activation_log).
#pragma once

#include <cstdint>

namespace purview {

/// @addtogroup api_common
/// @{

/// The severity of a line.
enum class LogLevel : std::uint8_t {
    warning = 0,  ///< valid, but probably not as intended
    error = 1,    ///< a call is refused
    trace = 2,    ///< only on request (ClientDef::activation_log)
};

/// Receives log lines. The default writes them to standard error.
struct LogSink {
    /// Writes one line. `text`: UTF-8 without a line feed, terminated by 0, valid during the call.
    /// Called on the thread that called the library; must not call the library. null: standard
    /// error.
    void (*write)(void* context, LogLevel level, const char* text) = nullptr;
    /// Passed to `write`; not owned.
    void* context = nullptr;

    /// Returns a sink that drops every line.
    static LogSink none() noexcept {
        return {[](void*, LogLevel, const char*) {}, nullptr};
    }
};

/// @}

}  // namespace purview
