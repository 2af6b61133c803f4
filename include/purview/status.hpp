// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The answers of calls that may not succeed, and what happens on a caller's mistake.
//
// Three zones, decided once at the boundary: a caller's mistake is asserted (and answered safely in
// release, except for the value of a Result that has none: that aborts); a byte from the wire is
// checked and counted, never asserted; a limit is a named Status. No exception crosses the
// library's edge.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace purview {

/// Numbers are stable: they reach logs, JSON and other languages.
enum class Status : std::uint8_t {
    ok = 0,
    stale_id = 1,           ///< the entity or observer is gone, or never was
    bad_argument = 2,       ///< outside the documented range
    bad_position = 3,       ///< NaN or infinite; the old position stays
    bad_configuration = 4,  ///< a schema, rule or definition contradicts itself
    capacity = 5,           ///< a declared limit is reached; nothing was changed
    duplicate = 6,          ///< it is there already
    not_found = 7,
    would_cycle = 8,  ///< attaching here would make the entity its own ancestor
    too_deep = 9,     ///< limit of depth of a group
    too_large = 10,   ///< limit of members of a group, or of bytes of a message
    orphaned = 11,    ///< the last node of the entity was removed: only nodes that take all show it
    hidden_by_root = 12,  ///< a member cannot be shown: its root is denied or force hidden
    malformed = 13,       ///< bytes from outside that do not decode
    refused = 14,         ///< understood, and not allowed
    closed = 15,          ///< the connection is over
    not_ready = 16,       ///< the observer has not been made ready
};

/// A short lower-case word for logs and JSON. Static storage.
std::string_view to_string(Status) noexcept;

/// Called on a caller's mistake, with the expression and where it stands. May return: every call
/// then answers safely. The default prints to standard error and aborts.
using AssertHandler = void (*)(const char* expression, const char* file, int line);

/// Replaces the handler for the whole process and returns the old one. Thread-safe.
AssertHandler set_assert_handler(AssertHandler handler) noexcept;

namespace detail {
/// Called by PURVIEW_ASSERT.
void assert_failed(const char* expression, const char* file, int line) noexcept;
/// Called by Result: prints the status, and why the last definition was refused, and aborts.
[[noreturn]] void abort_without_value(Status status) noexcept;
}  // namespace detail

}  // namespace purview

#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
#define PURVIEW_ASSERT(expression)       \
    ((expression) ? static_cast<void>(0) \
                  : ::purview::detail::assert_failed(#expression, __FILE__, __LINE__))
#else
#define PURVIEW_ASSERT(expression) static_cast<void>(sizeof(!(expression)))
#endif

namespace purview {

/// A value or the Status that says why there is none: a subset of std::expected<T, Status>, without
/// exceptions. value(), * and -> only where has_value(): otherwise they print why there is no value
/// and abort, in every build.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) noexcept(
        std::is_nothrow_move_constructible_v<T>)  // NOLINT: implicit on purpose
        : status_(Status::ok) {
        ::new (static_cast<void*>(&storage_)) T(std::move(value));
    }
    Result(Status error) noexcept : status_(error) {}  // NOLINT: implicit on purpose
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
        : status_(other.status_) {
        if (has_value()) ::new (static_cast<void*>(&storage_)) T(std::move(*other.pointer()));
    }
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;
    Result& operator=(Result&&) = delete;
    ~Result() {
        if (has_value()) pointer()->~T();
    }

    bool has_value() const noexcept { return status_ == Status::ok; }
    explicit operator bool() const noexcept { return has_value(); }
    /// Status::ok where there is a value.
    Status error() const noexcept { return status_; }
    T& value() & noexcept { return *pointer(); }
    const T& value() const& noexcept { return *pointer(); }
    T&& value() && noexcept { return std::move(*pointer()); }
    T& operator*() & noexcept { return *pointer(); }
    const T& operator*() const& noexcept { return *pointer(); }
    T&& operator*() && noexcept { return std::move(*pointer()); }
    T* operator->() noexcept { return pointer(); }
    const T* operator->() const noexcept { return pointer(); }

  private:
    T* pointer() noexcept {
        if (!has_value()) detail::abort_without_value(status_);
        return std::launder(reinterpret_cast<T*>(&storage_));
    }
    const T* pointer() const noexcept {
        if (!has_value()) detail::abort_without_value(status_);
        return std::launder(reinterpret_cast<const T*>(&storage_));
    }

    alignas(T) unsigned char storage_[sizeof(T)];
    Status status_;
};

}  // namespace purview
