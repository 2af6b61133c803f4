// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/request_shape.hpp"

#include <algorithm>

#include "core/mutate.hpp"

namespace purview::admin {

namespace {

/// Reads the quoted text at `at`, and sets `at` after it.
std::string_view quoted(std::string_view text, std::size_t& at) {
    const std::size_t begin = ++at;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    at = std::min(at, text.size());
    const std::string_view inside = text.substr(begin, at - begin);
    at = std::min(at + 1, text.size());
    return inside;
}

}  // namespace

std::string problem_of_shape(std::string_view text) {
    std::size_t depth = 0, values = 0;
    bool may_be_long = false;
    std::string_view key;  // the last key; its value comes next
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '"') {
            const std::string_view inside = quoted(text, at);
            if (depth == 1 && key == "op")
                may_be_long = inside == "set_rules" || inside == "try_rules";
            key = inside;
            continue;
        }
        ++at;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ':') continue;
        key = {};
        if (c == ',') ++values;
        if (c == ']' || c == '}') depth -= depth > 0 ? 1 : 0;
        if (c != '[' && c != '{') continue;
        ++values;
        if (!PURVIEW_GUARD(request_depth, ++depth <= request_depth_max))
            return "the request is nested more than " + std::to_string(request_depth_max) +
                   " levels deep";
    }
    if (!PURVIEW_GUARD(request_size, may_be_long || text.size() <= request_bytes_max)) {
        return "the request has " + std::to_string(text.size()) +
               " bytes; the limit without rules is " + std::to_string(request_bytes_max);
    }
    if (!PURVIEW_GUARD(request_values, values <= request_values_max))
        return "the request has more than " + std::to_string(request_values_max) + " values";
    return {};
}

}  // namespace purview::admin
