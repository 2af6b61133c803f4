// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstddef>
#include <string_view>

namespace purview {

/// The beginning of `text` that takes at most `bytes_max`, and ends before a character of UTF-8
/// that does not fit.
constexpr std::string_view cut_text(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() <= bytes_max) return text;
    std::size_t size = bytes_max;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
    return text.substr(0, size);
}

}  // namespace purview
