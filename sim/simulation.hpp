// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One seed of the simulator: a server, its clients and what happens to them and to the lines
// between them. In three files: what happens (simulation.cpp), what is checked in every tick
// (simulation_checks.cpp), and what must hold when all has come to rest (simulation_settled.cpp).
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
    std::string record_path;  ///< empty: nothing is recorded
};

/// Everything about it is drawn from the seed.
class Simulation {
  public:
    explicit Simulation(const SimDef& def);

    void run();

    std::string trouble;  ///< empty: all held
    SimCounts counts;
    std::uint64_t hash = 0;  ///< of everything that every client held in every tick

  private:
    struct Waiting {
        Tick oldest_ticks = 0;          ///< of all but kinds with a limit
        Tick oldest_limited_ticks = 0;  ///< of these
        std::uint32_t books = 0;
    };
    /// One observer's book, which is told in turn.
    struct Reader {
        EntityId book = EntityId::none;
        Tick seen = 0;         ///< the last tick in which it was here
        Tick ready_since = 0;  ///< that it could go; 0: it could not, or has nothing to tell
        /// Packets with other parts, by part, since it was told.
        std::array<std::uint32_t, 32> others{};
    };
    struct Most {
        std::uint32_t budget_bytes = ~0U;  ///< the least
        std::uint32_t relevant = 0;
        std::uint32_t books = 0;  ///< of these and of those that leave
    };
    /// A ghost with an extrapolated field.
    struct Watched {
        GhostId ghost = no_ghost;
        Tick updated = 0;
        Tick newest = 0;
        double heading = 0;
    };

    // -- what happens: simulation.cpp ------------------------------------------------------------
    Faults draw_faults();
    void add_client() { world_.add_client(random_.chance(0.8F) ? Role::player : Role::spectator); }
    SmallClient& any_client();
    void count_client(const SmallClient& client);
    void start_recording();
    /// Lines that are cut for two seconds, new addresses, clients that go and others that come.
    void disturb();
    void step();
    /// Somebody of another version: he is told so.
    void ask_as_stranger();
    void fail(const std::string& what);

    // -- in every tick: simulation_checks.cpp ----------------------------------------------------
    /// Whoever is told of them is told in pairs, of what is relevant, until he is gone.
    void check_server_events();
    void count_by_hand(const ServerEvent& event);
    /// He owns some of the train, or it is shown to him by hand, or some of it is in reach.
    bool is_shown_otherwise(EntityId wagon, ObserverId observer, float reach);
    /// Nothing else shows a wagon to somebody who is not near: it has no team.
    void count_by_bounds();
    Waiting waiting_of(ObserverId observer);
    /// For how long it could have gone. A part waits for as many packets as there are others.
    Tick look_at_book(ObserverId observer, const GhostTable& ghosts, LocalId lane);
    /// docs/budget.md: nothing waits longer than what is derived there, nor than waiting_ticks_max.
    void check_waiting();
    void check_client(SmallClient& c);
    /// At no moment does a client have two ghosts of one entity, held or retained.
    void check_one_ghost(const SmallClient& c);
    /// At some of its ghosts, others in each tick.
    void look_at(SmallClient& c);
    /// Where the server says that it came to what the client predicted, both must have come to it.
    /// (A digest of 16 bits may lie once, but not of the next command too; and of two commands in
    /// one tick the second may be compared with nothing.)
    void check_agreement(SmallClient& c);
    /// Of the carts and mules of one group that are the client's: which the server knows otherwise.
    bool differs(const Session& session, const SmallClient& c, GroupState group);

    // -- at the end: simulation_settled.cpp
    // ---------------------------------------------------------
    void settle();
    std::string what_is_missing();
    /// Of the pages of its books, whatever is not the world's.
    std::string wrong_page(const SmallClient& client, ObserverId observer);
    /// Of the places of its ghosts, however they are told: as seen from a parent that turns, too.
    double largest_error(const SmallClient& client, ObserverId observer);
    /// What it predicts of its carts and mules, and whoever is told of them, is as in the world.
    std::string wrong_gait(const SmallClient& client, ObserverId observer);

    SimDef def_;
    SplitMix random_;
    SmallWorld world_;
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    std::uint32_t tick_ = 0;
    std::vector<std::pair<SmallClient*, std::uint32_t>> dark_;  ///< lines that are cut, until when
    std::set<const SmallClient*> joined_;                       ///< once
    std::map<SmallClient*, std::set<GhostId>> held_;            ///< by events
    std::vector<SessionStats> sessions_;                        ///< scratch
    std::map<ObserverId, Most> most_;
    std::map<std::pair<ObserverId, LocalId>, Reader> readers_;
    EventPairs pairs_;                         ///< of the server
    std::map<SmallClient*, Watched> watched_;  ///< in the last tick
    std::vector<std::uint64_t> tag_seen_;      ///< by tag: the check that met it last
    std::uint64_t tag_checks_ = 0;
    /// Groups agreed on wrongly in the last tick.
    std::map<SmallClient*, std::set<EntityId>> lies_;
};

}  // namespace purview::test
