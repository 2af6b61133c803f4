// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The input state of a client's connection: unacknowledged inputs, which every packet repeats, and
// reports and corrections of the server until Prediction processes them.
#pragma once

#include <deque>
#include <vector>

#include "client/input_outbox.hpp"

namespace purview {

struct ClientInputs {
    InputOutbox outbox;
    bool has_digests = false;
    std::uint8_t corrections = 0;  ///< number of processed corrections; low bits
    std::uint32_t waiting = 0;     ///< buffered inputs at the server, as last reported
    bool is_starved = false;
    std::uint64_t reports = 0;  ///< number of input reports received
    /// Corrections that Prediction has not processed, in order, at most messages_max. A correct
    /// server sends at most one before the last one is processed.
    std::deque<std::vector<std::byte>> messages;
    static constexpr std::size_t messages_max = 4;
    /// Input state in the packet that is being read.
    struct State {
        bool is_there = false;
        std::uint16_t consumed = 0;
        std::uint32_t waiting = 0;
        bool starved = false;
    } read;
};

}  // namespace purview
