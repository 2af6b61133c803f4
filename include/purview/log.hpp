// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where the library writes what a person should read: why a definition is refused, and warnings
// about rules, kinds and values that have no effect or not the one that was meant. A handful of
// lines in the life of a server; one for each entity only where it is asked for.
#pragma once

#include <cstdint>

namespace purview {

enum class LogLevel : std::uint8_t {
    warning = 0,  ///< it works, probably not as meant
    error = 1,    ///< a call is refused
    trace = 2,    ///< only where it is asked for (ClientDef::activation_log)
};

/// Receives the lines. The default writes them to standard error.
struct LogSink {
    /// `text`: one line in UTF-8 without a line feed, terminated by 0, valid during the call.
    /// Called on the thread that made the call to the library; must not call the library. Null:
    /// standard error.
    void (*write)(void* context, LogLevel level, const char* text) = nullptr;
    void* context = nullptr;

    /// Drops every line.
    static LogSink none() noexcept {
        return {[](void*, LogLevel, const char*) {}, nullptr};
    }
};

}  // namespace purview
