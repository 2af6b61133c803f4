// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Names of security checks (docs/guards.md). `./dev mutate` compiles each of them away and expects
// a test to fail. Without PURVIEW_MUTATE a check compiles to its condition only, and no switch
// exists.
#pragma once

#ifndef PURVIEW_MUTATE

/// A condition that must hold.
#define PURVIEW_GUARD(name, condition) (condition)
/// A bound or a mask. `open` is the value that disables the check; it is compiled only with
/// PURVIEW_MUTATE.
#define PURVIEW_GUARD_OR(name, value, open) (value)

#else

#define PURVIEW_GUARD(name, condition) (PURVIEW_IS_MUTATED(name) || (condition))
#define PURVIEW_GUARD_OR(name, value, open) (PURVIEW_IS_MUTATED(name) ? (open) : (value))

#define PURVIEW_TEXT_OF(name) #name
#define PURVIEW_TEXT(name) PURVIEW_TEXT_OF(name)
#define PURVIEW_IS_MUTATED(name) \
    (::purview::is_same_text(PURVIEW_TEXT_OF(name), PURVIEW_TEXT(PURVIEW_MUTATE)))

/// Marks a binary from which a security check was removed.
extern "C" {
[[gnu::used]] inline const char purview_mutated_build[] =
    "purview_mutated_build without " PURVIEW_TEXT(PURVIEW_MUTATE);
}

namespace purview {

constexpr bool is_same_text(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
}

}  // namespace purview

#endif
