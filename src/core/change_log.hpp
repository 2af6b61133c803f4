// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which of many may differ, one number each, by version. Whoever knows an older version asks for
// what was noted since, and looks through everything where that is more than is remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "purview/status.hpp"

namespace purview {

class ChangeLog {
  public:
    using Version = std::uint64_t;
    static constexpr Version unknown = 0;  ///< no log is there
    static constexpr std::size_t size_max = 32;

    /// Logs that one reader must not take for each other begin at 2^32 times different numbers.
    explicit ChangeLog(Version first = 1) noexcept : first_(first) {
        PURVIEW_ASSERT(first != unknown);
    }
    Version version() const noexcept { return first_ + size_; }
    void note(std::uint32_t what) noexcept {
        if (size_ == size_max) {
            first_ += size_max;
            size_ = 0;
        }
        recent_[size_++] = what;
    }
    /// since() knows all of it.
    bool remembers(Version version) const noexcept {
        return version >= first_ && version - first_ <= size_;
    }
    /// In order; valid until the next one is noted.
    std::span<const std::uint32_t> since(Version version) const noexcept {
        PURVIEW_ASSERT(remembers(version));
        return std::span(recent_).first(size_).subspan(static_cast<std::size_t>(version - first_));
    }

  private:
    Version first_;
    std::uint32_t size_ = 0;
    std::array<std::uint32_t, size_max> recent_;  // only what was noted is read
};

}  // namespace purview
