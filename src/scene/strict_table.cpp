// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/strict_table.hpp"

#include <algorithm>

namespace purview::scene {

namespace {

/// Limit on the parts of a dotted key; the project's files need at most three. toml++ limits the
/// nesting of values, but not of these keys, and destroys nested tables recursively. With this
/// limit, 256 nested values of 16 parts fit into the smallest common stack.
constexpr std::size_t key_parts_max = 16;

/// Returns the position after the quoted text that starts at text[i].
std::size_t skip_quoted(std::string_view text, std::size_t i) {
    const char quote = text[i];
    const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
    const bool lines = text.substr(i, 3) == three;
    for (i += lines ? 3 : 1; i < text.size(); ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (lines && text.substr(i, 3) == three) {
            i += 3;  // up to two quotes may precede the closing ones
            for (int more = 0; more < 2 && i < text.size() && text[i] == quote; ++more) ++i;
            return i;
        } else if (!lines && (text[i] == quote || text[i] == '\n')) {
            return i + (text[i] == quote ? 1 : 0);
        }
    }
    return text.size();
}

/// Returns the position of the first key with too many parts, otherwise npos.
std::size_t find_deep_key(std::string_view text) {
    std::size_t dots = 0;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '"' || c == '\'') {
            i = skip_quoted(text, i);
        } else if (c == '#') {
            i = std::min(text.find('\n', i), text.size());
        } else {
            if (c == '.' && ++dots == key_parts_max) return i;
            if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) dots = 0;
            ++i;
        }
    }
    return std::string_view::npos;
}

}  // namespace

toml::table parse_toml(const std::string& text, const std::string& path) {
    if (const std::size_t deep = find_deep_key(text); deep != std::string_view::npos) {
        const auto end = text.begin() + static_cast<std::ptrdiff_t>(deep);
        throw WorldError{path + ":" + std::to_string(1 + std::count(text.begin(), end, '\n')) +
                         ": a key has more than " + std::to_string(key_parts_max) + " parts"};
    }
    try {
        return toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        throw WorldError{text_of(path, {error.source().begin.line, error.source().begin.column}) +
                         ": " + std::string(error.description())};
    }
}

}  // namespace purview::scene
