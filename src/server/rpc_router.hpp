// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs. Calls of the game wait until the relevance of their tick is decided; then each observer is
// sent the call, has it queued, or is named in the report with a reason. No byte about an entity
// that is not relevant is written, whenever the call was made: an entity that leaves takes its
// calls along. Calls of clients end in Game::rpc, or in a counter.
//
// Owns the calls of the running tick, the queued calls, and the reports of the last tick. What is
// in flight to one client is in its session.
//
// Invariants (validate): queued calls are in the order of calling, each with an observer at least;
// held_about counts them by entity and observer.
//
// `choose`, `write` and `drop_unreliable` concern one session and its worker, and run on different
// threads.
//
// Must not know: packets beyond their calls, how relevance was decided.
#pragma once

#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/interest_data.hpp"
#include "purview/world.hpp"
#include "server/local_player.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session_closer.hpp"
#include "server/session_table.hpp"
#include "server/tap.hpp"
#include "server/tick_worker.hpp"
#include "server/wanted_call.hpp"

namespace purview {

class RpcRouter {
  public:
    RpcRouter(const ServerDef& def, const ServerTime& time, const World& world,
              InterestData& interest, Game& game, const SessionTable& sessions,
              const LocalPlayers& locals, SessionCloser& closer, ReplicationTap* const& tap)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          game_(game),
          sessions_(sessions),
          locals_(locals),
          closer_(closer),
          tap_(tap) {}

    /// The game calls; it is decided in the next stage `interest`.
    Result<CallId> call(const RpcReceivers& to, RpcId id, std::span<const std::byte> args);

    // Stage `receive`.
    /// The entities that the calls of the packet that is being read refer to: local ids may mean
    /// others when the calls run. Acknowledgements of the same packet have been processed.
    void resolve_targets(Session& session) const;
    /// Gives the calls of a client to the game, which may close the session.
    void run(Server& server, Session& session);
    /// Observers that are gone, ascending: nothing is queued for them any more, and nothing is
    /// reported.
    void forget(std::span<const ObserverId> gone);

    // Stage `interest`: relevance is that of this tick, and ghosts that left are gone from their
    // table.
    void decide();

    // Stage `encode`.
    /// Of the calls of a session those that fit into the bits; returns the bits that they take.
    std::uint64_t choose(Session& session, std::uint64_t bits) const;
    /// Writes what was chosen. False: nothing.
    bool write(TickWorker& worker, Session& session, std::uint32_t sequence, BitWriter& out) const;
    /// Unreliable calls that no packet of this tick had room for.
    void drop_unreliable(TickWorker& worker, Session& session) const;
    /// After all sessions: what the workers have noted.
    void add_written(const TickWorkers& workers);

    // Of the last tick.
    std::span<const RpcReport> reports() const noexcept { return reports_; }
    std::span<const RpcLateCull> late_culls() const noexcept { return late_; }
    const RpcCounters& counters() const noexcept { return counters_; }

    const std::vector<HeldCall>& held() const noexcept { return held_; }
    /// Observers with a queued call, by entity.
    std::size_t held_pairs() const noexcept { return held_about_.size(); }
    std::uint32_t next_call() const noexcept { return next_; }
    /// For tests: the number of the next call. Not 0.
    void set_next_call(std::uint32_t number) noexcept { next_ = number; }

    void validate() const;

  private:
    bool is_there(ObserverId observer) const;
    void evaluate(const WantedCall& wanted, RpcReport& report);
    void evaluate_for(Session& session, const WantedCall& wanted, RpcReport& report);
    void evaluate_for(LocalPlayer& player, const WantedCall& wanted, RpcReport& report);
    template <class Give>
    void evaluate_for(ObserverId observer, bool is_relevant, const WantedCall& wanted,
                      RpcReport& report, Give&& give);
    void drop_left(Session& session);
    void request_targets() const;
    bool hold(const WantedCall& wanted, ObserverId observer);
    void end_hold(const HeldCall& held, ObserverId observer);
    template <class Give>
    void release_held(ObserverId observer, Give&& give);
    void expire_held();
    void cull_late(CallId call, ObserverId observer, CullReason reason);
    bool was_owned_by(const Session& session, EntityId entity) const noexcept;
    void refuse(Session& session, std::uint64_t& counter);

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    InterestData& interest_;  ///< not edited
    Game& game_;
    const SessionTable& sessions_;
    const LocalPlayers& locals_;
    SessionCloser& closer_;
    ReplicationTap* const& tap_;  ///< null: none listens

    std::uint32_t next_ = 1;
    std::vector<WantedCall> wanted_;  ///< of this tick, in the order of calling
    std::vector<HeldCall> held_;      ///< in the order of calling
    /// pair_of(entity, observer) -> how many of held_
    FlatMap<std::uint64_t, std::uint32_t> held_about_;
    std::vector<RpcReport> reports_;
    std::vector<RpcCulled> culled_;  ///< of all reports, one after another
    std::vector<RpcLateCull> late_;
    RpcCounters counters_;

    std::vector<EntityId> coming_;    ///< scratch: entities with queued calls, for one observer
    std::vector<Vec3> positions_;     ///< scratch: of the calls about one, in order
    std::vector<Covering> covering_;  ///< scratch: the observers that cover them
    std::vector<std::size_t> first_culled_;  ///< scratch: by report
};

}  // namespace purview
