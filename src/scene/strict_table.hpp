// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A TOML table with strict parsing, for the files that read worlds. Do not include it elsewhere: it
// throws exceptions and includes toml++.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "scene/interest_file.hpp"

namespace purview::scene {

/// Used only within the files that include this header; never thrown out of them.
struct WorldError {
    std::string text;
};

inline FilePlace position_of(const toml::node& node) {
    return {node.source().begin.line, node.source().begin.column};
}

inline std::string text_of(const std::string& path, FilePlace position) {
    return path + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

/// Parses all TOML text of the project. Throws WorldError on any error.
toml::table parse_toml(const std::string& text, const std::string& path);

/// A TOML table in which every key must be read: an unread key is an error.
class StrictTable {
  public:
    StrictTable(const toml::table& table, std::string path, std::string name)
        : table_(table), path_(std::move(path)), name_(std::move(name)) {}

    std::string where(const toml::node& node) const { return text_of(path_, position_of(node)); }
    /// Position of the value of an existing key.
    FilePlace position(std::string_view key) const { return position_of(*table_.get(key)); }
    bool has(std::string_view key) const { return table_.get(key) != nullptr; }
    [[noreturn]] void fail(const toml::node& node, const std::string& text) const {
        throw WorldError{where(node) + ": " + text};
    }
    const toml::node* find(std::string_view key) {
        read_.insert(std::string(key));
        return table_.get(key);
    }
    std::string title(std::string_view key) const {
        return "'" + (name_.empty() ? std::string(key) : name_ + "." + std::string(key)) + "'";
    }

    void read(std::string_view key, std::string& out) {
        if (const toml::node* node = find(key)) {
            if (!node->is_string()) fail(*node, title(key) + " must be a string");
            out = node->as_string()->get();
        }
    }
    void read(std::string_view key, bool& out) {
        if (const toml::node* node = find(key)) {
            if (!node->is_boolean()) fail(*node, title(key) + " must be true or false");
            out = node->as_boolean()->get();
        }
    }
    /// An optional value.
    template <class T>
    void read(std::string_view key, std::optional<T>& out) {
        if (has(key)) read(key, out.emplace());
    }
    /// One of these words.
    template <class T, std::size_t n>
    void read_choice(std::string_view key, const std::pair<const char*, T> (&words)[n], T& out) {
        std::string text;
        read(key, text);
        const toml::node* node = find(key);
        if (node == nullptr) return;
        std::string all;
        for (std::size_t i = 0; i < n; ++i) {
            if (text == words[i].first) {
                out = words[i].second;
                return;
            }
            all += std::string(i == 0 ? "" : i + 1 == n ? " or " : ", ") + words[i].first;
        }
        fail(*node, title(key) + " must be " + all);
    }
    template <class Integer>
    void read_integer(std::string_view key, Integer& out, std::int64_t min, std::int64_t max) {
        if (const toml::node* node = find(key)) {
            if (!node->is_integer()) fail(*node, title(key) + " must be a whole number");
            const std::int64_t value = node->as_integer()->get();
            if (value < min || value > max) {
                fail(*node,
                     title(key) + " must be " + std::to_string(min) + " to " + std::to_string(max));
            }
            out = static_cast<Integer>(value);
        }
    }
    template <class Integer>
    void read_integer(std::string_view key, std::optional<Integer>& out, std::int64_t min,
                      std::int64_t max) {
        if (has(key)) read_integer(key, out.emplace(), min, max);
    }
    void read_real(std::string_view key, std::optional<float>& out, double min, double max) {
        if (has(key)) read_real(key, out.emplace(), min, max);
    }
    void read_real(std::string_view key, float& out, double min, double max) {
        if (const toml::node* node = find(key)) {
            if (!node->is_number()) fail(*node, title(key) + " must be a number");
            const double value = *node->value<double>();
            if (!(value >= min) || !(value <= max)) {
                fail(*node,
                     title(key) + " must be " + number_text(min) + " to " + number_text(max));
            }
            out = static_cast<float>(value);
        }
    }
    const toml::table* table(std::string_view key) {
        const toml::node* node = find(key);
        if (node == nullptr) return nullptr;
        if (!node->is_table()) fail(*node, title(key) + " must be a table");
        return node->as_table();
    }
    const toml::array* array(std::string_view key) {
        const toml::node* node = find(key);
        if (node == nullptr) return nullptr;
        if (!node->is_array()) fail(*node, title(key) + " must be a list");
        return node->as_array();
    }
    /// Reports the first key that was not read as an error.
    void finish() const {
        for (const auto& [key, node] : table_) {
            if (read_.count(std::string(key.str())) == 0) {
                throw WorldError{path_ + ":" + std::to_string(key.source().begin.line) + ":" +
                                 std::to_string(key.source().begin.column) + ": unknown key " +
                                 title(key.str())};
            }
        }
    }

  private:
    static std::string number_text(double value) {
        std::string text = std::to_string(value);
        while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
            const bool dot = text.back() == '.';
            text.pop_back();
            if (dot) break;
        }
        return text;
    }
    const toml::table& table_;
    std::string path_;
    std::string name_;
    std::set<std::string> read_;
};

InterestEntry read_interest(const toml::table& table, const std::string& path,
                            const std::string& source);

}  // namespace purview::scene
