// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Names of guards (docs/guards.md), so that `./dev mutate` can compile each away and see a test
// fail. Everywhere else a guard is its condition and nothing more: a build without PURVIEW_MUTATE
// has no trace of them, and no switch.
#pragma once

#ifndef PURVIEW_MUTATE

/// What must hold.
#define PURVIEW_GUARD(name, condition) (condition)
/// A bound or a mask; `open` is the one that lets everything through, and is not compiled.
#define PURVIEW_GUARD_OR(name, value, open) (value)

#else

#define PURVIEW_GUARD(name, condition) (PURVIEW_IS_MUTATED(name) || (condition))
#define PURVIEW_GUARD_OR(name, value, open) (PURVIEW_IS_MUTATED(name) ? (open) : (value))

#define PURVIEW_TEXT_OF(name) #name
#define PURVIEW_TEXT(name) PURVIEW_TEXT_OF(name)
#define PURVIEW_IS_MUTATED(name) \
    (::purview::is_same_text(PURVIEW_TEXT_OF(name), PURVIEW_TEXT(PURVIEW_MUTATE)))

/// Whoever looks for it in a binary knows that a guard of it is gone.
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
