// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/log.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "purview/status.hpp"

namespace purview {

namespace {

// A client module in a browser has no imports, and so no standard error.
#ifdef __wasm__
template <class... Args>
void print_error(const char*, Args...) {}
#else
template <class... Args>
void print_error(const char* format, Args... args) {
    std::fprintf(stderr, format, args...);
}
#endif

// DELIBERATE: a Result carries a Status, not a text. Only the message before abort() reads it.
thread_local std::array<char, 1024> last_refusal;

}  // namespace

void write_log(const LogSink& sink, LogLevel level, const std::string& text) {
    if (sink.write != nullptr) return sink.write(sink.context, level, text.c_str());
    print_error("purview: %s: %s\n", level == LogLevel::error ? "error" : "warning", text.c_str());
}

void log_refusal(const LogSink& sink, const std::string& text) {
    const std::size_t size = std::min(text.size(), last_refusal.size() - 1);
    std::copy_n(text.data(), size, last_refusal.data());
    last_refusal[size] = '\0';
    write_log(sink, LogLevel::error, text);
}

void detail::abort_without_value(Status status) noexcept {
    const std::string_view name = to_string(status);
    print_error("purview: the value of a Result was taken, but it holds the error %.*s%s%s\n",
                static_cast<int>(name.size()), name.data(), last_refusal[0] == '\0' ? "" : ": ",
                last_refusal.data());
#ifdef __wasm__
    __builtin_trap();
#else
    std::abort();
#endif
}

}  // namespace purview
