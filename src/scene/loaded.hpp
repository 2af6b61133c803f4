// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A thing read from a file, or what is wrong with the file, in words for its author.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace purview::scene {

struct Problem {
    std::string text;  ///< of a file: begins with it and, where known, line and column
    /// Of rules, which are no file by themselves: where in them.
    int node = -1;         ///< index; -1: of no node
    int step = -1;         ///< index in the node; -1: of no step
    std::string key = {};  ///< of the node, such as "refresh"; empty: of none
    int column = 0;        ///< character of that text, from 1 on; 0: the whole of it
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

/// Above any map of as many tiles as there may be.
inline constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

/// The whole of a regular file; a problem names it and the reason.
Loaded<std::string> read_file(const std::string& path);

}  // namespace purview::scene
