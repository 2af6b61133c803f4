// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a request of an operator may look like, asked before it is parsed: a parser makes a value of
// every bracket, and two million of them take seconds, and memory for good.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace purview::admin {

/// Requests, nodes, their lists of steps, and room for more.
inline constexpr std::size_t request_depth_max = 8;
/// Of a request without rules.
inline constexpr std::size_t request_bytes_max = 64 * 1024;
/// Keys and values of a request: 64 nodes with all that limits.md allows them have some 5,000.
inline constexpr std::size_t request_values_max = 16'384;

/// Empty, or why it is not looked at: too deep, too many values, or too long for one that asks for
/// no rules. Says nothing about whether it is JSON.
std::string problem_of_shape(std::string_view text);

}  // namespace purview::admin
