// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a run of the simulator has seen, and whether that is enough for it to count.
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
/// Less is not the world that this is about.
constexpr std::uint32_t clients_min = 32;
constexpr std::uint32_t entities_min = 2'000;
constexpr std::uint32_t ticks_min = 60 * sim_tick_hz;  ///< of all seeds together
/// Ticks from one comparison with the oracle to the next, but in thorough seeds: what is wrong in
/// between is seen later.
constexpr std::uint32_t truth_every_usually = 5;
/// In many runs nothing has waited for a third of it.
constexpr Tick waiting_ticks_max = 300;

/// What was seen of some ghosts of each client in each tick, as a program sees them.
struct SeenCounts {
    std::uint64_t told = 0;  ///< components that are for some only, and he is told
    std::uint64_t untold = 0;
    std::uint64_t references = 0;    ///< that name a ghost
    std::uint64_t extrapolated = 0;  ///< went on without an update
    std::uint64_t parts = 0;         ///< books of which some pages are told
    std::uint64_t wholes = 0;        ///< books of which all are
};

/// What marks by hand and owners came to: enters and leaves on the server that nothing else made.
struct HandCounts {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t hidden = 0;
    std::uint64_t shown = 0;
    std::uint64_t owned = 0;
};

/// What carts came to that somebody drives and predicts.
struct DrivenCounts {
    std::uint64_t commands = 0;     ///< that the server gave to a group
    std::uint64_t agreements = 0;   ///< compared: the server came to what the client predicted
    std::uint64_t corrections = 0;  ///< that changed something
    std::uint64_t pushes = 0;       ///< by the game, of what somebody owns
    std::uint64_t cuts = 0;         ///< of members out of their groups, by the game
    std::uint64_t refused = 0;      ///< parts of commands for members that took no input
    std::uint64_t untold = 0;       ///< ghosts in ticks: told to their owner by corrections alone
    std::uint64_t told = 0;         ///< or after all
    std::uint64_t at_rest = 0;      ///< compared in the world at rest
};

struct SimCounts {
    std::uint32_t entities = ~0U;      ///< at any time at least, in the running world
    std::uint64_t thorough_seeds = 0;  ///< with the oracle in every tick
    std::uint64_t client_ticks = 0;    ///< ticks of joined clients
    std::uint64_t digests = 0;
    std::uint64_t sets = 0;
    std::uint64_t ghosts = 0;     ///< compared with the world as it is
    Permits::Counts named;        ///< in packets, held against who may be told of what
    std::uint64_t positions = 0;  ///< of ghosts, compared with the world at rest
    std::uint64_t shared = 0;     ///< updates told in shared sections
    /// Ticks in which a client knew a train whose root was out of reach, by its bounds alone.
    std::uint64_t uses_group_radius = 0;
    std::uint64_t promoted = 0;  ///< enters on the server because of a split member
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t resumed = 0;  ///< enters whose copy was still there
    /// Ghost slots in ticks whose entity returned before their leave was acknowledged.
    std::uint64_t superseded = 0;
    std::uint64_t kept = 0;  ///< leaves whose copy stays
    /// Of these, where only a node can have said so.
    std::uint64_t kept_by_nodes = 0;
    std::uint64_t paced_by_nodes = 0;  ///< ghosts that are told less often because a node says so
    std::uint64_t server_events = 0;   ///< enters and leaves on the server, paired
    SeenCounts seen;
    HandCounts by_hand;
    MailCounts mail;
    DrivenCounts driven;
    std::uint64_t owner_changes = 0;
    std::uint64_t owners_asked = 0;  ///< of these, by a player's command
    std::uint64_t split_updates = 0;
    std::uint64_t limited_updates = 0;  ///< waited because of a limit of their kind
    std::uint64_t by_turns = 0;         ///< ghosts in ticks, waiting, whose kind goes by turns
    std::uint64_t blackouts = 0;
    std::uint64_t rejoins = 0;
    std::uint64_t address_changes = 0;
    std::uint64_t stale_addresses = 0;  ///< datagrams that came from an address that was left
    std::uint64_t one_way_blackouts = 0;
    std::uint64_t good_byes = 0;  ///< of those that went
    LedgerCounts calls;
    std::uint64_t budget_bound = 0;  ///< seeds in which something waited longer than any curve says
    Tick oldest_ticks = 0;           ///< that anything waited
    double most_rounds = 0;          ///< the same, in rounds of all that the observer has
    /// Ticks of observers in which what is derived decides, not how long anything may wait at most.
    std::uint64_t bounds_decided = 0;
    std::uint32_t most_turns = 0;  ///< packets with other pages that a page waited for
    std::uint64_t rule_changes = 0;
    std::uint64_t budget_changes = 0;
    FaultCounts faults;

    SimCounts& operator+=(const SimCounts& more) noexcept;
};

/// A few lines for people.
void print(const SimCounts& counts, std::uint64_t seeds);
/// Of what a run that counts must have seen, for so many ticks in all: the first that is too
/// little; empty: nothing.
std::string too_little(const SimCounts& counts, std::uint64_t ticks, std::uint32_t clients);

}  // namespace purview::test
