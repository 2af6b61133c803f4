// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <charconv>
#include <string_view>

namespace purview {

/// Parses a number. Returns false unless the whole text is a number.
template <class Number>
bool read_number(std::string_view text, Number& out) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

}  // namespace purview
