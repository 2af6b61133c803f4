// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Text of a set of indices for doctest. Every test that compares such sets must include this file:
// the linker keeps one printer for all.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace purview::test {

inline std::string to_text(const std::set<std::uint32_t>& set) {
    std::string text;
    for (const std::uint32_t one : set) text += (text.empty() ? "" : " ") + std::to_string(one);
    return "{" + text + "}";
}

}  // namespace purview::test

template <>
struct doctest::StringMaker<std::set<std::uint32_t>> {
    static doctest::String convert(const std::set<std::uint32_t>& set) {
        return purview::test::to_text(set).c_str();
    }
};
