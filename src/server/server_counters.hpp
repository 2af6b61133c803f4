// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a server counts. Each part counts in its own struct; Server::counters lists all by name.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/server.hpp"

namespace purview {

/// Duration of each stage of the last tick, in microseconds, in the order of ARCHITECTURE.md, "One
/// tick". Of stages that several threads work on: what each of them took, on average.
struct TickProfile {
    std::uint32_t receive_us = 0;
    std::uint32_t simulate_us = 0;
    std::uint32_t track_us = 0;
    std::uint32_t interest_us = 0;
    std::uint32_t diff_us = 0;
    std::uint32_t prioritize_us = 0;
    std::uint32_t encode_us = 0;
    std::uint32_t send_us = 0;
};

/// Datagrams and commands that were refused or dropped, by reason, since the server began.
struct DropCounters {
    std::uint64_t unknown_type = 0;
    std::uint64_t malformed_handshake = 0;
    std::uint64_t wrong_version = 0;
    std::uint64_t wrong_schema = 0;
    std::uint64_t bad_cookie = 0;
    std::uint64_t expired_cookie = 0;
    std::uint64_t full = 0;
    std::uint64_t address_limit = 0;
    std::uint64_t unknown_connection = 0;
    std::uint64_t bad_checksum = 0;
    std::uint64_t malformed_packet = 0;
    std::uint64_t late_packet = 0;
    std::uint64_t oversized = 0;
    std::uint64_t commands = 0;  ///< of clients that send more than a tick's
    std::uint64_t total() const noexcept {
        return unknown_type + malformed_handshake + wrong_version + wrong_schema + bad_cookie +
               expired_cookie + full + address_limit + unknown_connection + bad_checksum +
               malformed_packet + late_packet + oversized + commands;
    }
};

/// What became of commands and parts since the server began.
struct InputCounters {
    std::uint64_t consumed = 0;   ///< command ticks of clients
    std::uint64_t groups = 0;     ///< commands of (owner, group, tick) given to the game
    std::uint64_t parts = 0;      ///< parts in them
    std::uint64_t starved = 0;    ///< ticks in which a client that gives commands had none waiting
    std::uint64_t caught_up = 0;  ///< commands consumed beyond one a tick
    std::uint64_t skipped = 0;    ///< command ticks that never came
    std::uint64_t repeated = 0;   ///< came again, waiting or consumed already: nothing new
    std::uint64_t corrections = 0;
    /// Not sent: the state of the groups is more than a message holds (65,535 bytes).
    std::uint64_t corrections_too_large = 0;
    std::uint64_t order_rebuilds = 0;  ///< orders of groups made anew
    std::uint64_t members_walked = 0;  ///< while making them
    // Refused:
    /// Commands beyond lead_max, as often as they come: a client repeats them, and they are taken
    /// once they are not so far ahead.
    std::uint64_t too_far_ahead = 0;
    std::uint64_t too_large = 0;      ///< commands above limits::command_bytes
    std::uint64_t not_a_root = 0;     ///< groups under an entity that is no root (any more)
    std::uint64_t unknown_ghost = 0;  ///< groups or parts under ids that the client does not hold
    std::uint64_t not_owned = 0;      ///< parts for entities that the sender does not own
    std::uint64_t not_in_group = 0;   ///< parts for entities of another group
    std::uint64_t wrong_input = 0;    ///< parts of a type that the entity does not take, or twice
    std::uint64_t named_twice = 0;    ///< groups that the same command had named before
    std::uint64_t switched_off = 0;   ///< parts for members that take none now (set_in_input)
};

struct RewindCounters {
    std::uint64_t views = 0;
    std::uint64_t cut = 0;         ///< whose tick was outside what it can have seen, or is kept
    std::uint64_t candidates = 0;  ///< entities tested by queries
    std::uint64_t hits = 0;
    std::uint64_t history_bytes = 0;  ///< now
    std::uint64_t index_bytes = 0;    ///< now, beside the history
};

/// Since the server began; of calls to observers each (call, observer) is one.
struct RpcCounters {
    std::uint64_t sent = 0;
    std::uint64_t held = 0;
    std::uint64_t culled = 0;
    std::uint64_t culled_late = 0;
    std::uint64_t written = 0;   ///< into packets, repeats included
    std::uint64_t received = 0;  ///< of clients, given to the game
    // Of clients, dropped:
    std::uint64_t refused_ghost = 0;    ///< it holds no such ghost: hidden or not there, the same
    std::uint64_t refused_caller = 0;   ///< its role, or not the owner
    std::uint64_t gone = 0;             ///< of an entity that just left, or was just his: no fault
    std::uint64_t flooded = 0;          ///< more than limits::rpc_pending_per_observer in one tick
    std::uint64_t sessions_closed = 0;  ///< because of limits::rpc_refused
};

/// Append a counter for each field: "tick.", "drop.", "input.", "rewind." or "rpc." and its name.
void append_counters(const TickProfile& ticks, std::vector<Counter>& out);
void append_counters(const DropCounters& drops, std::vector<Counter>& out);
void append_counters(const InputCounters& inputs, std::vector<Counter>& out);
void append_counters(const RewindCounters& rewinds, std::vector<Counter>& out);
void append_counters(const RpcCounters& calls, std::vector<Counter>& out);

}  // namespace purview
