// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which of many may differ, one number each, by version. Whoever knows an older version asks for
// what was noted since, and looks through everything where that is more than is remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "purview/status.hpp"

namespace purview {

class ChangeLog {
  public:
    using Version = std::uint64_t;
    static constexpr Version unknown = 0;  ///< older than any
    static constexpr std::size_t size_max = 32;

    /// Nothing is remembered from before. Logs that one reader must not take for each other begin
    /// at numbers that are further apart than they ever have notes.
    void begin(Version first) noexcept {
        PURVIEW_ASSERT(first != unknown);
        first_ = version_ = first;
    }
    Version version() const noexcept { return version_; }
    void note(std::uint32_t what) noexcept { recent_[version_++ % size_max] = what; }
    /// for_each_since knows all of it.
    bool remembers(Version version) const noexcept {
        return version >= first_ && version <= version_ && version_ - version <= size_max;
    }
    /// visit(what), in order.
    template <class Visit>
    void for_each_since(Version version, Visit&& visit) const {
        PURVIEW_ASSERT(remembers(version));
        for (; version != version_; ++version) visit(recent_[version % size_max]);
    }

  private:
    Version first_ = 1;
    Version version_ = 1;
    std::array<std::uint32_t, size_max> recent_{};
};

}  // namespace purview
