// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Builds with sanitizers are about ten times as slow. There, tests with many seeds run fewer of
// them.
#pragma once

namespace purview::test {

#ifdef PURVIEW_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// Returns `full`, or `reduced` in a build with sanitizers.
template <class T>
constexpr T unless_sanitized(T full, T reduced) {
    return is_sanitized ? reduced : full;
}

}  // namespace purview::test
