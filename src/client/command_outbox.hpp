// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Commands to the game. Each is repeated in several consecutive packets, so that it survives the
// loss of one.
//
// Invariants: the numbers of the pending commands are consecutive, and the last one is the newest;
// a command that has been in all of its packets is not at the front.
//
// Must not know: what a command means, the packet around it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "protocol/bit_writer.hpp"
#include "purview/status.hpp"

namespace purview {

class CommandOutbox {
  public:
    static constexpr std::size_t waiting_max = 64;
    /// Number of packets that contain a command. It is lost only if all of them are lost.
    static constexpr std::uint32_t repeats = 3;

    bool empty() const noexcept { return commands_.empty(); }
    /// Errors: too_large; capacity: waiting_max commands are pending.
    Status add(std::span<const std::byte> data);

    struct Chosen {
        std::size_t count;   ///< number of pending commands, from the first on
        std::uint64_t bits;  ///< size, including the count
    };
    /// Chooses the commands that fit into a packet.
    Chosen choose(std::uint64_t bits_max) const noexcept;
    /// Writes the first `count` commands, and removes those that have been in all of their packets.
    void write(std::size_t count, BitWriter& out);

  private:
    struct Command {
        std::vector<std::byte> data;
        std::uint32_t packets_left;  ///< number of further packets that will contain it
    };
    std::deque<Command> commands_;
    std::uint32_t newest_ = 0;  ///< number of the newest command
};

}  // namespace purview
