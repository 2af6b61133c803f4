// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Coverage counters of a simulator run, and the check that the run covered enough.
#pragma once

#include <cstdint>
#include <string>

#include "faulty_network.hpp"
#include "mail.hpp"
#include "permits.hpp"
#include "purview/types.hpp"
#include "rpc_ledger.hpp"

namespace purview::test {

constexpr std::uint32_t sim_tick_hz = 20;
/// Minimum size of a run, without --small.
constexpr std::uint32_t clients_min = 32;
constexpr std::uint32_t entities_min = 2'000;
constexpr std::uint32_t ticks_min = 60 * sim_tick_hz;  ///< over all seeds
/// Interval of comparisons with the oracle, in ticks, except for thorough seeds. Errors in between
/// are detected later.
constexpr std::uint32_t truth_every_usually = 5;
/// Upper bound of any wait. In many runs, no wait was longer than a third of it.
constexpr Tick waiting_ticks_max = 300;

/// Client-side observations of some ghosts of each client in each tick.
struct SeenCounts {
    std::uint64_t replicated = 0;  ///< components with restricted audience that are replicated
    std::uint64_t withheld = 0;
    std::uint64_t references = 0;    ///< resolved to a ghost
    std::uint64_t extrapolated = 0;  ///< moved without an update
    std::uint64_t parts = 0;         ///< books with some pages replicated
    std::uint64_t wholes = 0;        ///< books with all pages replicated
};

/// Server enters and leaves with overrides or owners as their only cause.
struct HandCounts {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t hidden = 0;
    std::uint64_t shown = 0;
    std::uint64_t owned = 0;
};

/// Events of carts that a client drives and predicts.
struct DrivenCounts {
    std::uint64_t commands = 0;  ///< applied to a group by the server
    /// Comparisons after the server confirmed the client's prediction.
    std::uint64_t agreements = 0;
    std::uint64_t corrections = 0;       ///< that changed something
    std::uint64_t pushes = 0;            ///< changes of owned entities by the game
    std::uint64_t cuts = 0;              ///< members removed from their groups by the game
    std::uint64_t refused = 0;           ///< inputs for members that took no input
    std::uint64_t withheld = 0;          ///< ghosts times ticks: owner receives corrections only
    std::uint64_t replicated = 0;        ///< ghosts times ticks: owner receives the component
    std::uint64_t idle_comparisons = 0;  ///< comparisons in the idle world
};

struct SimCounts {
    std::uint32_t entities = ~0U;      ///< minimum at any time in the running world
    std::uint64_t thorough_seeds = 0;  ///< with the oracle in every tick
    std::uint64_t client_ticks = 0;    ///< ticks of joined clients
    std::uint64_t digests = 0;
    std::uint64_t sets = 0;
    std::uint64_t ghosts = 0;     ///< comparisons with the current world
    Permits::Counts named;        ///< local ids in packets, checked by `Permits`
    std::uint64_t positions = 0;  ///< ghost positions compared with the idle world
    std::uint64_t shared = 0;     ///< updates sent in shared cell payloads
    /// Ticks in which a client had a train only by its bounds, with the root out of range.
    std::uint64_t by_bounds = 0;
    std::uint64_t promoted = 0;  ///< server enters caused by an independently culled member
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t resumed = 0;  ///< enters with the retained ghost still present
    /// Ghost slots times ticks in which the entity returned before its leave was acknowledged.
    std::uint64_t superseded = 0;
    std::uint64_t retained = 0;  ///< leaves with a retained ghost
    /// Retained because of a node setting; the kind alone would despawn.
    std::uint64_t retained_by_nodes = 0;
    std::uint64_t slowed_by_nodes = 0;  ///< ghosts with a longer send interval set by a node
    std::uint64_t server_events = 0;    ///< enter and leave events on the server
    SeenCounts seen;
    HandCounts by_hand;
    MailCounts mail;
    DrivenCounts driven;
    std::uint64_t owner_changes = 0;
    std::uint64_t owner_changes_by_players = 0;  ///< of these, requested by a player
    std::uint64_t split_updates = 0;
    std::uint64_t limited_updates = 0;  ///< delayed by the send limit of their kind
    /// Ghosts times ticks: pending, in a kind with a round-robin limit.
    std::uint64_t round_robin_waits = 0;
    std::uint64_t blackouts = 0;
    std::uint64_t rejoins = 0;
    std::uint64_t address_changes = 0;
    std::uint64_t stale_addresses = 0;  ///< datagrams from an address that the client had left
    std::uint64_t one_way_blackouts = 0;
    std::uint64_t disconnects = 0;  ///< explicit disconnects
    LedgerCounts calls;
    /// Seeds in which something waited longer than any send interval.
    std::uint64_t budget_bound = 0;
    Tick oldest_ticks = 0;   ///< longest wait
    double most_rounds = 0;  ///< longest wait, in rounds of all that the observer has
    /// Observer ticks in which the derived bound is tighter than `waiting_ticks_max`.
    std::uint64_t bounds_decided = 0;
    std::uint32_t most_page_packets = 0;  ///< packets with other pages that a page waited for
    std::uint64_t rule_changes = 0;
    std::uint64_t budget_changes = 0;
    FaultCounts faults;

    SimCounts& operator+=(const SimCounts& more) noexcept;
};

/// Prints a summary.
void print(const SimCounts& counts, std::uint64_t seeds);
/// Returns the first counter that is too small for a run of `ticks` ticks in total; empty if
/// coverage suffices.
std::string too_little(const SimCounts& counts, std::uint64_t ticks, std::uint32_t clients);

}  // namespace purview::test
