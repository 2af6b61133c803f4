// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstddef>
#include <string_view>

namespace purview {

/// Returns the longest prefix of `text` that has at most `bytes_max` bytes and does not split a
/// UTF-8 character.
constexpr std::string_view cut_text(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() <= bytes_max) return text;
    std::size_t size = bytes_max;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
    return text.substr(0, size);
}

}  // namespace purview
