// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A value that was read from a file, or an error text for the file's author.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace purview::scene {

struct Problem {
    std::string text;  ///< in a file: starts with its name and, if known, line and column
    // Position within rules:
    int node = -1;         ///< index; -1: not in a node
    int step = -1;         ///< index in the node; -1: not in a step
    std::string key = {};  ///< key of the node, such as "refresh"; empty: none
    int column = 0;        ///< character in that step or value, from 1 on; 0: all of it
};

template <class T>
class Loaded {
  public:
    Loaded(T value) : value_(std::move(value)) {}              // NOLINT: implicit on purpose
    Loaded(Problem problem) : problem_(std::move(problem)) {}  // NOLINT: implicit on purpose
    explicit operator bool() const noexcept { return value_.has_value(); }
    T& operator*() noexcept { return *value_; }
    const T& operator*() const noexcept { return *value_; }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }
    const std::string& problem() const noexcept { return problem_.text; }
    const Problem& what() const noexcept { return problem_; }

  private:
    std::optional<T> value_;
    Problem problem_;
};

/// Larger than any map with the maximum number of tiles.
inline constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

/// Reads a whole regular file. A problem contains its name and the reason.
Loaded<std::string> read_file(const std::string& path);

}  // namespace purview::scene
