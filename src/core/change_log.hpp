// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A log of recent changes by version. Each entry is the number of an item that may have changed. A
// reader that holds an older version visits the entries since then. If the log no longer covers
// that version, the reader must check every item.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "purview/status.hpp"

namespace purview {

class ChangeLog {
  public:
    using Version = std::uint64_t;
    static constexpr Version unknown = 0;  ///< older than any version
    static constexpr std::size_t size_max = 32;

    /// Starts an empty log at version `first`. If one reader must not confuse several logs, their
    /// first versions must be further apart than the number of entries of any of them.
    void begin(Version first) noexcept {
        PURVIEW_ASSERT(first != unknown);
        first_ = version_ = first;
    }
    Version version() const noexcept { return version_; }
    void note(std::uint32_t what) noexcept { recent_[version_++ % size_max] = what; }
    /// Returns whether for_each_since() covers all changes since this version.
    bool remembers(Version version) const noexcept {
        return version >= first_ && version <= version_ && version_ - version <= size_max;
    }
    /// Calls visit(what) for each entry since `version`, in order.
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
