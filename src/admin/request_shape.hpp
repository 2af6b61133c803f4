// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Limits on operator requests, checked before parsing: the parser creates a value for every
// bracket, and two million of them take seconds and memory that is never returned.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace purview::admin {

/// Limit on nesting: that of a request with nodes and lists of steps, with a margin.
inline constexpr std::size_t request_depth_max = 8;
/// Limit on a request without rules.
inline constexpr std::size_t request_bytes_max = 64 * 1024;
/// Limit on the keys and values of a request; 64 nodes at all limits of docs/limits.md have about
/// 5,000.
inline constexpr std::size_t request_values_max = 16'384;

/// Returns why a request is refused, or an empty string: too deep, too many values, or too long for
/// a request without rules. Does not check whether the text is JSON.
std::string problem_of_shape(std::string_view text);

}  // namespace purview::admin
