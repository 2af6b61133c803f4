// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One seed of the simulator: a server, its clients, and random events that affect them and the
// network. Split into three files: events (simulation.cpp), checks in every tick
// (simulation_checks.cpp), and checks in the idle world at the end (simulation_settled.cpp).
#pragma once

#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "event_pairs.hpp"
#include "sim_counts.hpp"
#include "small_game.hpp"

namespace purview::test {

struct SimDef {
    std::uint64_t seed = 1;
    std::uint32_t ticks = 0;
    std::uint32_t clients = 40;
    std::string record_path;  ///< empty: no recording
};

/// A simulation that is fully determined by its seed.
class Simulation {
  public:
    explicit Simulation(const SimDef& def);

    void run();

    std::string trouble;  ///< empty: all checks passed
    SimCounts counts;
    std::uint64_t hash = 0;  ///< of the state of every client in every tick

  private:
    struct Waiting {
        Tick oldest_ticks = 0;          ///< excludes kinds with a send limit
        Tick oldest_limited_ticks = 0;  ///< only kinds with a send limit
        std::uint32_t books = 0;
    };
    /// The waits of a book at one observer; its pages use staged replication.
    struct Reader {
        EntityId book = EntityId::none;
        Tick seen = 0;         ///< the last tick with a ghost
        Tick ready_since = 0;  ///< since when it could be sent; 0: blocked, or nothing pending
        /// For each part, the number of packets with other parts since it was last sent.
        std::array<std::uint32_t, 32> others{};
    };
    struct Most {                          ///< extremes of a session so far
        std::uint32_t budget_bytes = ~0U;  ///< minimum
        std::uint32_t relevant = 0;
        std::uint32_t books = 0;  ///< relevant or leaving
    };
    /// A ghost with a dead-reckoned field.
    struct Watched {
        GhostId ghost = GhostId::none;
        Tick updated = 0;
        Tick newest = 0;
        double heading = 0;
    };

    // -- events: simulation.cpp -----------------------------------------------------------------
    Faults draw_faults();
    void add_client() { world_.add_client(random_.chance(0.8F) ? Role::player : Role::spectator); }
    SmallClient& any_client();
    void count_client(const SmallClient& client);
    void start_recording();
    /// Blackouts of two seconds, address changes, disconnects and joins.
    void disturb();
    void step();
    /// Sends a hello with another protocol version, which the server must refuse.
    void probe_as_unauthenticated_peer();
    void fail(const std::string& what);

    // -- checks in every tick: simulation_checks.cpp --------------------------------------------
    /// Checks that enters and leaves alternate, match the relevant set, and end with the session.
    void check_server_events();
    void count_by_hand(const ServerEvent& event);
    /// True if the observer owns a member of the train, a mark shows a member, or a member is in
    /// range.
    bool is_shown_otherwise(EntityId wagon, ObserverId observer, float reach);
    /// Counts wagons that are relevant by their bounds alone. A wagon has no team, so no other rule
    /// applies.
    void count_by_bounds();
    Waiting waiting_of(ObserverId observer);
    /// Returns for how long the book could have been sent. A part waits for at most as many packets
    /// as there are other parts.
    Tick check_book(ObserverId observer, const GhostTable& ghosts, LocalId slot);
    /// Checks that no wait exceeds the bound derived in docs/budget.md, or `waiting_ticks_max`.
    void check_waiting();
    void check_client(SmallClient& c);
    /// Checks that a client does not have two ghosts of one entity, held or retained.
    void check_one_ghost(const SmallClient& c);
    /// Examines some ghosts of the client, different ones in each tick.
    void examine(SmallClient& c);
    /// Checks that both states are equal if the server confirmed a client's prediction. One
    /// mismatch is tolerated, because a 16-bit digest may collide; a second one in the next tick is
    /// an error. With two commands in one tick, the second may have no counterpart.
    void check_agreement(SmallClient& c);
    /// True if the server's state differs for a cart or mule of the group that the client owns.
    bool differs(const Session& session, const SmallClient& c, GroupState group);

    // -- checks at the end: simulation_settled.cpp ----------------------------------------------
    void settle();
    std::string what_is_missing();
    /// Returns a difference between the client's book pages and the world; empty if there is none.
    std::string wrong_page(const SmallClient& client, ObserverId observer);
    /// Largest position error of the client's ghosts, including positions relative to a turning
    /// parent.
    double largest_error(const SmallClient& client, ObserverId observer);
    /// Returns a difference between carts and mules, predicted or replicated, and the world; empty
    /// if there is none.
    std::string wrong_gait(const SmallClient& client, ObserverId observer);

    SimDef def_;
    SplitMix random_;
    SmallWorld world_;
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    std::uint32_t tick_ = 0;
    /// Blacked-out links, with their end tick.
    std::vector<std::pair<SmallClient*, std::uint32_t>> blacked_out_;
    std::set<const SmallClient*> joined_;             ///< clients that have joined at least once
    std::map<SmallClient*, std::set<GhostId>> held_;  ///< ghosts according to events
    std::vector<SessionStats> sessions_;              ///< scratch
    std::map<ObserverId, Most> most_;
    std::map<std::pair<ObserverId, LocalId>, Reader> readers_;
    EventPairs pairs_;                         ///< server events
    std::map<SmallClient*, Watched> watched_;  ///< as of the previous tick
    std::vector<std::uint64_t> tag_seen_;      ///< by tag: the last check that met it
    std::uint64_t tag_checks_ = 0;
    /// Groups with a false confirmation in the previous tick.
    std::map<SmallClient*, std::set<EntityId>> false_confirmations_;
};

}  // namespace purview::test
