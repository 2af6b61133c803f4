// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Counters of a server. Each part counts in its own struct; Server::counters lists all of them by
// name.
#pragma once

#include <cstdint>
#include <vector>

#include "purview/server.hpp"

namespace purview {

/// Duration of each stage of the last tick, in microseconds, in the order of ARCHITECTURE.md, "One
/// tick". For parallel stages: the average over the threads.
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

/// Datagrams and commands that were refused or dropped since the server was created, by reason.
struct DropCounters {
    std::uint64_t unknown_type = 0;
    std::uint64_t malformed_handshake = 0;
    std::uint64_t wrong_version = 0;
    std::uint64_t wrong_schema = 0;
    std::uint64_t bad_cookie = 0;
    std::uint64_t expired_cookie = 0;
    std::uint64_t bad_key = 0;   ///< key requests that are not valid, or not proven
    std::uint64_t used_key = 0;  ///< key requests that were valid once
    std::uint64_t plain = 0;  ///< connections that are not encrypted, over a carrier that needs it
    std::uint64_t full = 0;
    std::uint64_t address_limit = 0;
    std::uint64_t unknown_connection = 0;
    std::uint64_t bad_checksum = 0;
    std::uint64_t malformed_packet = 0;
    std::uint64_t late_packet = 0;
    std::uint64_t oversized = 0;
    std::uint64_t commands = 0;  ///< of clients that send more than fits into one tick
    std::uint64_t total() const noexcept {
        return unknown_type + malformed_handshake + wrong_version + wrong_schema + bad_cookie +
               expired_cookie + bad_key + used_key + plain + full + address_limit +
               unknown_connection + bad_checksum + malformed_packet + late_packet + oversized +
               commands;
    }
};

/// Results of inputs since the server was created.
struct InputCounters {
    std::uint64_t consumed = 0;  ///< input ticks of clients
    std::uint64_t groups = 0;   ///< inputs of one (owner, group, tick) that were passed to the game
    std::uint64_t parts = 0;    ///< parts in them
    std::uint64_t starved = 0;  ///< ticks in which an active client had no buffered input
    std::uint64_t caught_up = 0;  ///< inputs consumed beyond one per tick
    std::uint64_t skipped = 0;    ///< input ticks that never arrived
    std::uint64_t repeated = 0;   ///< arrived again while buffered or already consumed
    std::uint64_t corrections = 0;
    /// Not sent, because the state of the groups exceeds a message (65,535 bytes).
    std::uint64_t corrections_too_large = 0;
    std::uint64_t order_rebuilds = 0;  ///< group orders that were rebuilt
    std::uint64_t members_walked = 0;  ///< visited during these rebuilds
    // Refused:
    /// Inputs beyond lead_max. Repetitions count too: the client repeats such an input, and it is
    /// accepted once it is no longer too far ahead.
    std::uint64_t too_far_ahead = 0;
    std::uint64_t too_large = 0;      ///< inputs above limits::command_bytes
    std::uint64_t not_a_root = 0;     ///< groups under an entity that is not or no longer a root
    std::uint64_t unknown_ghost = 0;  ///< groups or parts with an id that the client does not have
    std::uint64_t not_owned = 0;      ///< parts for entities that the sender does not own
    std::uint64_t not_in_group = 0;   ///< parts for entities of another group
    /// Parts of a type that the entity does not accept, or a second part for it.
    std::uint64_t wrong_input = 0;
    std::uint64_t named_twice = 0;   ///< groups that the same input contained before
    std::uint64_t switched_off = 0;  ///< parts for members with input switched off (set_in_input)
};

struct RewindCounters {
    std::uint64_t views = 0;
    /// Requested tick was outside the client's possible views or the history.
    std::uint64_t cut = 0;
    std::uint64_t candidates = 0;  ///< entities tested by queries
    std::uint64_t hits = 0;
    std::uint64_t history_bytes = 0;  ///< now
    std::uint64_t index_bytes = 0;    ///< current size of the index beside the history
};

/// Totals since the server was created. A call to several observers counts once per observer.
struct RpcCounters {
    std::uint64_t sent = 0;
    std::uint64_t held = 0;
    std::uint64_t culled = 0;
    std::uint64_t culled_late = 0;
    std::uint64_t written = 0;   ///< into packets, including repeats
    std::uint64_t received = 0;  ///< from clients, passed to the game
    // Dropped calls of clients:
    /// It has no such ghost: hidden and missing are not distinguished.
    std::uint64_t refused_ghost = 0;
    std::uint64_t refused_caller = 0;  ///< the caller has the wrong role or is not the owner
    std::uint64_t gone = 0;  ///< the entity left or was owned until recently; not counted as misuse
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
