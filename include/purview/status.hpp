// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Results of calls that can fail, and the handling of violated preconditions.
///
/// There are three kinds of errors. A violated precondition is asserted; a release build handles it
/// safely, except that reading the value of a Result without one aborts. Invalid data from the
/// network is counted and dropped, never asserted. A call that would exceed a limit returns a
/// Status. No C++ exception leaves the library.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace purview {

/// @addtogroup api_common
/// @{

/// The result of a call. The numbers are stable: they are used in logs, in JSON and by other
/// languages.
enum class Status : std::uint8_t {
    ok = 0,                 ///< success
    stale_id = 1,           ///< the entity or observer does not exist or no longer exists
    bad_argument = 2,       ///< outside the documented range
    bad_position = 3,       ///< NaN or infinite; the old position stays
    bad_configuration = 4,  ///< a schema, rule or definition contradicts itself
    capacity = 5,           ///< a declared limit is reached; nothing was changed
    duplicate = 6,          ///< already exists
    not_found = 7,          ///< does not exist
    would_cycle = 8,        ///< attaching would make the entity its own ancestor
    too_deep = 9,           ///< exceeds the maximum depth of a group
    too_large = 10,         ///< exceeds the maximum members of a group, or bytes of a message
    /// The last node of the entity was removed: only nodes of Members::all evaluate it.
    orphaned = 11,
    /// The override is stored, but has no effect while the root is denied or hidden.
    hidden_by_root = 12,
    malformed = 13,  ///< received bytes that do not decode
    refused = 14,    ///< valid, but not allowed
    closed = 15,     ///< the connection is closed
    not_ready = 16,  ///< too early: the observer is not ready, or the client has not joined
};

/// Returns the name of the enumerator, for logs and JSON; "unknown" for another number. Static
/// storage.
std::string_view to_string(Status) noexcept;

/// Called when a precondition is violated, with the failed expression and its source location. Both
/// strings have static storage. Called on any thread that uses the library. If it returns, the call
/// continues safely. The default prints to standard error and aborts.
using AssertHandler = void (*)(const char* expression, const char* file, int line);

/// Replaces the handler for the whole process, and returns the old one. nullptr restores the
/// default. Thread-safe.
AssertHandler set_assert_handler(AssertHandler handler) noexcept;

namespace detail {
/// Calls the handler, for PURVIEW_ASSERT.
void assert_failed(const char* expression, const char* file, int line) noexcept;
/// Prints the status and why the last definition was refused, and aborts. For Result.
[[noreturn]] void abort_without_value(Status status) noexcept;
}  // namespace detail

/// @}

}  // namespace purview

/// @ingroup api_common
/// Asserts a condition: calls the AssertHandler if it is false. Builds with NDEBUG do not evaluate
/// it, unless PURVIEW_ASSERTS is defined.
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
#define PURVIEW_ASSERT(expression)       \
    ((expression) ? static_cast<void>(0) \
                  : ::purview::detail::assert_failed(#expression, __FILE__, __LINE__))
#else
#define PURVIEW_ASSERT(expression) static_cast<void>(sizeof(!(expression)))
#endif

namespace purview {

/// @addtogroup api_common
/// @{

/// A value, or the Status that explains why there is none: a subset of `std::expected<T, Status>`
/// without exceptions. Use value(), `*` and `->` only if has_value(): otherwise they print why
/// there is no value and abort, in every build.
template <class T>
class [[nodiscard]] Result {
  public:
    /// Creates a result with a value.
    Result(T value) noexcept(
        std::is_nothrow_move_constructible_v<T>)  // NOLINT: implicit on purpose
        : status_(Status::ok) {
        ::new (static_cast<void*>(&storage_)) T(std::move(value));
    }
    /// Creates a result without a value. `error` must not be Status::ok. This is asserted; a
    /// release build stores Status::bad_argument.
    Result(Status error) noexcept  // NOLINT: implicit on purpose
        : status_(error == Status::ok ? Status::bad_argument : error) {
        PURVIEW_ASSERT(error != Status::ok);
    }
    /// Moves the value, or copies the status. `other` keeps a moved-from value.
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
        : status_(other.status_) {
        if (has_value()) ::new (static_cast<void*>(&storage_)) T(std::move(*other.pointer()));
    }
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;
    Result& operator=(Result&&) = delete;
    /// Destroys the value.
    ~Result() {
        if (has_value()) pointer()->~T();
    }

    /// Returns whether there is a value.
    bool has_value() const noexcept { return status_ == Status::ok; }
    /// Returns has_value().
    explicit operator bool() const noexcept { return has_value(); }
    /// Returns the status; Status::ok if there is a value.
    Status error() const noexcept { return status_; }
    /// Returns the value; aborts if there is none. Valid as long as the result.
    T& value() & noexcept { return *pointer(); }
    /// As value().
    const T& value() const& noexcept { return *pointer(); }
    /// As value(), to move the value out.
    T&& value() && noexcept { return std::move(*pointer()); }
    /// As value().
    T& operator*() & noexcept { return *pointer(); }
    /// As value().
    const T& operator*() const& noexcept { return *pointer(); }
    /// As value(), to move the value out.
    T&& operator*() && noexcept { return std::move(*pointer()); }
    /// As value().
    T* operator->() noexcept { return pointer(); }
    /// As value().
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

/// @}

}  // namespace purview
