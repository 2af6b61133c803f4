// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Commands for groups as a client's connection keeps them: what it repeats, and what the server
// said of them, until Prediction takes it.
#pragma once

#include <deque>
#include <vector>

#include "client/input_outbox.hpp"

namespace purview {

struct ClientInputs {
    InputOutbox outbox;
    bool has_digests = false;
    std::uint8_t corrections = 0;  ///< taken; low bits
    std::uint32_t waiting = 0;     ///< at the server, as it last said
    bool is_starved = false;
    std::uint64_t heard = 0;  ///< times it has said so
    /// Messages of the server, in order; it sends no more than one before the last is taken.
    std::deque<std::vector<std::byte>> messages;
    static constexpr std::size_t messages_max = 4;
    /// Of the packet that is being read.
    struct State {
        bool is_there = false;
        std::uint16_t consumed = 0;
        std::uint32_t waiting = 0;
        bool starved = false;
    } read;
};

}  // namespace purview
