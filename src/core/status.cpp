// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/status.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace purview {

std::string_view to_string(Status status) noexcept {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::stale_id:
            return "stale_id";
        case Status::bad_argument:
            return "bad_argument";
        case Status::bad_position:
            return "bad_position";
        case Status::bad_configuration:
            return "bad_configuration";
        case Status::capacity:
            return "capacity";
        case Status::duplicate:
            return "duplicate";
        case Status::not_found:
            return "not_found";
        case Status::would_cycle:
            return "would_cycle";
        case Status::too_deep:
            return "too_deep";
        case Status::too_large:
            return "too_large";
        case Status::orphaned:
            return "orphaned";
        case Status::hidden_by_root:
            return "hidden_by_root";
        case Status::malformed:
            return "malformed";
        case Status::refused:
            return "refused";
        case Status::closed:
            return "closed";
        case Status::not_ready:
            return "not_ready";
    }
    return "unknown";
}

namespace {

void abort_with_message(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "purview: assertion failed: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

// DELIBERATE: a process-wide variable, because an assertion has no access to an object
// (docs/adr/0002-asserts.md).
std::atomic<AssertHandler> current_handler{&abort_with_message};

}  // namespace

AssertHandler set_assert_handler(AssertHandler handler) noexcept {
    return current_handler.exchange(handler != nullptr ? handler : &abort_with_message);
}

void detail::assert_failed(const char* expression, const char* file, int line) noexcept {
    current_handler.load()(expression, file, line);
}

}  // namespace purview
