// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Messages of the game that the program has not taken yet. If the program takes none, the oldest
// ones are dropped.
//
// Invariants: the counted bytes are those of the pending messages, each with its overhead, and at
// most limits::messages_received_bytes.
//
// Must not know: how messages arrive.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace purview {

class MessageInbox {
  public:
    std::size_t bytes() const noexcept { return bytes_; }
    /// Copies a message. Returns how many older ones were dropped for it.
    std::size_t add(std::span<const std::byte> message);
    /// Takes the oldest message; false if there is none. `out` is valid until the next call of
    /// next().
    bool next(std::span<const std::byte>& out);

  private:
    std::deque<std::vector<std::byte>> messages_;
    std::size_t bytes_ = 0;
    std::vector<std::byte> taken_;
};

}  // namespace purview
